"""A Kafka on two log directories that we made, we on two of Kafka's, and what both say to files that make no sense."""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.directory_ids import UNASSIGNED
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.schema import Uuid
from barnabas.storage.directory_errors import UnusableDirectories
from barnabas.storage.disk import DiskLocked, SystemDisk
from barnabas.storage.formatting import Node
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.replica_copies import copy_some
from barnabas.storage.replica_moves import begin_move
from barnabas.storage.topic_config import TopicConfig
from tests.kafka.broker import KafkaBroker, KafkaBrokerError
from tests.kafka.client import RawClient

from .test_log import everything
from .test_log_directories import everywhere, unique_names
from .test_opening import opened

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC = "orders"
NOW = 1_700_000_000_000
PARTITIONS = 4
CONFIG = TopicConfig.load({})
CLUSTER = "MkU3OEVBNTcwNTJENDM2Qg"
DEADLINE_S = 30.0


class TwoDirectories:
    """A Kafka whose log.dirs are two; the first has the metadata log."""

    def __init__(self, classpath: str, root: Path) -> None:
        self.paths = root / "data", root / "two"
        self.broker = KafkaBroker(classpath, root, cluster_id=CLUSTER, heap_mib=256)
        self.broker.configure({"log.dirs": ",".join(map(str, self.paths)), "metadata.log.dir": str(self.paths[0])})

    def open(self, lines: list[str]) -> LogDirectories:
        return opened(SystemDisk(), *self.paths, node=Node(self.broker.node_id), metadata=self.paths[0], lines=lines)

    def create_topic(self) -> Uuid:
        with self.client() as client:
            topic = CreatableTopic(name=TOPIC, num_partitions=PARTITIONS, replication_factor=1)
            (answer,) = client.ask(CreateTopicsRequest(topics=[topic]), 7, CreateTopicsResponse).topics
        assert answer.error_code == 0
        deadline = time.monotonic() + DEADLINE_S
        while sum(len(partitions) for _, partitions in self.describe().values()) < PARTITIONS:
            assert time.monotonic() < deadline
        return answer.topic_id

    def client(self) -> RawClient:
        return RawClient(self.broker.host, self.broker.port)

    def describe(self) -> dict[str, tuple[ErrorCode, set[tuple[int, bool]]]]:
        """Of each directory its error, and its partitions of the topic: number, and whether it is a copy."""
        with self.client() as client:
            answer = client.ask(DescribeLogDirsRequest(topics=None), 4, DescribeLogDirsResponse)
        return {
            Path(result.log_dir).name: (
                ErrorCode(result.error_code),
                {(each.partition_index, each.is_future_key) for topic in result.topics for each in topic.partitions},
            )
            for result in answer.results
        }


@pytest.fixture
def kafka(kafka_classpath: str, tmp_path: Path) -> Iterator[TwoDirectories]:
    kafka = TwoDirectories(kafka_classpath, tmp_path)
    yield kafka
    kafka.broker.close()


def produce(client: RawClient, topic_id: Uuid, partition: int, values: list[bytes]) -> None:
    batch = build_batch([Record(value=value, timestamp=NOW) for value in values])
    data = PartitionProduceData(index=partition, records=batch)
    request = ProduceRequest(
        acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(topic_id=topic_id, partition_data=[data])]
    )
    deadline = time.monotonic() + DEADLINE_S
    while True:
        (answer,) = client.ask(request, 13, ProduceResponse).responses[0].partition_responses
        if answer.error_code == 0:
            return
        assert ErrorCode(answer.error_code).retriable, ErrorCode(answer.error_code).name
        assert time.monotonic() < deadline


def fetch(client: RawClient, topic_id: Uuid, partition: int, count: int) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    deadline = time.monotonic() + DEADLINE_S
    while len(found) < count:
        assert time.monotonic() < deadline
        asked = FetchPartition(partition=partition, fetch_offset=len(found), partition_max_bytes=1 << 20)
        topic = FetchTopic(topic_id=topic_id, partitions=[asked])
        request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=[topic])
        (data,) = client.ask(request, 13, FetchResponse).responses[0].partitions
        if data.error_code:
            assert ErrorCode(data.error_code).retriable, ErrorCode(data.error_code).name
            continue
        for batch in iterate_batches(data.records or b""):  # type: ignore[arg-type]
            found.update({record.offset: record.value or b"" for record in read_records(batch)})
    return found


def values(partition: int, first: int = 0) -> list[bytes]:
    return [b"%d of %d" % (number, partition) * 40 for number in range(first, first + 50)]


