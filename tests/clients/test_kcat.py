"""kcat, while the broker goes and comes back."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from itertools import count
from pathlib import Path

import pytest

from compat.kcat.program import Kcat, RunningKcat, find_kcat
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until

pytestmark = pytest.mark.slow

Starter = Callable[..., RunningKcat]


@pytest.fixture
def program() -> str:
    found = find_kcat()
    if found is None:
        if os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail("kcat is not installed")
        pytest.skip("kcat is not installed (apt-get install kcat)")
    return found


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Starter]:
    with ExitStack() as stack:
        numbers = count()

        def started(kcat: Kcat, *arguments: str) -> RunningKcat:
            running = RunningKcat(kcat, tmp_path / f"kcat-{next(numbers)}.out", *arguments)
            stack.callback(running.end, signal.SIGKILL)
            return running

        yield started


@pytest.mark.parametrize("how", ["stop", "kill"])
def test_a_restart_in_the_middle(
    program: str, own_broker: Callable[..., BrokerProcess], name: str, start: Starter, how: str
) -> None:
    """Of the broker, while one kcat produces and another consumes: each record comes once, in order."""
    broker = own_broker()
    kcat = Kcat(program, broker.bootstrap)
    quick = ("-X", "reconnect.backoff.ms=20", "-X", "reconnect.backoff.max.ms=200", "-E", "-t", name, "-p", "0")
    kcat.run("-P", "-t", name, "-p", "0", stdin="0\n")
    reader = start(kcat, "-C", *quick, "-o", "beginning", "-u", "-q", "-f", "%o %s\\n")
    writer = start(kcat, "-P", *quick, "-X", "enable.idempotence=true", "-X", "linger.ms=1")
    writer.send(range(1, 300))
    wait_until(lambda: len(reader.lines()) > 100, "the first records")
    broker.restart(kill=how == "kill")
    writer.send(range(300, 600))
    assert writer.end() == 0
    wait_until(lambda: len(reader.lines()) >= 600, lambda: f"600 records, not {len(reader.lines())}")
    assert reader.lines() == [f"{number} {number}" for number in range(600)]
