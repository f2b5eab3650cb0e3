"""Fetch and ListOffsets among transactions, beside Kafka. All else that they are asked is in compat/twin."""

from __future__ import annotations

import time
from collections.abc import Iterator
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
FIRST_WITH_IDS = 13


def produce(twins: Twins, topic: str, *values: bytes) -> None:
    """Each value is a batch."""
    for value in values:
        records = build_batch([Record(value=value, timestamp=AT_MS), Record(value=b"", timestamp=AT_MS + 1)])
        data = [TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=0, records=records)])]
        answer = twins.ask(ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=data), 9, ProduceResponse)
        assert codes(answer) == ["NONE"]


@pytest.fixture(scope="module")
def both(twins: Twins) -> Iterator[Twins]:
    twins.create("read")
    produce(twins, "read", b"a" * 100, b"b" * 200, b"c" * 300)
    yield twins


class Ask:
    """Builds a request of some version for either side."""

    def __init__(self, version: int, **of_request: Any) -> None:
        self.version = version
        self.of_request = {"max_wait_ms": 0, "min_bytes": 1, "session_epoch": -1, **of_request}
        self.wanted: list[tuple[str, dict[str, Any]]] = []

    def of(self, topic: str, partition: int = 0, offset: int = 0, **more: Any) -> Ask:
        self.wanted.append(
            (topic, {"partition": partition, "fetch_offset": offset, "partition_max_bytes": 10_000, **more})
        )
        return self

    def __call__(self, side: Side) -> FetchRequest:
        def named(topic: str) -> dict[str, Any]:
            return {"topic_id": side.topic_ids[topic]} if self.version >= FIRST_WITH_IDS else {"topic": topic}

        request = FetchRequest(**self.of_request)
        request.topics = [FetchTopic(**named(topic), partitions=[FetchPartition(**one)]) for topic, one in self.wanted]
        return request


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
