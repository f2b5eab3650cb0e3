"""ListOffsets, versions 1 to 11: offsets by time.

-1 latest, -2 earliest, -3 the record with the highest timestamp, -4 the earliest that is on this disk, -5 the latest
that is in remote storage, -6 the earliest that is not uploaded yet. Without remote storage -4 is -2 and there is no -5
and -6. A consumer sees up to the high watermark, or up to the last stable offset if it reads what is committed.

A new leader does not know at once what counted before it, and until it does, a consumer is told to ask again, where he
would be told of less than there is: OFFSET_NOT_AVAILABLE, which clients know since version 5.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.isolation import READ_COMMITTED, check_isolation
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.replication.partition import Partition
from barnabas.storage.log_reading import FoundOffset

if TYPE_CHECKING:
    from barnabas.broker.node import Node

LATEST, EARLIEST, MAX_TIMESTAMP, EARLIEST_LOCAL, LATEST_TIERED, EARLIEST_PENDING_UPLOAD = range(-1, -7, -1)
FIRST_VERSION_WITH = {MAX_TIMESTAMP: 7, EARLIEST_LOCAL: 8, LATEST_TIERED: 9, EARLIEST_PENDING_UPLOAD: 11}
FIRST_WITH_LEADER_EPOCH = 4
FIRST_WITH_NOT_AVAILABLE = 5
NO_TIMESTAMP, NO_OFFSET = -1, -1
CONSUMER = -1
DEBUGGING = -2
"""Who says so may ask a follower, too."""


def handle(node: Node, call: Call, request: ListOffsetsRequest) -> ListOffsetsResponse:
    check_isolation(request.isolation_level)
    # Each topic stands once in the answer, and each partition once in its topic.
    topics: dict[str, dict[int, ListOffsetsPartitionResponse]] = {}
    for topic in request.topics:
        answers = topics.setdefault(topic.name, {})
        for one in topic.partitions:
            if one.partition_index in answers:
                answers[one.partition_index] = _refused(one, ErrorCode.INVALID_REQUEST)
            else:
                answers[one.partition_index] = _answer(node, call, request, topic.name, one)
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(name=name, partitions=list(answers.values()))
            for name, answers in topics.items()
            if answers
        ]
    )


def refused(_call: Call, request: ListOffsetsRequest, error: KafkaError) -> ListOffsetsResponse:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name, partitions=[_refused(one, error.code) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _refused(one: ListOffsetsPartition, code: ErrorCode) -> ListOffsetsPartitionResponse:
    return ListOffsetsPartitionResponse(partition_index=one.partition_index, error_code=code)


def _answer(
    node: Node,
    call: Call,
    request: ListOffsetsRequest,
    topic: str,
    one: ListOffsetsPartition,
) -> ListOffsetsPartitionResponse:
    answer = ListOffsetsPartitionResponse(partition_index=one.partition_index)
    try:
        if call.version < FIRST_VERSION_WITH.get(one.timestamp, 0) or one.timestamp < EARLIEST_PENDING_UPLOAD:
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"there is no timestamp {one.timestamp}")
        partition = node.partition(topic, one.partition_index)
        if request.replica_id == DEBUGGING:
            partition.check_readable(one.current_leader_epoch)
        else:
            partition.check_leader(one.current_leader_epoch)
        found = _find(partition, request, one.timestamp)
    except KafkaError as error:
        if error.code == ErrorCode.OFFSET_NOT_AVAILABLE and call.version < FIRST_WITH_NOT_AVAILABLE:
            return _refused(one, ErrorCode.LEADER_NOT_AVAILABLE)
        return _refused(one, error.code)
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
    knows_less = request.replica_id == CONSUMER and partition.is_unsettled
    if timestamp == LATEST and not knows_less:
        return FoundOffset(NO_TIMESTAMP, end, partition.leader_epoch)
    if timestamp in (EARLIEST, EARLIEST_LOCAL):
        epoch = log.epochs.epoch_for_offset(log.start_offset)
        return FoundOffset(NO_TIMESTAMP, log.start_offset, -1 if epoch is None else epoch)
    if timestamp in (LATEST_TIERED, EARLIEST_PENDING_UPLOAD):
        return FoundOffset(NO_TIMESTAMP, NO_OFFSET, -1)
    found = None
    if timestamp != LATEST:
        found = log.find_latest_timestamp() if timestamp == MAX_TIMESTAMP else log.find_timestamp(timestamp)
    if found is not None and found.offset < end:
        return found
    if knows_less:
        raise KafkaError(
            ErrorCode.OFFSET_NOT_AVAILABLE,
            f"{partition.name} counts up to offset {end}, and its leader began at {partition.epoch_start}",
        )
    return None
