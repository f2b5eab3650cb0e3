"""A topic of thousands of partitions: what a command does for each of them must not be done for each other one, too."""

from __future__ import annotations

import time
from collections.abc import Iterator

import pytest

from barnabas.testing import Broker
from tests.cli.beside import run

PARTITIONS = 9000
BRIEFLY_S = 4.0
"""Of the processor, which other work on the machine changes little: a fraction of what each of these took when its work
grew with the square of the partitions."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        wide = ["wide", "--partitions", str(PARTITIONS), "--timeout", "100"]
        made = run("topics", "create", *wide, "--bootstrap-server", _at(broker))
        assert made.code == 0, made
        assert run("produce", "wide", "--partition", "7", "--value", "one", "--bootstrap-server", _at(broker)).code == 0
        yield broker


def _at(broker: Broker) -> str:
    return broker.bootstrap_servers


@pytest.mark.slow
@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("consume wide --until-end", "one\n"),
        ("consume wide --tail 1", "one\n"),
        ("topics describe wide --offsets", f"{PARTITIONS - 1} "),
        ("records delete wide --all", f"wide-{PARTITIONS - 1}"),
    ],
)
def test_its_time_is_no_square(line: str, words: str, broker: Broker) -> None:
    began_s = time.process_time()
    ran = run(*line.split(), "--bootstrap-server", _at(broker))
    assert time.process_time() - began_s < BRIEFLY_S
    assert ran.code == 0, ran
    assert words in ran.out
