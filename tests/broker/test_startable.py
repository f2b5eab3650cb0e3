"""What a configuration may ask for and is not there yet is refused, and what Kafka's own examples say is not."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.startable import CannotStart, check_startable
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.records.cluster_metadata import FeatureLevelRecord

from .running import RunningNode

# As Kafka ships it for a node that is broker and controller, but for comments.
EXAMPLE = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.quorum.bootstrap.servers": "localhost:9093",
    "listeners": "PLAINTEXT://:9092,CONTROLLER://:9093",
    "inter.broker.listener.name": "PLAINTEXT",
    "advertised.listeners": "PLAINTEXT://localhost:9092,CONTROLLER://localhost:9093",
    "controller.listener.names": "CONTROLLER",
    "listener.security.protocol.map": (
        "CONTROLLER:PLAINTEXT,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT,SASL_SSL:SASL_SSL"
    ),
    "num.network.threads": "3",
    "num.io.threads": "8",
    "socket.send.buffer.bytes": "102400",
    "socket.receive.buffer.bytes": "102400",
    "socket.request.max.bytes": "104857600",
    "log.dirs": "/tmp/kraft-combined-logs",
    "num.partitions": "1",
    "num.recovery.threads.per.data.dir": "1",
    "offsets.topic.replication.factor": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "log.retention.hours": "168",
    "log.segment.bytes": "1073741824",
    "log.retention.check.interval.ms": "300000",
}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"controller.quorum.voters": "1@localhost:9093"},
        {"controller.quorum.bootstrap.servers": "127.0.0.1:9093"},
        {"controller.quorum.bootstrap.servers": "", "controller.quorum.voters": "1@anywhere:9093"},
    ],
)
def test_the_example_that_kafka_ships_starts(changes: dict[str, str]) -> None:
    config = NodeConfig.load({**EXAMPLE, **changes})
    check_startable(config)
    assert not [notice for notice in config.notices if notice.warning]


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        (
            {"process.roles": "controller", "listeners": "CONTROLLER://:9093", "advertised.listeners": ""},
            "process.roles=controller",
        ),
        (
            {
                "process.roles": "broker",
                "listeners": "PLAINTEXT://:9092",
                "advertised.listeners": "",
                "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:SSL",
            },
            "PLAINTEXT only with its controllers",
        ),
        ({"controller.quorum.voters": "1@localhost:9093,2@localhost:9094"}, r"other nodes \(2\)"),
        ({"controller.quorum.bootstrap.servers": "localhost:9093,other:9099"}, "other:9099 is no controller listener"),
        (
            {
                "listeners": "SSL://:9092,CONTROLLER://:9093",
                "advertised.listeners": "",
                "inter.broker.listener.name": "SSL",
            },
            "SSL is of SSL",
        ),
        ({"authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer"}, "no ACLs yet"),
    ],
)
def test_what_is_not_there_yet_is_refused(changes: dict[str, str], words: str) -> None:
    given = {key: value for key, value in {**EXAMPLE, **changes}.items() if value}
    with pytest.raises(CannotStart, match=words):
        check_startable(NodeConfig.load(given))


def test_a_node_refuses_before_it_touches_anything(tmp_path: Path) -> None:
    directory = tmp_path / "data"
    with pytest.raises(CannotStart):
        RunningNode(directory, authorizer_class_name="org.apache.kafka.metadata.authorizer.StandardAuthorizer").start()
    assert not directory.exists()


def test_metadata_of_a_later_version_is_refused_with_what_to_do(tmp_path: Path) -> None:
    """Level 99 of a feature of which this version knows 1."""
    later: Outcome[MetadataRecord, None] = Outcome(
        [MetadataRecord(FeatureLevelRecord(name="group.version", feature_level=99))], None
    )
    running = RunningNode(tmp_path / "data")
    with running as node:
        node.carry_out(lambda inside: inside.controller.decide(lambda _controller, _now_ms: later))
    with pytest.raises(CannotStart) as refused:
        running.start()
    assert "group.version has level 99, and the broker works with 0 to 1" in str(refused.value)
    assert "--data" in str(refused.value)
