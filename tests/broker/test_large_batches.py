"""Batches of many records, where each record has to be looked at: they take their time, and nobody else's."""

from __future__ import annotations

import struct

import crc32c
import pytest

from barnabas.broker.producing import AT_ONCE, AT_ONCE_BYTES, MOST_REPACKED
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batch_rules import MOST_NAMED
from barnabas.protocol.compression import Compression, compress
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record
from tests.kafka.client import RawClient
from tests.readable import readable

from .asking import create
from .running import RunningNode

NOW = 1_700_000_000_000
MANY = 4 * AT_ONCE


def bomb(count: int, *, said: int | None = None) -> bytes:
    """So many records without key and value, in a few kilobytes; `said` is how many its header speaks of."""
    packed = compress(Compression.ZSTD, b"\x0c\x00\x00\x00\x01\x01\x00" * count)
    said = count if said is None else said
    checked = struct.pack(">hiqqqhii", Compression.ZSTD, said - 1, NOW, NOW, -1, -1, -1, said) + packed
    return struct.pack(">qiibI", 0, len(checked) + 9, -1, 2, crc32c.crc32c(checked)) + checked


def keyed(count: int, **more: int) -> bytes:
    records = [Record(key=b"%d" % number, value=b"v", timestamp=NOW) for number in range(count)]
    return build_batch(records, compression=Compression.LZ4, **more)  # type: ignore[arg-type]


def request_of(*batches: bytes, acks: int = -1) -> ProduceRequest:
    """One for each partition."""
    parts = [PartitionProduceData(index=number, records=batch) for number, batch in enumerate(batches)]
    return ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=[TopicProduceData("kept", partition_data=parts)])


def produce(client: RawClient, *batches: bytes) -> list[PartitionProduceResponse]:
    return client.ask(request_of(*batches), 12, ProduceResponse).responses[0].partition_responses


def end_offset(client: RawClient) -> int:
    topic = ListOffsetsTopic(name="kept", partitions=[ListOffsetsPartition(partition_index=0, timestamp=-1)])
    return client.ask(ListOffsetsRequest(topics=[topic]), 7, ListOffsetsResponse).topics[0].partitions[0].offset


@pytest.fixture
def compacted(client: RawClient) -> RawClient:
    create(client, "kept", 3, cleanup_policy="compact")
    return client


def test_they_are_appended_as_others_are(compacted: RawClient) -> None:
    (first,) = produce(compacted, keyed(MANY, producer_id=7, producer_epoch=0, base_sequence=0))
    (again,) = produce(compacted, keyed(MANY, producer_id=7, producer_epoch=0, base_sequence=0))
    (second,) = produce(compacted, keyed(MANY, producer_id=7, producer_epoch=0, base_sequence=MANY))
    answers = [(one.error_code, one.base_offset) for one in (first, again, second)]
    assert answers == [(0, 0), (0, 0), (0, MANY)]


def test_each_partition_gets_its_own_answer(compacted: RawClient) -> None:
    answers = produce(compacted, keyed(2), bomb(MANY), keyed(MANY))
    assert [one.index for one in answers] == [0, 1, 2]
    assert [one.error_code for one in answers] == [0, ErrorCode.INVALID_RECORD, 0]
    assert [one.batch_index for one in answers[1].record_errors] == list(range(MANY))


def test_without_acks_they_are_there_and_the_connection_ends_for_what_is_refused(
    compacted: RawClient, node: RunningNode
) -> None:
    compacted._socket.sendall(_frame(request_of(keyed(MANY), acks=0)))
    assert end_offset(compacted) == MANY
    compacted._socket.sendall(_frame(request_of(bomb(MANY), acks=0)))
    with pytest.raises(ConnectionError):
        end_offset(compacted)
    with node.client() as other:
        assert end_offset(other) == MANY


def _frame(request: ProduceRequest) -> bytes:
    from .attackers import frame

    return frame(request, 12)


def test_they_are_packed_as_the_topic_wants(client: RawClient) -> None:
    create(client, "kept", compression_type="gzip")
    (answer,) = produce(client, keyed(MANY))
    assert (answer.error_code, end_offset(client)) == (0, MANY)
    (answer,) = produce(client, bomb(MOST_REPACKED + 1))
    assert answer.error_code == ErrorCode.MESSAGE_TOO_LARGE


def test_what_unpacks_to_much_more_than_it_says_is_refused(compacted: RawClient) -> None:
    (answer,) = produce(compacted, bomb(AT_ONCE_BYTES, said=1))
    assert answer.error_code == ErrorCode.INVALID_RECORD
    (answer,) = produce(compacted, bomb(100, said=200))
    assert answer.error_code == ErrorCode.INVALID_RECORD


@pytest.mark.slow
def test_others_are_served_meanwhile(compacted: RawClient, node: RunningNode) -> None:
    batch = bomb(40 * MOST_NAMED)
    assert len(batch) < 10_000
    with node.client() as other:
        compacted.send(request_of(batch), 12)
        for _ in range(20):
            assert end_offset(other) == 0
        assert not readable(compacted._socket, within_s=0), "so many records cannot have been looked at"
        (answer,) = compacted.receive(ProduceResponse).responses[0].partition_responses
    assert answer.error_code == ErrorCode.INVALID_RECORD
    assert len(answer.record_errors) == MOST_NAMED
    assert f"{40 * MOST_NAMED} of {40 * MOST_NAMED} records" in (answer.error_message or "")
