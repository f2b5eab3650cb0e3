"""A group of several members, each a program, whose broker goes and comes back."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from compat.checks import Stage
from compat.rounds.groups import PARTITIONS, Group
from compat.rounds.members import check_once, wait_for_assignment, wait_for_values
from compat.rounds.round import Round
from tests.clients.broker_process import BrokerProcess
from tests.clients.parameters import EACH_CLIENT

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("name_of_client", EACH_CLIENT)
def test_a_group_outlives_the_broker(
    name_of_client: str, own_broker: Callable[..., BrokerProcess], name: str, tmp_path: Path
) -> None:
    """It is stopped, then killed; both times the members go on where they were, and no record is lost."""
    broker = own_broker()
    with ExitStack() as until_the_end:
        group = Group(Round(name_of_client), Stage(broker.bootstrap, name, tmp_path, until_the_end))
        members = [group.join(session_timeout_ms=6_000) for _ in range(2)]
        wait_for_assignment(members, PARTITIONS)
        wait_for_values(members, group.send(100))
        for kill in (False, True):
            broker.restart(kill=kill)
            wait_for_values(members, group.send(100))
        wait_for_assignment(members, PARTITIONS)
        check_once(members, group.send(100))
