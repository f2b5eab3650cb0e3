"""Records that are deleted are gone, for everybody and after a restart too."""

from __future__ import annotations

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from tests.kafka.client import RawClient

from .asking import create, produce
from .running import RunningNode


def delete(client: RawClient, topic: str, offset: int) -> tuple[int, int]:
    partition = DeleteRecordsPartition(partition_index=0, offset=offset)
    request = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=[partition])], timeout_ms=1_000)
    (answer,) = client.ask(request, 2, DeleteRecordsResponse).topics[0].partitions
    return answer.error_code, answer.low_watermark


def earliest(client: RawClient, topic: str) -> int:
    partition = ListOffsetsPartition(partition_index=0, timestamp=-2)
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=[partition])])
    (answer,) = client.ask(request, 7, ListOffsetsResponse).topics[0].partitions
    return answer.offset


@pytest.mark.parametrize(("offset", "start"), [(2, 2), (0, 0), (5, 5), (-1, 5)])
def test_the_log_begins_later(client: RawClient, offset: int, start: int) -> None:
    create(client, "orders")
    produce(client, "orders", b"0", b"1", b"2", b"3", b"4")
    assert delete(client, "orders", offset) == (0, start)
    assert earliest(client, "orders") == start


def test_it_never_begins_earlier_again(client: RawClient) -> None:
    create(client, "orders")
    produce(client, "orders", b"0", b"1", b"2")
    assert delete(client, "orders", 2) == (0, 2)
    assert delete(client, "orders", 1) == (0, 2)
    assert earliest(client, "orders") == 2


def test_it_begins_there_after_a_restart(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders")
        produce(client, "orders", b"0", b"1", b"2")
        assert delete(client, "orders", 2) == (0, 2)
    node.restart()
    with node.client() as client:
        assert earliest(client, "orders") == 2


def test_what_cannot_be_deleted(client: RawClient) -> None:
    create(client, "orders")
    create(client, "compacted", cleanup_policy="compact")
    create(client, "both", cleanup_policy="compact,delete")
    produce(client, "orders", b"0")
    assert delete(client, "orders", 2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, "orders", -2) == (ErrorCode.OFFSET_OUT_OF_RANGE, -1)
    assert delete(client, "missing", 0) == (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, -1)
    assert delete(client, "compacted", 0) == (ErrorCode.POLICY_VIOLATION, -1)
    assert delete(client, "both", 0) == (0, 0)
