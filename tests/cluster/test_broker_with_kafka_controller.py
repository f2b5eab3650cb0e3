"""A Barnabas broker whose controller is Apache Kafka's."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
import trio

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.node import Node, NodeFailed
from barnabas.broker.startable import CannotStart
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from barnabas.storage.meta_properties import META_PROPERTIES
from tests.broker.running import RunningNode
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, delete, metadata, partitions, produce, values
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

pytestmark = pytest.mark.slow

OURS = 2


@pytest.fixture(scope="module")
def kafka(kafka_classpath: str) -> Iterator[KafkaBroker]:
    settings = {
        # Its log is cleaned as soon as there is a snapshot, which comes after some records.
        "metadata.log.max.record.bytes.between.snapshots": "1",
        "internal.metadata.log.segment.bytes": "10240",
        "metadata.max.retention.bytes": "1",
        "broker.session.timeout.ms": "3000",
        "broker.heartbeat.interval.ms": "500",
    }
    with KafkaBroker(kafka_classpath, config=settings) as broker:
        yield broker


def broker(kafka: KafkaBroker, directory: Path, node_id: int = OURS) -> RunningNode:
    return RunningNode(
        directory,
        process_roles="broker",
        node_id=str(node_id),
        controller_quorum_bootstrap_servers=f"127.0.0.1:{kafka.controller_port}",
        broker_heartbeat_interval_ms="500",
    )


@pytest.fixture
def ours(kafka: KafkaBroker, tmp_path: Path) -> Iterator[RunningNode]:
    with broker(kafka, tmp_path / "data") as node:
        yield node


def error_of(client: RawClient, topic: str) -> int:
    return metadata(client, topic).topics[0].error_code


def brokers(client: RawClient) -> set[int]:
    return {each.node_id for each in metadata(client).brokers}


def test_it_serves_what_the_controller_gives_it(kafka: KafkaBroker, ours: RunningNode) -> None:
    with ours.client() as client, RawClient(kafka.host, kafka.port) as theirs:
        assert brokers(client) == brokers(theirs) == {1, OURS}
        # Asked of either, the controller decides.
        assert create(client, "asked-of-us", [OURS], [1], [OURS]) == 0
        assert create(theirs, "asked-of-them", [OURS]) == 0
        assert create(client, "asked-of-us", [OURS]) == ErrorCode.TOPIC_ALREADY_EXISTS
        wait_until(lambda: metadata(client, "asked-of-them").topics[0].error_code == 0, "the topic")
        assert [each.leader_id for each in partitions(client, "asked-of-us")] == [OURS, 1, OURS]
        assert [each.leader_id for each in partitions(theirs, "asked-of-us")] == [OURS, 1, OURS]
        assert produce(client, "asked-of-us", 0, b"one") == (0, 0)
        assert produce(client, "asked-of-us", 1, b"elsewhere")[0] == ErrorCode.NOT_LEADER_OR_FOLLOWER
        assert produce(client, "asked-of-them", 0, b"two") == (0, 0)
        assert values(client, "asked-of-us", 0) == [b"one"]
        assert values(client, "asked-of-them", 0) == [b"two"]
        for topic in ("asked-of-us", "asked-of-them"):
            assert delete(theirs, topic) == 0
            wait_until(partial(error_of, client, topic), "the topic to go")


def test_it_goes_and_comes_back(kafka: KafkaBroker, tmp_path: Path) -> None:
    node = broker(kafka, tmp_path / "data").start()
    port = node.address[1]
    with RawClient(kafka.host, kafka.port) as theirs:
        with node.client() as client:
            assert create(client, "kept", [OURS]) == 0
            wait_until(lambda: error_of(client, "kept") == 0, "the topic")
            assert produce(client, "kept", 0, b"before") == (0, 0)
        epoch = node.do(lambda node: node.broker_epoch)
        node.stop()
        # It has said that it goes: nobody had to wait for its session to end.
        assert brokers(theirs) == {1}
        assert partitions(theirs, "kept")[0].leader_id == -1
        node.start(port)
        assert node.do(lambda node: node.broker_epoch) > epoch
        with node.client() as client:
            assert brokers(theirs) == {1, OURS}
            assert partitions(client, "kept")[0].leader_id == OURS
            assert values(client, "kept", 0) == [b"before"]
            assert produce(client, "kept", 0, b"after") == (0, 1)
        node.kill()
        wait_until(lambda: brokers(theirs) == {1}, "the session to end")
        assert partitions(theirs, "kept")[0].leader_id == -1
        node.start(port)
        with node.client() as client:
            assert values(client, "kept", 0) == [b"before", b"after"]
            assert delete(client, "kept") == 0
        node.stop()


def test_a_second_run_waits_for_the_session_of_the_first(kafka: KafkaBroker, tmp_path: Path) -> None:
    """Killed and started at once: the controller lets it in when the session of the last run is over."""
    node = broker(kafka, tmp_path / "data").start()
    node.kill()
    node.start()
    assert any("DUPLICATE_BROKER_REGISTRATION" in str(line) for line in node.lines)
    node.stop()


def test_it_begins_with_a_snapshot_where_the_log_does_not_reach_back(kafka: KafkaBroker, tmp_path: Path) -> None:
    node = broker(kafka, tmp_path / "data").start()
    with RawClient(kafka.host, kafka.port) as theirs:
        assert create(theirs, "old", [OURS], [1]) == 0
        node.until(lambda node: node.has_partition("old", 1))
        held = node.do(lambda node: node.journal.end_offset)
        node.stop()
        assert delete(theirs, "old") == 0
        numbers = iter(range(1000))

        def cleaned() -> bool:
            number = next(numbers)
            assert create(theirs, f"new-{number}", [1], configs={"retention.ms": str(number + 1)}) == 0
            return earliest_metadata(kafka) > held

        wait_until(cleaned, "the controller's log to be cleaned", patience_s=60)
        last = next(numbers) - 1
        node.lines.clear()
        node.start()
        assert any("begins anew with the controllers'" in str(line) for line in node.lines)
        assert node.do(lambda node: node.journal.log.start_offset) > held
        with node.client() as client:
            assert metadata(client, "old").topics[0].error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            wait_until(lambda: metadata(client, f"new-{last}").topics[0].error_code == 0, "the topics")
            ours = {topic.name: topic.topic_id for topic in metadata(client).topics}
            assert ours == {topic.name: topic.topic_id for topic in metadata(theirs).topics}
        # Set aside, as Kafka does it with what it finds at a start and the metadata does not have.
        assert [path.name[-6:] for path in (tmp_path / "data").glob("old-*")] == ["-stray"]
        for number in range(last + 1):
            assert delete(theirs, f"new-{number}") == 0
        node.stop()


def earliest_metadata(kafka: KafkaBroker) -> int:
    """Where the log on the controller's disk begins."""
    directory = kafka.data_directory / "__cluster_metadata-0"
    return min(int(path.name.removesuffix(".log")) for path in directory.glob("*.log"))


