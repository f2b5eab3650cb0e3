"""Three nodes that are measured: what is written for them, and what their producers' acknowledgements say."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from bench.cluster.acknowledged import longest_silence
from bench.cluster.nodes import cluster_for
from bench.family import kept
from bench.side import Side
from compat.brokers import BARNABAS, broker_for


def test_acknowledgements_that_were_on_their_way_end_no_silence() -> None:
    assert longest_silence(10.0, [9.9, 10.01, 10.02, 13.5, 13.51, 13.6]) == (10.02, 13.5)


def test_a_silence_may_begin_with_the_death() -> None:
    assert longest_silence(10.0, [13.0, 9.0, 13.1]) == (10.0, 13.0)


@pytest.mark.java
def test_all_programs_are_given_the_same_files(tmp_path: Path, kafka_classpath: str) -> None:
    """The jars are asked for, though nothing runs."""
    cluster = cluster_for("Other=program {file}", tmp_path, {"broker.session.timeout.ms": "3000"}, as_shipped=False)
    files = [dict(_read(tmp_path / str(number) / "server.properties")) for number in cluster.nodes]
    assert [each["node.id"] for each in files] == ["1", "2", "3"]
    assert [each["process.roles"] for each in files] == ["broker,controller", "broker", "broker"]
    assert len({each["controller.quorum.bootstrap.servers"] for each in files}) == 1
    assert {(each["min.insync.replicas"], each["broker.session.timeout.ms"]) for each in files} == {("2", "3000")}
    assert cluster.bootstrap == ",".join(each["listeners"].split(",")[0].split("//")[1] for each in files)


def test_a_program_that_nobody_knows_is_told_what_to_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"say NAME=COMMAND, with \{file\}"):
        cluster_for("Other", tmp_path, {}, as_shipped=False)


def test_what_is_kept_is_started_once_and_again_after_a_trouble(tmp_path: Path) -> None:
    said: list[str] = []

    @contextmanager
    def start(which: str, *, as_shipped: bool = True) -> Iterator[Side]:
        said.append(f"{which} starts")
        yield Side(broker_for(BARNABAS, tmp_path), 0.0, as_shipped=as_shipped)
        said.append(f"{which} ends")

    with kept(start) as again:
        for which in ("a", "b", "a"):
            with again(which):
                said.append(which)
        with pytest.raises(RuntimeError), again("a"):
            raise RuntimeError
        with again("a"):
            said.append("a once more")
    assert said == ["a starts", "a", "b starts", "b", "a", "a ends", "a starts", "a once more", "a ends", "b ends"]


def _read(file: Path) -> Iterator[tuple[str, str]]:
    for line in file.read_text().splitlines():
        key, _, value = line.partition("=")
        yield key, value
