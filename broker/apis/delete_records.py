"""DeleteRecords, versions 0 to 2: a partition's log begins later from now on; -1 deletes everything up to the high
watermark. Compacted topics keep what they have, and so do the cluster's own.

The answer tells where the log begins now, on all replicas, and so waits for the followers.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

NO_LOW_WATERMARK = -1


def handle(node: Node, call: Call, request: DeleteRecordsRequest) -> DeleteRecordsResponse:
    # A partition that is named twice is one: the last word counts.
    wanted: dict[str, dict[int, int]] = {}
    for topic in request.topics:
        offsets = wanted.setdefault(topic.name, {})
        offsets |= {one.partition_index: one.offset for one in topic.partitions}
    return DeleteRecordsResponse(
        topics=[
            DeleteRecordsTopicResult(
                name=name, partitions=[_delete(node, call, name, number, offset) for number, offset in offsets.items()]
            )
            for name, offsets in wanted.items()
            if offsets
        ]
    )


def _delete(node: Node, call: Call, topic: str, number: int, offset: int) -> DeleteRecordsPartitionResult:
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
        answer.low_watermark = partition.delete_records(offset)
    except KafkaError as error:
        node.note_refusal(call, topic, number, error)
        answer.error_code = error.code
    return answer