def test_the_controller_sees_it_as_an_observer(ours: RunningNode, kafka: KafkaBroker) -> None:
    def ask(client: RawClient) -> DescribeQuorumResponse:
        topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
        return client.ask(DescribeQuorumRequest(topics=[topic]), 2, DescribeQuorumResponse)

    with ours.client() as client:
        told = ask(client).topics[0].partitions[0]
        assert told.leader_id == 1
        assert [each.replica_id for each in told.current_voters] == [1]
        # Those of earlier runs in other directories are remembered for a while.
        key = (OURS, ours.do(lambda node: node.directory_id))
        wait_until(
            lambda: any(
                (each.replica_id, each.replica_directory_id) == key and each.log_end_offset > told.high_watermark
                for each in ask(client).topics[0].partitions[0].observers
            ),
            "it to follow",
        )


def test_it_goes_on_while_the_controller_is_away(kafka_classpath: str, tmp_path: Path) -> None:
    with (
        KafkaBroker(kafka_classpath, tmp_path / "kafka") as kafka,
        broker(kafka, tmp_path / "data") as node,
        node.client() as client,
    ):
        assert create(client, "served", [OURS]) == 0
        wait_until(lambda: error_of(client, "served") == 0, "the topic")
        kafka.kill()
        for number in range(20):
            assert produce(client, "served", 0, b"%d" % number) == (0, number)
        assert values(client, "served", 0) == [b"%d" % number for number in range(20)]
        kafka.start()
        wait_until(lambda: create(client, "later", [OURS]) == 0, "the controller", patience_s=60)
        wait_until(lambda: produce(client, "later", 0, b"x") == (0, 0), "the topic")


def test_the_controllers_of_another_cluster(kafka: KafkaBroker, tmp_path: Path) -> None:
    directory = tmp_path / "data"
    directory.mkdir()
    (directory / META_PROPERTIES).write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=2\n")
    with pytest.raises(NodeFailed, match="belong to another cluster than AAAAAAAAAAAAAAAAAAAAAA"):
        broker(kafka, directory).start()


def test_a_copied_log_directory(kafka: KafkaBroker, ours: RunningNode, tmp_path: Path) -> None:
    copied = tmp_path / "copy"
    copied.mkdir()
    meta = (ours.directory / META_PROPERTIES).read_text().replace(f"node.id={OURS}", "node.id=3")
    (copied / META_PROPERTIES).write_text(meta)
    with pytest.raises(CannotStart, match="another broker has one of its log directories"):
        broker(kafka, copied, 3).start()


@pytest.mark.parametrize("knows_cluster", [False, True])
def test_it_can_be_stopped_while_it_waits_for_controllers(tmp_path: Path, knows_cluster: bool) -> None:
    directory = tmp_path / "data"
    if knows_cluster:
        directory.mkdir()
        (directory / META_PROPERTIES).write_text("version=1\ncluster.id=AAAAAAAAAAAAAAAAAAAAAA\nnode.id=2\n")
    settings = {
        "process.roles": "broker",
        "node.id": "2",
        "log.dirs": str(directory),
        "listeners": "PLAINTEXT://127.0.0.1:0",
        "controller.quorum.bootstrap.servers": "127.0.0.1:1",
    }
    lines: list[str] = []

    def hear(line: object) -> None:
        lines.append(str(line))
        if "127.0.0.1:1 cannot be reached" in str(line):
            node.stop()

    node = Node(NodeConfig.load({}, settings), report=hear)

    async def main() -> None:
        with trio.fail_after(20):
            async with trio.open_nursery() as nursery:
                assert await nursery.start(node.run) is node

    trio.run(main)
    assert lines
