"""DeleteRecords, versions 0 to 2: a partition's log begins later from now on; -1 deletes everything up to the high
watermark. Compacted topics keep what they have, and so do the cluster's own.

The answer tells from where on all replicas have their records whose brokers are alive, and so waits for the followers,
at most as long as the request says.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.replication.watermark import Watermark

if TYPE_CHECKING:
    from barnabas.broker.node import Node

NO_LOW_WATERMARK = -1


class Behind(NamedTuple):
    """A partition of which some replicas begin too early yet."""

    low_watermark: Watermark
    offset: int
    answer: DeleteRecordsPartitionResult


def handle(
    node: Node, call: Call, request: DeleteRecordsRequest
) -> DeleteRecordsResponse | Coroutine[Any, Any, DeleteRecordsResponse]:
    # A partition that is named twice is one: the last word counts.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets |= {one.partition_index: one.offset for one in topic.partitions}
    behind: list[Behind] = []
    response = DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name,
                partitions=[_delete(node, call, name, number, offset, behind) for number, offset in offsets.items()],
            )
            for name, offsets in wanted.items()
            if offsets
        ]
    )
    return _when_all_have(response, behind, request.timeout_ms) if behind else response


def _delete(
    node: Node, call: Call, topic: str, number: int, offset: int, behind: list[Behind]
) -> DeleteRecordsPartitionResult:
    answer = DeleteRecordsPartitionResult(partition_index=number, low_watermark=NO_LOW_WATERMARK)
    try:
        if not node.has_partition(topic, number):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"there is no partition {topic}-{number}")
        if topic in node.internal_topics:
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"the records of {topic} are the cluster's own")
        partition = node.partition(topic, number)
        partition.check_leader()
        if partition.log.config.compact and not partition.log.config.delete:
            raise KafkaError(ErrorCode.POLICY_VIOLATION, f"{topic} is compacted, and keeps the last of each key")
        wanted = partition.delete_records(offset)
    except KafkaError as error:
        node.note_refusal(call, topic, number, error)
        answer.error_code = error.code
        return answer
    if partition.leading is None:
        answer.low_watermark = partition.log.start_offset
        return answer
    low_watermark = partition.leading.low_watermark
    answer.low_watermark = low_watermark.offset
    if low_watermark.offset < wanted:
        behind.append(Behind(low_watermark, wanted, answer))
    return answer


async def _when_all_have(
    response: DeleteRecordsResponse, behind: list[Behind], timeout_ms: int
) -> DeleteRecordsResponse:
    """Who is told that it took too long is told how it was at the beginning."""
    with trio.move_on_after(max(timeout_ms, 0) / 1000):
        for low_watermark, offset, answer in behind:
            try:
                await low_watermark.reaches(offset)
            except KafkaError as error:
                answer.error_code, answer.low_watermark = error.code, NO_LOW_WATERMARK
    for low_watermark, offset, answer in behind:
        if low_watermark.offset >= offset and not answer.error_code:
            answer.low_watermark = low_watermark.offset
        elif not answer.error_code:
            answer.error_code = ErrorCode.REQUEST_TIMED_OUT
    return response
