"""Fetch beside Kafka: the same requests, in all versions, to both."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.messages.add_partitions_to_txn import (
    AddPartitionsToTxnRequest,
    AddPartitionsToTxnResponse,
    AddPartitionsToTxnTopic,
)
from barnabas.protocol.messages.end_txn import EndTxnRequest, EndTxnResponse
from barnabas.protocol.messages.fetch import (
    FetchPartition,
    FetchRequest,
    FetchTopic,
    ForgottenTopic,
    ReplicaState,
)
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from barnabas.storage.producer_state import AppendOrigin

from .told import codes
from .twins import Side, Twins

pytestmark = [pytest.mark.slow, pytest.mark.java]

VERSIONS = range(4, 19)
AT_MS = 1_700_000_000_000
FIRST_WITH_SESSIONS = 7
FIRST_WITH_IDS = 13


def produce(twins: Twins, topic: str, *values: bytes, partition: int = 0) -> None:
    """Each value is a batch."""
    for value in values:
        records = build_batch([Record(value=value, timestamp=AT_MS), Record(value=b"", timestamp=AT_MS + 1)])
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])]
        answer = twins.ask(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=data), 9, ProduceResponse)
        assert codes(answer) == ["NONE"]


@pytest.fixture(scope="module")
def both(twins: Twins) -> Iterator[Twins]:
    twins.create("read", 3)
    produce(twins, "read", b"a" * 100, b"b" * 200, b"c" * 300)
    produce(twins, "read", b"other", partition=1)
    twins.create("silent", 4)
    yield twins


class Ask:
    """Builds a request of some version for either side."""

    def __init__(self, version: int, **of_request: Any) -> None:
        self.version = version
        self.of_request = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1, **of_request}
        self.wanted: list[tuple[str, dict[str, Any]]] = []
        self.forgotten: list[tuple[str, int]] = []

    def of(self, topic: str, partition: int = 0, offset: int = 0, **more: Any) -> Ask:
        self.wanted.append(
            (topic, {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 10_000, **more})
        )
        return self

    def without(self, topic: str, partition: int) -> Ask:
        self.forgotten.append((topic, partition))
        return self

    def __call__(self, side: Side) -> FetchRequest:
        def named(topic: str) -> dict[str, Any]:
            return {"topic_id": side.topic_ids[topic]} if self.version >= FIRST_WITH_IDS else {"topic": topic}

        request = FetchRequest(**self.of_request)
        if request.session_epoch > 0:
            request.session_id = request.session_id or side.session_id
        request.topics = [FetchTopic(**named(topic), partitions=[FetchPartition(**one)]) for topic, one in self.wanted]
        request.forgotten_topics_data = [
            ForgottenTopic(**named(topic), partitions=[number]) for topic, number in self.forgotten
        ]
        return request


CASES: dict[str, Callable[[int], Ask]] = {
    "from the start": lambda v: Ask(v).of("read"),
    "within a batch": lambda v: Ask(v).of("read", offset=3),
    "at the end": lambda v: Ask(v).of("read", offset=6),
    "behind the end": lambda v: Ask(v).of("read", offset=7),
    "before the start": lambda v: Ask(v).of("read", offset=-1),
    "one byte of a partition": lambda v: Ask(v).of("read", partition_max_bytes=1).of("read", 1),
    "one byte in total": lambda v: Ask(v, max_bytes=1).of("read").of("read", 1),
    "the limit is full": lambda v: Ask(v, max_bytes=169).of("read", offset=0, partition_max_bytes=1).of("read", 1),
    "unknown partition and a good one": lambda v: Ask(v).of("read", 9).of("read", 1),
    "unknown topic": lambda v: Ask(v, max_wait_ms=5_000).of("nowhere"),
    "unknown topic between others": lambda v: Ask(v).of("read").of("nowhere").of("read", 1),
    "a partition twice": lambda v: Ask(v).of("read").of("read", 1).of("read", offset=4),
    "nothing": lambda v: Ask(v, max_wait_ms=5_000),
    "committed only": lambda v: Ask(v, isolation_level=1).of("read"),
    "committed only at the end": lambda v: Ask(v, isolation_level=1).of("read", offset=6),
    "committed only, out of range": lambda v: Ask(v, isolation_level=1).of("read", offset=9),
    "several topics": lambda v: Ask(v).of("read").of("silent").of("read", 1).of("silent", 1),
}


@pytest.mark.parametrize("name", CASES)
def test_one_request(both: Twins, name: str) -> None:
    for version in VERSIONS:
        both.fetch(CASES[name](version), version)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= 9])
def test_leader_epochs(both: Twins, version: int) -> None:
    for epoch in (0, 1, 7):
        both.fetch(Ask(version, max_wait_ms=5_000).of("read", current_leader_epoch=epoch), version)
    if version >= 12:
        for fetched, offset in ((0, 0), (0, 6), (0, 7), (0, -1), (3, 2)):
            both.fetch(Ask(version).of("read", offset=offset, last_fetched_epoch=fetched), version)


@pytest.mark.parametrize("version", VERSIONS)
def test_replicas_that_are_none(both: Twins, version: int) -> None:
    for replica in (0, 1, 5, -2):
        of_request: dict[str, Any] = {"replica_id": replica}
        if version >= 15:
            of_request = {"replica_state": ReplicaState(replica_id=replica, replica_epoch=-1)}
        both.fetch(Ask(version, max_wait_ms=100, **of_request).of("read"), version)
        if version >= 9:
            both.fetch(Ask(version, max_wait_ms=100, **of_request).of("read", current_leader_epoch=0), version)


@pytest.mark.parametrize("version", [v for v in VERSIONS if v >= FIRST_WITH_SESSIONS])
def test_a_session(both: Twins, version: int) -> None:
    topic = f"session-{version}"
    both.create(topic, 4)
    first = both.fetch(Ask(version, session_epoch=0).of(topic).of(topic, 1).of("silent").of(topic, 2), version)
    assert first["session_id"] == "a session"
    sessions = [side.session_id for side in both.sides]

    def step(epoch: int, ask: Ask | None = None) -> Any:
        for side, session in zip(both.sides, sessions, strict=True):
            side.session_id = session
        ask = ask or Ask(version)
        ask.of_request["session_epoch"] = epoch
        return both.fetch(ask, version)

    assert step(1)["responses"] == []
    produce(both, topic, b"one", partition=1)
    assert len(step(2)["responses"]) == 1
    produce(both, topic, b"two", partition=2)
    produce(both, topic, b"zero")
    # The one that gave records before stands last now, and the order of the others has changed with it.
    step(3)
    step(4)
    step(5, Ask(version).of(topic, 1, offset=2).of(topic, 9))
    step(5)
    step(99)
    step(6, Ask(version).without(topic, 9).without("silent", 0))
    step(7, Ask(version).of("nowhere").of(topic, 3, offset=50))
    step(8)
    step(9, Ask(version, isolation_level=1).without("nowhere", 0).without(topic, 3))
    step(10, Ask(version, max_bytes=1))
    step(11, Ask(version, max_bytes=1))
    other = 12 if version >= FIRST_WITH_IDS else 13
    for side, session in zip(both.sides, sessions, strict=True):
        side.session_id = session
    both.fetch(Ask(other, session_epoch=12), other)
    step(12, Ask(version).of("read").without("read", 0).without(topic, 0).without(topic, 1).without(topic, 2))
    step(13)


@pytest.mark.parametrize("epoch", [0, -1])
def test_a_full_request_ends_a_session(both: Twins, epoch: int) -> None:
    both.fetch(Ask(12, session_epoch=0).of("read"), 12)
    old = [side.session_id for side in both.sides]
    full = Ask(12, session_epoch=epoch).of("read", 1)
    both.fetch(lambda side: _with_session(full(side), side.session_id), 12)
    for side, session in zip(both.sides, old, strict=True):
        side.session_id = session
    assert both.fetch(Ask(12, session_epoch=1), 12)["error_code"] == "FETCH_SESSION_ID_NOT_FOUND"


def _with_session(request: FetchRequest, session_id: int) -> FetchRequest:
    request.session_id = session_id
    return request


# Waiting: each of these would time out, if it did not answer at once


LONG_MS = 600_000


@pytest.mark.parametrize("version", [4, 12, 18])
def test_what_is_told_at_once(both: Twins, version: int) -> None:
    patient = {"max_wait_ms": LONG_MS, "min_bytes": 1 << 20}
    both.fetch(Ask(version, **patient).of("read", offset=99), version)
    both.fetch(Ask(version, **patient).of("silent").of("read", offset=-7), version)
    both.fetch(Ask(version, **patient).of("nowhere"), version)
    both.fetch(Ask(version, **patient).of("silent", 77), version)
    both.fetch(Ask(version, max_wait_ms=LONG_MS, min_bytes=0).of("silent"), version)
    both.fetch(Ask(version, max_wait_ms=LONG_MS, min_bytes=700, max_bytes=600).of("read"), version)
    if version >= 12:
        both.fetch(Ask(version, **patient).of("silent").of("read", offset=7, last_fetched_epoch=0), version)


@pytest.mark.parametrize("version", [4, 12, 18])
def test_an_unknown_partition_does_not_end_the_wait(both: Twins, version: int) -> None:
    both.fetch(Ask(version, max_wait_ms=300, min_bytes=1).of("silent").of("nowhere").of("silent", 77), version)


def test_the_end_of_a_segment_is_not_waited_at(both: Twins) -> None:
    both.create("segments", segment_bytes="1048576")
    produce(both, "segments", *(bytes(400_000) for _ in range(4)))
    for offset in range(9):
        if offset < 4:
            both.fetch(Ask(12, max_wait_ms=LONG_MS, min_bytes=700_000).of("segments", 0, offset), 12)
        both.fetch(Ask(12, max_wait_ms=0).of("segments", 0, offset, partition_max_bytes=1 << 21), 12)
        both.fetch(Ask(12, max_wait_ms=0, isolation_level=1).of("segments", 0, offset), 12)


# Transactions


def transaction(twins: Twins, topic: str, *, commit: bool, ends: bool = True) -> None:
    """One record of a producer of its own; the same on both sides, on ours by hand where there is no coordinator."""
    kafka, ours = twins.sides
    name = f"{topic}-{len(kafka.producer_ids)}"
    while True:
        found = kafka.client.ask(
            FindCoordinatorRequest(key_type=1, coordinator_keys=[name]), 4, FindCoordinatorResponse
        )
        begun = InitProducerIdRequest(transactional_id=name, transaction_timeout_ms=60_000)
        theirs = kafka.client.ask(begun, 4, InitProducerIdResponse)
        if not found.coordinators[0].error_code and not theirs.error_code:
            break
    own = ours.client.ask(
        InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4, InitProducerIdResponse
    )
    assert (own.error_code, theirs.error_code) == (0, 0)
    kafka.producer_ids.append(theirs.producer_id)
    ours.producer_ids.append(own.producer_id)
    add = AddPartitionsToTxnRequest(
        v3_and_below_transactional_id=name,
        v3_and_below_producer_id=theirs.producer_id,
        v3_and_below_producer_epoch=theirs.producer_epoch,
        v3_and_below_topics=[AddPartitionsToTxnTopic(name=topic, partitions=[0])],
    )
    while True:
        added = kafka.client.ask(add, 3, AddPartitionsToTxnResponse)
        if not added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code:
            break

    def batch(side: Side) -> ProduceRequest:
        records = build_batch(
            [Record(value=name.encode(), timestamp=AT_MS)],
            producer_id=side.producer_ids[-1],
            producer_epoch=0,
            base_sequence=0,
            transactional=True,
        )
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])]
        return ProduceRequest(transactional_id=name, acks=-1, timeout_ms=5_000, topic_data=data)

    assert codes(twins.ask(batch, 9, ProduceResponse)) == ["NONE"]
    if not ends:
        return
    end = EndTxnRequest(
        transactional_id=name, producer_id=theirs.producer_id, producer_epoch=theirs.producer_epoch, committed=commit
    )
    assert kafka.client.ask(end, 3, EndTxnResponse).error_code == 0
    marker = build_end_transaction_marker(
        ControlRecordType.COMMIT if commit else ControlRecordType.ABORT,
        producer_id=own.producer_id,
        producer_epoch=0,
        coordinator_epoch=0,
        timestamp=time.time_ns() // 1_000_000,
    )
    twins.node.do(
        lambda node: node.partition(topic, 0).append(
            (Batch(bytearray(marker)),), AT_MS, origin=AppendOrigin.COORDINATOR, transaction_version=1
        )
    )
    end_offset = ours.client.ask(_end_of(topic), 7, ListOffsetsResponse).topics[0].partitions[0].offset
    while kafka.client.ask(_end_of(topic), 7, ListOffsetsResponse).topics[0].partitions[0].offset < end_offset:
        pass


def _end_of(topic: str) -> ListOffsetsRequest:
    return ListOffsetsRequest(
        replica_id=-1,
        topics=[ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])],
    )


@pytest.fixture(scope="module")
def transactions(both: Twins) -> Twins:
    """0 and 1 committed, 2 and 3 aborted, 4 and 5 outside of any, 6 and 7 aborted, 8 open, 9 and 10 outside."""
    both.create("transactions")
    transaction(both, "transactions", commit=True)
    transaction(both, "transactions", commit=False)
    produce(both, "transactions", b"plain")
    transaction(both, "transactions", commit=False)
    transaction(both, "transactions", commit=False, ends=False)
    produce(both, "transactions", b"plain")
    return both


@pytest.mark.parametrize("version", VERSIONS)
def test_transactions(transactions: Twins, version: int) -> None:
    for offset in range(0, 13, 1 if version == 12 else 4):
        for isolation in (0, 1):
            ask = Ask(version, isolation_level=isolation).of("transactions", 0, offset)
            transactions.fetch(ask, version)
            small = Ask(version, isolation_level=isolation).of("transactions", 0, offset, partition_max_bytes=100)
            transactions.fetch(small, version)
    # Behind another partition, with nothing left.
    full = Ask(version, isolation_level=1, max_bytes=1).of("read").of("transactions", 0)
    transactions.fetch(full, version)
    tight = Ask(version, isolation_level=1).of("read").of("transactions", 0, partition_max_bytes=10)
    transactions.fetch(tight, version)


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_among_transactions(transactions: Twins, version: int) -> None:
    for isolation in (0, 1):
        for timestamp in (-1, -2, -3, -4, -5, -6, -7, 0, AT_MS, AT_MS + 1, AT_MS + 2):
            one = ListOffsetsPartition(partition_index=0, timestamp=timestamp)
            request = ListOffsetsRequest(
                replica_id=-1,
                isolation_level=isolation if version >= 2 else 0,
                topics=[ListOffsetsTopic(name="transactions", partitions=[one])],
            )
            transactions.ask(request, version, ListOffsetsResponse)


def test_how_much_was_compared(both: Twins) -> None:
    assert both.comparisons >= 150
