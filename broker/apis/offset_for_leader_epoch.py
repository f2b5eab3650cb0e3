"""OffsetForLeaderEpoch, versions 2 to 4: where the records of a leader's epoch end, so that who followed that leader
finds out what of it was given up. The epoch that is answered is the last one not above what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.offset_for_leader_epoch import (
    EpochEndOffset,
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, _call: Call, request: OffsetForLeaderEpochRequest) -> OffsetForLeaderEpochResponse:
    return OffsetForLeaderEpochResponse(
        topics=[
            OffsetForLeaderTopicResult(
                topic=topic.topic, partitions=[_answer(node, topic.topic, one) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    )


def _answer(node: Node, topic: str, one: OffsetForLeaderPartition) -> EpochEndOffset:
    answer = EpochEndOffset(partition=one.partition)
    try:
        partition = node.partition(topic, one.partition)
        partition.check_leader(one.current_leader_epoch)
    except KafkaError as error:
        answer.error_code = error.code
        return answer
    epoch, end_offset = partition.log.epochs.end_offset_for(one.leader_epoch, partition.log.end_offset)
    if end_offset >= 0:
        answer.leader_epoch, answer.end_offset = epoch, end_offset
    return answer