def load(directories: LogDirectories) -> dict[int, dict[int, bytes]]:
    """Of every partition of the topic what it holds."""
    assert directories.set_aside_strays(everywhere, unique_names()) == []
    found = {}
    for piece in directories.plan_loading().pieces:
        log = directories.load(piece, CONFIG, NOW)
        assert log is not None
        if not piece.future:
            found[piece.partition.partition] = everything(log)
    return found


def test_kafka_starts_on_two_directories_that_we_made_and_serves(kafka: TwoDirectories) -> None:
    lines: list[str] = []
    opened(
        SystemDisk(),
        *kafka.paths,
        node=Node(kafka.broker.node_id, CLUSTER),
        ids=iter([bytes([77]) * 16, bytes([88]) * 16]),
        lines=lines,
    ).close({})
    assert len(lines) == 2
    # A quorum that is written down needs nothing but meta.properties.
    voters = f"{kafka.broker.node_id}@{kafka.broker.host}:{kafka.broker.controller_port}"
    kafka.broker.configure({"controller.quorum.voters": voters})
    kafka.broker.start()
    topic_id = kafka.create_topic()
    kafka.broker.stop()
    for path, directory_id in zip(kafka.paths, (77, 88), strict=True):
        text = (path / "meta.properties").read_text()
        assert f"directory.id={Uuid(bytes([directory_id]) * 16)}\n" in text
        assert f"cluster.id={CLUSTER}\n" in text

    directories = kafka.open(lines)
    assert [len(directory.waiting) for directory in directories.online] == [PARTITIONS // 2] * 2
    load(directories)
    for partition in range(PARTITIONS):
        found = directories.find(TopicPartition(TOPIC, partition))
        assert found is not None
        assert found.directory.topic_ids[TopicPartition(TOPIC, partition)] == topic_id
        for value in values(partition):
            records = [Record(value=value, timestamp=NOW)]
            found.log.append_as_follower(build_batch(records, base_offset=found.log.end_offset), NOW)
    directories.close({TopicPartition(TOPIC, partition): 50 for partition in range(PARTITIONS)}, broker_epoch=5)
    assert len(lines) == 2
    kafka.broker.start()
    with kafka.client() as client:
        for partition in range(PARTITIONS):
            assert list(fetch(client, topic_id, partition, 50).values()) == values(partition)
    assert all(error is ErrorCode.NONE for error, _ in kafka.describe().values())
    kafka.broker.stop()
    assert "orrupt" not in kafka.broker.log_file.read_text()
    assert "marked stray" not in kafka.broker.log_file.read_text()


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_we_open_two_directories_of_kafkas(kafka: TwoDirectories, ending: str) -> None:
    kafka.broker.start()
    topic_id = kafka.create_topic()
    with kafka.client() as client:
        for first in (0, 50):
            for partition in range(PARTITIONS):
                produce(client, topic_id, partition, values(partition, first))
    (kafka.broker.stop if ending == "stopped" else kafka.broker.kill)()
    lines: list[str] = []
    directories = kafka.open(lines)
    assert [directory.was_clean for directory in directories.online] == [ending == "stopped"] * 2
    assert (directories.plan_loading().bytes_to_recover > 0) == (ending == "killed")
    found = load(directories)
    assert found == {
        partition: dict(enumerate([*values(partition), *values(partition, 50)])) for partition in range(PARTITIONS)
    }
    assert lines == []
    assert directories.previous_broker_epoch is not None or ending == "killed"
    directories.close({TopicPartition(TOPIC, partition): 100 for partition in range(PARTITIONS)})
    # And back.
    kafka.broker.start()
    with kafka.client() as client:
        for partition in range(PARTITIONS):
            assert fetch(client, topic_id, partition, 100) == found[partition]


def wait_until_moved(kafka: TwoDirectories, partition: int) -> None:
    deadline = time.monotonic() + DEADLINE_S
    while True:
        in_one, in_two = (partitions for _, partitions in kafka.describe().values())
        if (partition, False) in in_two and (partition, False) not in in_one and (partition, True) not in in_two:
            return
        assert time.monotonic() < deadline


def test_kafka_finishes_a_copy_that_we_began_and_we_open_what_it_moved(kafka: TwoDirectories) -> None:
    kafka.broker.start()
    topic_id = kafka.create_topic()
    in_one = min(partition for partition, _ in kafka.describe()["data"][1])
    with kafka.client() as client:
        for first in (0, 50, 100):
            produce(client, topic_id, in_one, values(in_one, first))
    kafka.broker.stop()
    lines: list[str] = []
    directories = kafka.open(lines)
    load(directories)
    found = directories.find(TopicPartition(TOPIC, in_one))
    assert found is not None
    assert found.directory.path == kafka.paths[0]
    copy = begin_move(directories, TopicPartition(TOPIC, in_one), kafka.paths[1], CONFIG, NOW, "f" * 32)
    assert copy is not None
    copy_some(found.log, copy.log, 100, NOW)
    assert 0 < copy.log.end_offset < found.log.end_offset == 150
    directories.close({TopicPartition(TOPIC, partition): 150 for partition in range(PARTITIONS)})
    kafka.broker.start()
    wait_until_moved(kafka, in_one)
    with kafka.client() as client:
        assert list(fetch(client, topic_id, in_one, 150).values()) == values(in_one) + values(in_one, 50) + values(
            in_one, 100
        )
        # And one that Kafka moves from beginning to end.
        (other,) = {partition for partition, _ in kafka.describe()["data"][1]}
        topics = [AlterReplicaLogDirTopic(name=TOPIC, partitions=[other])]
        request = AlterReplicaLogDirsRequest(dirs=[AlterReplicaLogDir(path=str(kafka.paths[1]), topics=topics)])
        answer = client.ask(request, 2, AlterReplicaLogDirsResponse)
        assert answer.results[0].partitions[0].error_code == 0
    wait_until_moved(kafka, other)
    kafka.broker.stop()
    directories = kafka.open(lines)
    assert [len(directory.waiting) for directory in directories.online] == [0, PARTITIONS]
    assert len(load(directories)[in_one]) == 150
    directories.abandon()


GARBAGE = {
    "recovery-point-offset-checkpoint": b"nonsense",
    "log-start-offset-checkpoint": b"nonsense",
    "replication-offset-checkpoint": b"\xff\xfe",
    "cleaner-offset-checkpoint": b"1\n0\n",
    ".kafka_cleanshutdown": b"\xff\x00 nonsense",
    "partition.metadata": b"nonsense",
    "meta.properties": b"version=9\n",
    "photo.jpg": b"a file",
}
"""What Kafka survives; by an empty partition.metadata or `photos/` it is ended."""


def test_what_both_say_to_garbage(kafka: TwoDirectories) -> None:
    """The second directory is offline for both, or for none."""
    kafka.broker.start()
    kafka.create_topic()
    kafka.broker.stop()
    two = kafka.paths[1]
    clean = two.with_name("clean")
    for path in kafka.paths:
        shutil.copytree(path, clean / path.name)
    in_two = next(two.glob(f"{TOPIC}-*"))
    for name, content in GARBAGE.items():
        for path in kafka.paths:
            shutil.rmtree(path)
            shutil.copytree(clean / path.name, path)
        damaged = in_two / name if name == "partition.metadata" else two / name
        damaged.write_bytes(content)
        directories = kafka.open([])
        directories.set_aside_strays(everywhere, unique_names())
        for piece in directories.plan_loading().pieces:
            directories.load(piece, CONFIG, NOW)
        offline = list(directories.offline)
        directories.abandon()
        # As Kafka sees it: before we touched it.
        for path in kafka.paths:
            shutil.rmtree(path)
            shutil.copytree(clean / path.name, path)
        damaged.write_bytes(content)
        kafka.broker.start()
        deadline = time.monotonic() + 3
        expected = ErrorCode.KAFKA_STORAGE_ERROR if offline else ErrorCode.NONE
        while (found := kafka.describe())["two"][0] is not expected and time.monotonic() < deadline:
            """It takes Kafka a moment to hear of it."""
        assert (name, found["two"][0], found["data"][0]) == (name, expected, ErrorCode.NONE)
        if not offline:
            assert len(found["two"][1]) == PARTITIONS // 2
        kafka.broker.stop()


def test_what_both_refuse(kafka: TwoDirectories) -> None:
    kafka.broker.start()
    topic_id = kafka.create_topic()
    kafka.broker.stop()
    one, two = kafka.paths
    photos = two / "photos"
    photos.mkdir()
    with pytest.raises(KafkaBrokerError):
        kafka.broker.start()
    with pytest.raises(UnusableDirectories, match="photos is no partition's directory"):
        kafka.open([])
    photos.rmdir()
    kafka.broker.close()
    twice = next(two.glob(f"{TOPIC}-*"))
    shutil.copytree(twice, one / twice.name)
    with pytest.raises(KafkaBrokerError, match="Duplicate log directories"):
        kafka.broker.start()
    directories = kafka.open([])
    with pytest.raises(UnusableDirectories, match=f"{one}/{twice.name} and in {two}/{twice.name}"):
        directories.set_aside_strays(lambda found, _: UNASSIGNED if found == topic_id else None, unique_names())
    shutil.rmtree(one / twice.name)
    # And while we have the directories.
    with pytest.raises(KafkaBrokerError, match="Failed to acquire lock"):
        kafka.broker.start()
    directories.abandon()
    kafka.broker.start()
    with pytest.raises(DiskLocked, match="is held by"):
        kafka.open([])
