"""`barnabas start` while its machine makes trouble: a stop in the middle of everything, a process that stands still for
longer than its clients' sessions, a disk that fills up."""

from __future__ import annotations

import signal
import socket
import threading
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from tests.broker.small_disk import SmallDisk
from tests.cli.starting import StartedBroker
from tests.clients.raw_group import RawMember
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

from .asking import create
from .attackers import LongPolls, connected, fetch_frame

pytestmark = pytest.mark.slow

NOW = 1_700_000_000_000
TOPIC = "orders"
PARTITIONS = 4


def produce(client: RawClient, partition: int, value: bytes, topic: str = TOPIC) -> tuple[int, int]:
    """Error code and offset."""
    batch = build_batch([Record(value=value, timestamp=NOW)])
    data = TopicProduceData(topic, partition_data=[PartitionProduceData(index=partition, records=batch)])
    answer = client.ask(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data]), 12, ProduceResponse)
    (one,) = answer.responses[0].partition_responses
    return one.error_code, one.base_offset


def end_offset(client: RawClient, partition: int) -> int:
    asked = ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(partition_index=partition, timestamp=-1)])
    return client.ask(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse).topics[0].partitions[0].offset


class Producer(threading.Thread):
    """It goes on until the broker is gone, or says that it does not lead any more."""

    def __init__(self, address: tuple[str, int], partition: int) -> None:
        super().__init__(name=f"producer of {partition}")
        self.acknowledged = 0
        self.failure: BaseException | None = None
        self._client = RawClient(*address)
        self._partition = partition
        self.start()

    def run(self) -> None:
        try:
            with self._client as client:
                while True:
                    code, offset = produce(client, self._partition, b"%d" % self.acknowledged)
                    if code == ErrorCode.NOT_LEADER_OR_FOLLOWER:
                        return
                    assert code == 0, ErrorCode(code).name
                    self.acknowledged = max(self.acknowledged, offset + 1)
        except OSError:
            """That is what happens to clients of brokers that stop."""
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.failure = error


@pytest.mark.parametrize("durability", ["kafka", "fsync"])
def test_a_stop_in_the_middle_of_everything(tmp_path: Path, durability: str) -> None:
    """Two hundred clients: some produce, some wait for records, some do nothing, some have asked for what they do not
    read, one is in the middle of a request."""
    options = ("--set", f"barnabas.durability={durability}")
    with StartedBroker(tmp_path, *options).wait_ready() as broker, ExitStack() as stack:
        with broker.client() as client:
            create(client, TOPIC, PARTITIONS)
            for _ in range(16):
                assert produce(client, 0, bytes(900_000))[0] == 0
        stack.enter_context(LongPolls(broker.address, 100, [TOPIC]))
        deaf = [stack.enter_context(connected(broker.address, 4096)) for _ in range(10)]
        for sock in deaf:
            sock.sendall(fetch_frame(TOPIC, max_bytes=8 << 20) * 4)
        for number in range(50):
            sock = stack.enter_context(socket.create_connection(broker.address))
            if number % 2:
                sock.sendall(b"\0\1\0\0abc")
        producers = [Producer(broker.address, number % PARTITIONS) for number in range(40)]
        wait_until(lambda: min(one.acknowledged for one in producers) > 5, "all to produce")
        began = time.monotonic()
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")
        took_s = time.monotonic() - began
        for one in producers:
            one.join()
        assert [one.failure for one in producers] == [None] * len(producers)
        assert took_s < 12
        assert [line for line in broker.lines if line["level"] == "error"] == []
    assert (tmp_path / "barnabas-data" / ".kafka_cleanshutdown").exists()
    with StartedBroker(tmp_path, *options).wait_ready() as broker, broker.client() as client:
        for partition in range(PARTITIONS):
            acknowledged = max(one.acknowledged for one in producers if one._partition == partition)
            # With so many of one partition, some may have been appended whose answer was never read.
            assert acknowledged <= end_offset(client, partition) <= acknowledged + len(producers)
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")


def test_a_process_that_stood_still_for_longer_than_all_sessions(tmp_path: Path) -> None:
    """SIGSTOP and SIGCONT, as when a laptop sleeps: what was sent meanwhile is answered, who was silent goes, and the
    broker does not take itself for dead."""
    settings = {"group.min.session.timeout.ms": 100, "broker.session.timeout.ms": 1_000}
    settings |= {"broker.heartbeat.interval.ms": 200, "connections.max.idle.ms": 60_000}
    options = [option for key, value in settings.items() for option in ("--set", f"{key}={value}")]
    with StartedBroker(tmp_path, *options).wait_ready() as broker, broker.client() as client, broker.client() as third:
        create(client, TOPIC, PARTITIONS)
        request = FindCoordinatorRequest(coordinator_keys=["group"])
        assert client.ask(request, 4, FindCoordinatorResponse).coordinators[0].error_code == 0
        member = RawMember(client, "group", session_timeout_ms=700)
        assert member.join().error_code == 0
        assert member.sync(member.member_id).error_code == 0
        assert member.heartbeat() == 0
        producer = Producer(broker.address, 0)
        wait_until(lambda: producer.acknowledged > 5, "records")
        broker.signal(signal.SIGSTOP)
        stood = threading.Event()
        stood.wait(2.5)
        before = producer.acknowledged
        third.send(MetadataRequest(topics=None), 12)
        broker.signal(signal.SIGCONT)
        metadata = third.receive(MetadataResponse)
        assert {one.leader_id for topic in metadata.topics for one in topic.partitions} == {1}
        # Nobody was heard for longer than a session; whether its heartbeat or its end came first, it can join again.
        assert member.heartbeat() in (0, ErrorCode.UNKNOWN_MEMBER_ID)
        member.member_id = ""
        assert member.join().error_code == 0
        wait_until(lambda: producer.acknowledged > before + 5, "more records")
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")
        producer.join()
        assert producer.failure is None
        assert [line for line in broker.lines if line["level"] == "error"] == []


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[SmallDisk]:
    with SmallDisk(tmp_path / "small") as mounted:
        yield mounted


