"""DescribeTopicPartitions, version 0: topics and their partitions, sorted by name, a page at a time.

No topics are all topics. A cursor says where the page before ended: topics whose names come before its own are left
out, and its own begins at its partition. A page has as many partitions as client and max.request.partition.size.limit
allow, and at least one; if there is more, it ends with the next cursor. Topics that are not there take no room.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.authorized import TOPIC_OPERATIONS
from barnabas.broker.call import Call
from barnabas.broker.topic_listing import TopicListing, java_name_order
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_topic_partitions import (
    Cursor,
    DescribeTopicPartitionsRequest,
    DescribeTopicPartitionsResponse,
    DescribeTopicPartitionsResponsePartition,
    DescribeTopicPartitionsResponseTopic,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DescribeTopicPartitionsRequest) -> DescribeTopicPartitionsResponse:
    names = _wanted(node, request)
    limit = max(min(node.config.max_request_partition_size_limit, request.response_partition_limit), 1)
    answer = DescribeTopicPartitionsResponse()
    listing = TopicListing(node, call)
    for name in names:
        if limit == 0:
            answer.next_cursor = Cursor(topic_name=name, partition_index=0)
            break
        topic = node.image.topics.by_name.get(name)
        if topic is None:
            if request.topics:
                answer.topics.append(_missing(node, name))
            continue
        cursor = request.cursor
        first = cursor.partition_index if cursor is not None and cursor.topic_name == name else 0
        end = min(len(topic.partitions), first + limit)
        described = _describe(node, listing, topic, range(first, end))
        answer.topics.append(described)
        if end < len(topic.partitions):
            answer.next_cursor = Cursor(topic_name=name, partition_index=end)
            break
        limit -= len(described.partitions)
    return answer


def _wanted(node: Node, request: DescribeTopicPartitionsRequest) -> list[str]:
    names = {topic.name for topic in request.topics} or set(node.image.topics.by_name)
    cursor = request.cursor
    if cursor is not None:
        first = java_name_order(cursor.topic_name)
        names = {name for name in names if java_name_order(name) >= first}
        if request.topics and cursor.topic_name not in names:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"The cursor's topic {cursor.topic_name} is not asked for.")
        if cursor.partition_index < 0:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no partition {cursor.partition_index}.")
    return sorted(names, key=java_name_order)


def _missing(node: Node, name: str) -> DescribeTopicPartitionsResponseTopic:
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if why_invalid(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return DescribeTopicPartitionsResponseTopic(
        error_code=code,
        name=name,
        is_internal=name in node.internal_topics,
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def _describe(node: Node, listing: TopicListing, topic: Topic, numbers: range) -> DescribeTopicPartitionsResponseTopic:
    return DescribeTopicPartitionsResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in node.internal_topics,
        partitions=[
            DescribeTopicPartitionsResponsePartition(
                partition_index=number,
                leader_id=seen.leader,
                leader_epoch=state.leader_epoch,
                replica_nodes=seen.replicas,
                isr_nodes=seen.in_sync,
                eligible_leader_replicas=list(state.eligible_leader_replicas),
                last_known_elr=list(state.last_known_elr),
                offline_replicas=seen.offline,
            )
            for number in numbers
            if (state := topic.partitions.get(number)) is not None and (seen := listing.seen(state))
        ],
        topic_authorized_operations=TOPIC_OPERATIONS,
    )


def refused(_call: Call, request: DescribeTopicPartitionsRequest, error: KafkaError) -> DescribeTopicPartitionsResponse:
    return DescribeTopicPartitionsResponse(
        topics=[
            DescribeTopicPartitionsResponseTopic(error_code=error.code, name=topic.name) for topic in request.topics
        ]
    )
