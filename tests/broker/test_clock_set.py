"""The clock of the machine is set, by a day and back, under load: timeouts last what they last, records get the time of
day, and what is old by it goes."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.broker.clock import Clock
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from tests.clients.raw_group import RawMember
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient

from .asking import create
from .housekeeping.test_retention import delete_topic
from .running import RunningNode
from .test_produce_and_fetch import fetch
from .test_produce_and_fetch import produce as produce_one

pytestmark = pytest.mark.slow

DAY_MS = 86_400_000
SESSION_MS = 700


class SetClock(Clock):
    """The system's, but for how much a test has set it."""

    set_by_ms = 0

    def now_ms(self) -> int:
        return super().now_ms() + self.set_by_ms


@pytest.fixture
def clock() -> SetClock:
    return SetClock()


@pytest.fixture
def node(tmp_path: Path, clock: SetClock) -> Iterator[RunningNode]:
    node = RunningNode(
        tmp_path / "data",
        clock=clock,
        group_min_session_timeout_ms="100",
        offsets_topic_num_partitions="1",
        log_segment_delete_delay_ms="300",
    )
    with node as running:
        yield running


def member_of(client: RawClient, group: str) -> RawMember:
    """Who finds the coordinator, and is the only one in its group."""
    request = FindCoordinatorRequest(coordinator_keys=[group])
    assert client.ask(request, 4, FindCoordinatorResponse).coordinators[0].error_code == 0
    member = RawMember(client, group, session_timeout_ms=SESSION_MS)
    assert member.join().error_code == 0
    assert member.sync(member.member_id).error_code == 0
    return member


@pytest.mark.parametrize("by_ms", [DAY_MS, -DAY_MS], ids=["forward", "back"])
def test_a_session_lasts_what_it_lasts(node: RunningNode, clock: SetClock, by_ms: int) -> None:
    with node.client() as client:
        member = member_of(client, "group")
        clock.set_by_ms = by_ms
        assert member.heartbeat() == 0
        began = time.monotonic()
        with node.client() as other:
            # It says no more, and whoever comes after it has not to wait for a day.
            second = RawMember(other, "group", session_timeout_ms=SESSION_MS)
            assert second.join().error_code == 0
        assert SESSION_MS / 1000 * 0.5 < time.monotonic() - began < 10
        assert member.heartbeat() == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_deleted_topic_leaves_the_disk_when_it_should(node: RunningNode, clock: SetClock, tmp_path: Path) -> None:
    with node.client() as client:
        create(client, "orders")
        clock.set_by_ms = DAY_MS
        delete_topic(node)
        assert list((tmp_path / "data").glob("orders-0.*-delete"))
        clock.set_by_ms = -DAY_MS
        wait_until(lambda: not list((tmp_path / "data").glob("orders-0*")), "the topic's files to go")


def test_retention_reckons_with_the_time_of_day(node: RunningNode, clock: SetClock) -> None:
    with node.client() as client:
        create(client, "orders", internal_segment_bytes="300", retention_ms=str(DAY_MS // 2))
        now_ms = clock.now_ms()
        for number in range(6):
            assert produce_one(client, b"%d" % number + bytes(200), timestamp=now_ms).base_offset == number
        clock.set_by_ms = -DAY_MS
        assert produce_one(client, b"6", timestamp=now_ms - DAY_MS).base_offset == 6
        assert fetch(client, 0)[0] == (0, b"0" + bytes(200))
        clock.set_by_ms = DAY_MS
        assert produce_one(client, b"7", timestamp=now_ms + DAY_MS).base_offset == 7
        node.do(lambda of: of.housekeeping.retention.look_now(of.partition("orders", 0)))
        node.until(lambda of: of.partition("orders", 0).log.start_offset > 0)
        assert fetch(client, 7) == [(7, b"7")]


class Load(threading.Thread):
    """An idempotent producer, a long poll and a member of a group, on a connection each; nothing is ever refused."""

    def __init__(self, node: RunningNode) -> None:
        super().__init__(name="load")
        self.produced = self.times = 0
        self.slowest_s = 0.0
        self.failure: BaseException | None = None
        self._node = node
        self._ended = threading.Event()

    def run(self) -> None:
        try:
            with self._node.client() as producer, self._node.client() as consumer, self._node.client() as third:
                self._work(producer, consumer, member_of(third, "busy"))
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.failure = error

    def _work(self, producer: RawClient, consumer: RawClient, member: RawMember) -> None:
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        owner = producer.ask(request, 4, InitProducerIdResponse)
        last_ms = 0
        while not self._ended.is_set():
            began = time.monotonic()
            batch = build_batch(
                [Record(value=b"%d" % self.produced, timestamp=1)],
                producer_id=owner.producer_id,
                producer_epoch=owner.producer_epoch,
                base_sequence=self.produced,
            )
            data = TopicProduceData("orders", partition_data=[PartitionProduceData(index=0, records=batch)])
            asked = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[data])
            (answer,) = producer.ask(asked, 12, ProduceResponse).responses[0].partition_responses
            assert (answer.error_code, answer.base_offset) == (0, self.produced)
            self.times += abs(answer.log_append_time_ms - last_ms) > DAY_MS // 2
            last_ms = answer.log_append_time_ms
            assert fetch(consumer, self.produced) == [(self.produced, b"%d" % self.produced)]
            assert member.heartbeat() == 0
            assert member.commit("orders") == 0
            self.produced += 1
            self.slowest_s = max(self.slowest_s, time.monotonic() - began)

    def end(self) -> None:
        self._ended.set()
        self.join()


def test_a_day_forward_and_back_under_load(node: RunningNode, clock: SetClock) -> None:
    with node.client() as client:
        create(client, "orders", message_timestamp_type="LogAppendTime", retention_ms="-1")
    load = Load(node)
    load.start()
    wait_until(lambda: load.produced > 10 or load.failure, "the load to begin")
    jumps = 0
    for number in range(20):
        clock.set_by_ms = (DAY_MS, 0, -DAY_MS, 0)[number % 4]
        seen = load.produced
        wait_until(lambda seen=seen: load.produced > seen + 5 or load.failure, "the load to go on")  # type: ignore[misc]
        jumps += 1
    load.end()
    if load.failure is not None:
        raise load.failure
    # Each of them shows in the records, and nobody waited for any.
    assert load.times == jumps + 1
    assert load.slowest_s < 5
    assert [line for line in node.lines if "rror" in line] == []
