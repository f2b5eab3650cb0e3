"""ListOffsets, versions 1 to 11: offsets by time.

-1 latest, -2 earliest, -3 the record with the highest timestamp, -4 the earliest that is on this disk, -5 the latest
that is in remote storage, -6 the earliest that is not uploaded yet. Without remote storage -4 is -2 and there is no -5
and -6. A consumer sees up to the high watermark, or up to the last stable offset if it reads what is committed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.replication.partition import Partition
from barnabas.storage.log import FoundOffset

if TYPE_CHECKING:
    from barnabas.broker.node import Node

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
FIRST_VERSION_WITH = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
FIRST_WITH_LEADER_EPOCH = 4
READ_COMMITTED = 1
NO_TIMESTAMP, NO_OFFSET = -1, -1
CONSUMER = -1


def handle(node: Node, call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    twice = _named_twice(request)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[_answer(node, call, request, topic.name, one, twice) for one in topic.partitions],
            )
            for topic in request.topics
        ]
    )


def _named_twice(request: ListOffsetsRequest) -> set[tuple[str, int]]:
    seen: set[tuple[str, int]] = set()
    twice: set[tuple[str, int]] = set()
    for topic in request.topics:
        for one in topic.partitions:
            key = (topic.name, one.partition_index)
            (twice if key in seen else seen).add(key)
    return twice


def _answer(
    node: Node,
    call: Call,
    request: ListOffsetsRequest,
    topic: str,
    one: ListOffsetsPartition,
    twice: set[tuple[str, int]],
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=one.partition_index)
    try:
        if (topic, one.partition_index) in twice:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{topic}-{one.partition_index} is asked for twice")
        if call.version < FIRST_VERSION_WITH.get(one.timestamp, 0) or one.timestamp < EARLIEST_PENDING_UPLOAD:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"there is no timestamp {one.timestamp}")
        partition = node.partition(topic, one.partition_index)
        partition.check_leader(one.current_leader_epoch)
        found = _find(partition, request, one.timestamp)
    except KafkaError as error:
        answer.error_code = error.code
        return answer
    if found is not None:
        answer.timestamp, answer.offset = found.timestamp, found.offset
        if call.version >= FIRST_WITH_LEADER_EPOCH:
            answer.leader_epoch = found.leader_epoch
    return answer


def _find(partition: Partition, request: ListOffsetsRequest, timestamp: int) -> FoundOffset | None:
    log = partition.log
    end = log.end_offset
    if request.replica_id == CONSUMER:
        stable = request.isolation_level == READ_COMMITTED
        end = partition.last_stable.offset if stable else partition.high_watermark.offset
    if timestamp == LATEST:
        return FoundOffset(NO_TIMESTAMP, end, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.epochs.epoch_for_offset(log.start_offset)
        return FoundOffset(NO_TIMESTAMP, log.start_offset, -1 if epoch is None else epoch)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return FoundOffset(NO_TIMESTAMP, NO_OFFSET, -1)
    found = log.find_latest_timestamp() if timestamp == MAX_TIMESTAMP else log.find_timestamp(timestamp)
    return found if found is not None and found.offset < end else None
