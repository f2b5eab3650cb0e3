"""A Barnabas broker that follows partitions which Apache Kafka leads."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    TopicPartitions,
)
from tests.broker.running import RunningNode
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, delete, partitions, produce, values
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.java]

KAFKA, OURS = 1, 2
SETTINGS = {
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "replica.lag.time.max.ms": "3000",
}


@pytest.fixture(scope="module")
def kafka(kafka_classpath: str) -> Iterator[KafkaBroker]:
    with KafkaBroker(kafka_classpath, config=SETTINGS) as broker:
        yield broker


def broker(kafka: KafkaBroker, directory: Path, durability: str = "kafka") -> RunningNode:
    return RunningNode(
        directory,
        process_roles="broker",
        node_id=str(OURS),
        controller_quorum_bootstrap_servers=f"127.0.0.1:{kafka.controller_port}",
        broker_heartbeat_interval_ms="500",
        replica_fetch_backoff_ms="200",
        barnabas_durability=durability,
    )


@pytest.fixture
def theirs(kafka: KafkaBroker) -> Iterator[RawClient]:
    with RawClient(kafka.host, kafka.port) as client:
        yield client


def in_sync(client: RawClient, topic: str) -> list[list[int]]:
    return [sorted(each.isr_nodes) for each in partitions(client, topic)]


def write(client: RawClient, topic: str, partition: int, value: bytes) -> None:
    """Of a new topic the controller tells before its leader knows."""
    wait_until(lambda: produce(client, topic, partition, value)[0] == 0, "the record to be acknowledged")


def bytes_of(directory: Path, partition: str) -> bytes:
    return b"".join(path.read_bytes() for path in sorted((directory / partition).glob("*.log")))


def is_copied(kafka: KafkaBroker, node: RunningNode, partition: str) -> bool:
    return bytes_of(node.directory, partition) == bytes_of(kafka.data_directory, partition)


@pytest.mark.parametrize("durability", ["kafka", "fsync"])
def test_what_kafka_acknowledges_is_here_byte_for_byte(
    kafka: KafkaBroker, theirs: RawClient, tmp_path: Path, durability: str
) -> None:
    topic = f"copied-{durability}"
    with broker(kafka, tmp_path / "data", durability) as node:
        assert create(theirs, topic, *[[KAFKA, OURS]] * 5, configs={"min.insync.replicas": "2"}) == 0
        for number in range(40):
            write(theirs, topic, number % 5, b"%d" % number * 50)
        assert in_sync(theirs, topic) == [[KAFKA, OURS]] * 5
        for number in range(5):
            assert is_copied(kafka, node, f"{topic}-{number}")
            node.until(lambda node, number=number: node.partition(topic, number).high_watermark.offset == 8)  # type: ignore[misc]
        assert not [line for line in node.lines if "exception" in str(line) or "Traceback" in str(line)]
        assert delete(theirs, topic) == 0
        node.until(lambda node: node.partitions.find(topic, 0) is None)


def test_it_catches_up_after_it_was_away(kafka: KafkaBroker, theirs: RawClient, tmp_path: Path) -> None:
    node = broker(kafka, tmp_path / "data").start()
    assert create(theirs, "away", [KAFKA, OURS], [KAFKA, OURS]) == 0
    write(theirs, "away", 0, b"both")
    node.stop()
    wait_until(lambda: in_sync(theirs, "away") == [[KAFKA], [KAFKA]], "the in-sync replicas to shrink")
    for number in range(200):
        write(theirs, "away", number % 2, b"%d" % number * 1000)
    node.start()
    wait_until(lambda: in_sync(theirs, "away") == [[KAFKA, OURS]] * 2, "the in-sync replicas to be whole again")
    assert is_copied(kafka, node, "away-0")
    assert is_copied(kafka, node, "away-1")
    node.kill()
    wait_until(lambda: in_sync(theirs, "away") == [[KAFKA], [KAFKA]], "the in-sync replicas to shrink")
    write(theirs, "away", 0, b"alone")
    node.start()
    wait_until(lambda: in_sync(theirs, "away") == [[KAFKA, OURS]] * 2, "the in-sync replicas to be whole again")
    assert is_copied(kafka, node, "away-0")
    node.stop()
    assert delete(theirs, "away") == 0


def test_it_begins_where_its_leader_begins(kafka: KafkaBroker, theirs: RawClient, tmp_path: Path) -> None:
    """In the middle of a batch that was deleted up to there, and behind what it had."""
    node = broker(kafka, tmp_path / "data").start()
    assert create(theirs, "shortened", [KAFKA, OURS]) == 0
    for number in range(10):
        write(theirs, "shortened", 0, b"%d" % number)
    assert delete_records(theirs, "shortened", 4) == 4
    replica = node.do(lambda node: node.partition("shortened", 0))
    wait_until(lambda: replica.log.start_offset == 4, "the log to begin where the leader's begins")
    node.stop()
    for number in range(10):
        write(theirs, "shortened", 0, b"%d" % number)
    wait_until(lambda: in_sync(theirs, "shortened") == [[KAFKA]], "the in-sync replicas to shrink")
    assert delete_records(theirs, "shortened", 15) == 15
    node.start()
    wait_until(lambda: in_sync(theirs, "shortened") == [[KAFKA, OURS]], "the in-sync replicas to be whole again")
    log = node.do(lambda node: node.partition("shortened", 0).log)
    assert (log.start_offset, log.end_offset) == (15, 20)
    assert any("shortened-0 begins anew at offset 15" in str(line) for line in node.lines)
    write(theirs, "shortened", 0, b"more")
    node.stop()
    assert delete(theirs, "shortened") == 0


def test_leadership_goes_back_and_forth(kafka: KafkaBroker, theirs: RawClient, tmp_path: Path) -> None:
    """Each follows the other; and what one wrote that the other never had is cut off when it comes back."""
    node = broker(kafka, tmp_path / "data").start()
    port = node.address[1]
    assert create(theirs, "shared", [OURS, KAFKA]) == 0
    with node.client() as ours:
        for number in range(10):
            write(ours, "shared", 0, b"ours %d" % number)
        wait_until(lambda: is_copied(kafka, node, "shared-0"), "Kafka to follow")
        os.kill(kafka.pid, signal.SIGSTOP)
        try:
            # What it has asked for already comes when it goes on; for more it does not ask.
            produce(ours, "shared", 0, b"of which Kafka hears later", acks=1)
            for _ in range(3):
                partitions(ours, "shared")  # by now that has been answered
            produce(ours, "shared", 0, b"of which Kafka never hears", acks=1)
            assert node.do(lambda node: node.partition("shared", 0).log.end_offset) == 12
            node.kill()
        finally:
            os.kill(kafka.pid, signal.SIGCONT)
    wait_until(lambda: partitions(theirs, "shared")[0].leader_id == KAFKA, "Kafka to lead")
    for number in range(10):
        write(theirs, "shared", 0, b"theirs %d" % number)
    node.start(port)
    wait_until(lambda: in_sync(theirs, "shared") == [[KAFKA, OURS]], "the in-sync replicas to be whole again")
    assert any("shared-0 is cut from offset 12 to 1" in str(line) for line in node.lines)
    assert is_copied(kafka, node, "shared-0")
    assert elect_preferred(theirs, "shared") == 0
    with node.client() as ours:
        wait_until(lambda: partitions(ours, "shared")[0].leader_id == OURS, "this broker to lead again")
        for number in range(10):
            write(ours, "shared", 0, b"ours again %d" % number)
        wait_until(lambda: is_copied(kafka, node, "shared-0"), "Kafka to follow")
        assert len(values(ours, "shared", 0)) in (30, 31)
    node.stop()
    wait_until(lambda: partitions(theirs, "shared")[0].leader_id == KAFKA, "Kafka to lead")
    assert delete(theirs, "shared") == 0


def elect_preferred(client: RawClient, topic: str) -> int:
    request = ElectLeadersRequest(topic_partitions=[TopicPartitions(topic=topic, partitions=[0])], timeout_ms=20_000)
    answer = client.ask(request, 2, ElectLeadersResponse)
    return answer.error_code or answer.replica_election_results[0].partition_result[0].error_code


def delete_records(client: RawClient, topic: str, offset: int) -> int:
    """The low watermark of partition 0 then."""
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=20_000)
    answer = client.ask(request, 2, DeleteRecordsResponse).topics[0].partitions[0]
    assert not answer.error_code
    return answer.low_watermark