def commit(client: RawClient, offset: int) -> int:
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset)
    topics = [OffsetCommitRequestTopic(name=TOPIC, partitions=[partition])]
    request = OffsetCommitRequest(group_id="group", generation_id_or_member_epoch=-1, topics=topics)
    return client.ask(request, 8, OffsetCommitResponse).topics[0].partitions[0].error_code


def create_error(client: RawClient, name: str) -> int:
    topic = CreatableTopic(name=name, num_partitions=1, replication_factor=1)
    return client.ask(CreateTopicsRequest(topics=[topic]), 7, CreateTopicsResponse).topics[0].error_code


RETRIABLE_OF_A_COORDINATOR = (ErrorCode.COORDINATOR_NOT_AVAILABLE, ErrorCode.NOT_COORDINATOR)


@pytest.mark.parametrize("how", ["room", "restart", "kill"])
def test_the_disk_is_full(tmp_path: Path, disk: SmallDisk, how: str) -> None:
    options = ["--data", str(disk.directory / "data")]
    for setting in ("offsets.topic.num.partitions=1", "log.flush.offset.checkpoint.interval.ms=20"):
        options += ["--set", setting]
    with StartedBroker(tmp_path, *options).wait_ready() as broker, broker.client() as client:
        create(client, TOPIC, segment_bytes=str(1 << 20))
        request = FindCoordinatorRequest(coordinator_keys=["group"])
        assert client.ask(request, 4, FindCoordinatorResponse).coordinators[0].error_code == 0
        for number in range(8):
            assert produce(client, 0, bytes(200_000)) == (0, number)
            assert commit(client, number) == 0
        disk.fill()
        refused = [produce(client, 0, bytes(200_000))[0] for _ in range(5)]
        assert refused == [ErrorCode.KAFKA_STORAGE_ERROR] * 5
        # A commit may still fit into a page that is there; one that does not is refused so that clients try again.
        codes = [commit(client, 8) for _ in range(300)]
        assert set(codes) <= {0, *RETRIABLE_OF_A_COORDINATOR}
        # What the controller writes down may still fit, too; a topic that is not there has an error or no log yet.
        assert create_error(client, "another") in (0, ErrorCode.KAFKA_STORAGE_ERROR)
        assert end_offset(client, 0) == 8
        assert [line for line in broker.lines if line["level"] == "error"] == []
        if how == "room":
            disk.make_room()
            assert produce(client, 0, bytes(200_000)) == (0, 8)
            assert commit(client, 9) == 0
            assert create_error(client, "another") in (0, ErrorCode.TOPIC_ALREADY_EXISTS)
            wait_until(lambda: produce(client, 0, b"x", topic="another") == (0, 0), "the topic to be there")
        broker.signal(signal.SIGKILL if how == "kill" else signal.SIGTERM)
        # Nothing of it needs room that is not there: a stop is clean, or says that it is not.
        code = broker.wait()
        assert code == -signal.SIGKILL if how == "kill" else code in (0, 1)
    if how != "room":
        disk.make_room()
    with StartedBroker(tmp_path, *options).wait_ready() as broker, broker.client() as client:
        first = 9 if how == "room" else 8
        assert end_offset(client, 0) == first
        assert produce(client, 0, b"after") == (0, first)
        assert client.ask(request, 4, FindCoordinatorResponse).coordinators[0].error_code == 0
        # Ready means that it serves; what groups had committed may still be on its way from the disk.
        while (code := commit(client, 10)) == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            pass
        assert code == 0
        assert create_error(client, "another") in (0, ErrorCode.TOPIC_ALREADY_EXISTS)
        assert produce(client, 0, b"x", topic="another")[0] == 0
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")


def test_the_first_group_comes_while_the_disk_is_full(tmp_path: Path, disk: SmallDisk) -> None:
    """Its topic is made when there is room, without a restart."""
    options = ["--data", str(disk.directory / "data"), "--set", "offsets.topic.num.partitions=1"]
    with StartedBroker(tmp_path, *options).wait_ready() as broker, broker.client() as client:
        create(client, TOPIC)
        disk.fill()
        request = FindCoordinatorRequest(coordinator_keys=["group"])
        client.ask(request, 4, FindCoordinatorResponse)
        assert commit(client, 1) != 0
        disk.make_room()

        def is_there() -> bool:
            client.ask(request, 4, FindCoordinatorResponse)
            return commit(client, 1) == 0

        wait_until(is_there, "the group's coordinator")
        broker.signal()
        assert (broker.wait(), broker.errors) == (0, "")
