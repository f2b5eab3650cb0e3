"""Metadata, versions 0 to 13: the brokers, and the topics that the client asks for, by name or (from 12 on) by id.

Version 0 asks for all topics with an empty list, later ones with null. A topic that is missing is created, if both the
client and auto.create.topics.enable want it. The answer does not wait for that, as Kafka's does not: who looks whether
a topic is gone that he has deleted would find the next of that name. The client asks again.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.authorized import CLUSTER_OPERATIONS, TOPIC_OPERATIONS
from barnabas.broker.auto_creation import create_soon
from barnabas.broker.call import Call
from barnabas.broker.topic_listing import Asked, TopicListing
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataResponse,
    MetadataResponseBroker,
    MetadataResponsePartition,
    MetadataResponseTopic,
)
from barnabas.protocol.schema import Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_NULL_FOR_ALL = 1
FIRST_WITH_ALL_REPLICAS = 1
"""Before, a replica that cannot be reached was left out, and that an error."""
FIRST_WITH_LISTENER_NOT_FOUND = 6
FIRST_BY_TOPIC_ID = 12
NO_ID = Uuid(bytes(16))


def handle(node: Node, call: Call, request: MetadataRequest) -> MetadataResponse:
    wanted, listing = request.topics, TopicListing(node, call)
    if wanted is None or (not wanted and call.version < FIRST_WITH_NULL_FOR_ALL):
        return _answer(node, call, request, [_describe(node, call, listing, topic) for topic in node.image.topics])
    if call.version < FIRST_BY_TOPIC_ID and any(one.name is None or one.topic_id != NO_ID for one in wanted):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Metadata v{call.version} asks for topics by name.")
    ids = dict.fromkeys(one.topic_id for one in wanted if one.topic_id != NO_ID)
    if ids:
        return _answer(node, call, request, [_describe_id(node, call, listing, topic_id) for topic_id in ids])
    names = list(dict.fromkeys(one.name or "" for one in wanted))
    topics = [_describe_name(node, call, listing, name) for name in names]
    if request.allow_auto_topic_creation and node.config.auto_create_topics_enable:
        create_soon(node, [name for name in names if name not in node.image.topics.by_name and not why_invalid(name)])
    return _answer(node, call, request, topics)


def _describe_id(node: Node, call: Call, listing: TopicListing, topic_id: Uuid) -> MetadataResponseTopic:
    topic = node.image.topics.by_id.get(topic_id)
    if topic is None:
        return MetadataResponseTopic(error_code=ErrorCode.UNKNOWN_TOPIC_ID, name=None, topic_id=topic_id)
    return _describe(node, call, listing, topic)


def _describe_name(node: Node, call: Call, listing: TopicListing, name: str) -> MetadataResponseTopic:
    topic = node.image.topics.by_name.get(name)
    if topic is not None:
        return _describe(node, call, listing, topic)
    code = ErrorCode.INVALID_TOPIC_EXCEPTION if why_invalid(name) else ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return MetadataResponseTopic(error_code=code, name=name, is_internal=name in node.internal_topics)


def _describe(node: Node, call: Call, listing: TopicListing, topic: Topic) -> MetadataResponseTopic:
    def describe() -> list[MetadataResponsePartition]:
        version = call.version
        one = _partition if version >= FIRST_WITH_LISTENER_NOT_FOUND else partial(_older_partition, version)
        return [one(listing, number, state) for number, state in sorted(topic.partitions.items())]

    asked = Asked(topic.id, call.connection.listener, call.version)
    return MetadataResponseTopic(
        name=topic.name,
        topic_id=topic.id,
        is_internal=topic.name in node.internal_topics,
        # Whoever stands around the handlers may change what they answer.
        partitions=describe()
        if node.around_handlers is not None
        else node.listings.get(node.image.next_offset, asked, describe),
    )


def _partition(listing: TopicListing, number: int, state: Partition) -> MetadataResponsePartition:
    seen = listing.seen(state)
    return MetadataResponsePartition(
        error_code=seen.error,
        partition_index=number,
        leader_id=seen.leader,
        leader_epoch=state.leader_epoch,
        replica_nodes=seen.replicas,
        isr_nodes=seen.in_sync,
        offline_replicas=seen.offline,
    )


def _older_partition(version: int, listing: TopicListing, number: int, state: Partition) -> MetadataResponsePartition:
    answer = _partition(listing, number, state)
    if answer.error_code == ErrorCode.LISTENER_NOT_FOUND:
        answer.error_code = ErrorCode.LEADER_NOT_AVAILABLE
    if version < FIRST_WITH_ALL_REPLICAS:
        answer.replica_nodes = listing.without_unreachable(state.replicas)
        answer.isr_nodes = listing.without_unreachable(state.isr)
        all_told = (len(answer.replica_nodes), len(answer.isr_nodes)) == (len(state.replicas), len(state.isr))
        if not answer.error_code and not all_told:
            answer.error_code = ErrorCode.REPLICA_NOT_AVAILABLE
    return answer


def _answer(node: Node, call: Call, request: MetadataRequest, topics: list[MetadataResponseTopic]) -> MetadataResponse:
    answer = MetadataResponse(
        brokers=[
            MetadataResponseBroker(node_id=broker_id, host=host, port=port, rack=rack)
            for broker_id, host, port, rack in node.brokers_for(call.connection)
        ],
        cluster_id=node.cluster_id,
        controller_id=node.node_id,
        topics=topics,
    )
    if request.include_topic_authorized_operations:
        for topic in topics:
            # Who asks for an id that there is not does not learn what he might do with it.
            if topic.error_code != ErrorCode.UNKNOWN_TOPIC_ID:
                topic.topic_authorized_operations = TOPIC_OPERATIONS
    if request.include_cluster_authorized_operations:
        answer.cluster_authorized_operations = CLUSTER_OPERATIONS
    return answer


def refused(_call: Call, request: MetadataRequest, error: KafkaError) -> MetadataResponse:
    return MetadataResponse(
        topics=[
            MetadataResponseTopic(error_code=error.code, name=one.name or "", topic_id=one.topic_id)
            for one in request.topics or ()
        ],
        error_code=error.code,
    )
