"""DescribeProducers, version 0: who has produced to a partition with a sequence, and whose transaction is going on."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    PartitionResponse,
    ProducerState,
    TopicResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

NO_OFFSET = -1


def handle(node: Node, _call: Call, request: DescribeProducersRequest) -> DescribeProducersResponse:
    return DescribeProducersResponse(
        topics=[
            TopicResponse(
                name=topic.name, partitions=[_describe(node, topic.name, number) for number in topic.partition_indexes]
            )
            for topic in request.topics
        ]
    )


def _describe(node: Node, topic: str, number: int) -> PartitionResponse:
    answer = PartitionResponse(partition_index=number)
    why = why_invalid(topic)
    if why:
        answer.error_code, answer.error_message = ErrorCode.INVALID_TOPIC_EXCEPTION, why
    elif topic not in node.image.topics.by_name:
        answer.error_code = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        answer.error_message = f"There is no topic {topic}."
    else:
        try:
            answer.active_producers = _producers(node, topic, number)
        except KafkaError as error:
            # Kafka has no words for a partition.
            answer.error_code = error.code
    return answer


def _producers(node: Node, topic: str, number: int) -> list[ProducerState]:
    return [
        ProducerState(
            producer_id=producer.producer_id,
            producer_epoch=producer.epoch,
            last_sequence=producer.last_sequence,
            last_timestamp=producer.last_timestamp,
            coordinator_epoch=producer.coordinator_epoch,
            current_txn_start_offset=(
                NO_OFFSET if producer.transaction_first_offset is None else producer.transaction_first_offset
            ),
        )
        for producer in node.partition(topic, number).log.producers.producers.values()
    ]
