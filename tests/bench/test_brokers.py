"""The brokers that are measured: started, stopped, killed, and started again where they were."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.joining import join_together
from bench.side import Side
from compat.brokers import BARNABAS, broker_for, running
from tests.kafka.broker import answers_api_versions


@pytest.mark.slow
def test_a_broker_starts_again_on_its_port_after_a_stop_and_after_a_kill(tmp_path: Path) -> None:
    with running(BARNABAS, tmp_path) as broker:
        port, pids = broker.port, [broker.pid]
        for end in (broker.stop, broker.kill):
            end()
            assert not answers_api_versions(broker.host, port)
            assert 0 < broker.start() < 60
            assert answers_api_versions(broker.host, port)
            pids.append(broker.pid)
        assert broker.port == port
        assert len(set(pids)) == 3
    broker.stop()  # a second time: nothing
    assert not answers_api_versions(broker.host, port)


@pytest.mark.slow
@pytest.mark.java
def test_what_was_written_is_there_after_a_kill(tmp_path: Path, kafka_classpath: str) -> None:
    """The jars are where the schemas are from."""
    with running(BARNABAS, tmp_path, {"group.initial.rebalance.delay.ms": "0"}) as broker:
        side = Side(broker, 1.0)
        assert side.cpu_s() > 0
        side.create("topic", 2, retention_ms="-1")
        assert side.end_offsets("topic", 2) == [0, 0]
        side.module("bench.load", side.bootstrap, "produce", "topic", "--numbers", 2, "--seconds", 0.05)
        written = side.records("topic", 2)
        assert written > 0
        side.broker.kill()
        side.broker.start()
        side.check_records("topic", 2, written)
        with pytest.raises(RuntimeError, match="and 1 were sent"):
            side.check_records("topic", 2, 1)
        assert side.commands == [
            "python -m bench.load HOST:PORT produce topic --numbers 2 --seconds 0.05",
        ]
        side.wait_for_coordinators()
        with side.connections(7) as connections:
            assert join_together(connections, "group-of-seven") > 0
            described = connections[0].ask("DescribeGroups", 5, Groups=["group-of-seven"])["Groups"][0]
        assert described["GroupState"] == "Stable"
        assert [each["MemberAssignment"] for each in described["Members"]] == [b"bench"] * 7


def test_a_command_that_ends_is_said_with_its_words(tmp_path: Path) -> None:
    broker = broker_for("Other=sh -c 'echo no room on {port}; exit 3'", tmp_path)
    with pytest.raises(RuntimeError, match=rf"Other did not start by .*; it said: no room on {broker.port}"):
        broker.start()


def test_a_name_that_nobody_knows_is_told_what_to_say(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="say NAME=COMMAND or NAME=HOST:PORT"):
        broker_for("Other", tmp_path)


def test_a_broker_elsewhere_has_an_address_and_nothing_to_be_killed(tmp_path: Path) -> None:
    broker = broker_for("Other=somewhere:9092", tmp_path)
    assert (broker.bootstrap, broker.start()) == ("somewhere:9092", 0.0)
    broker.stop()
    with pytest.raises(RuntimeError, match="say NAME=COMMAND"):
        broker.kill()
