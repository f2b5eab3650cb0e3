"""DescribeQuorum, versions 0 to 2: who votes in the quorum, and how far each one has come.

It has one log, __cluster_metadata-0: whoever asks for any other gets an error for each partition, and for that one too.
The leader is always heard of and caught up. A node that is broker and controller reads as the voter that it is.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.messages.describe_quorum import Node as QuorumNode
from barnabas.protocol.schema import Uuid
from barnabas.storage.directory_names import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node


FIRST_WITH_NODES = 2


def handle(node: Node, call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, one.partition_index) for topic in request.topics for one in topic.partitions]
    if len(request.topics) != 1 or asked != [(METADATA_TOPIC, 0)]:
        unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return DescribeQuorumResponse(
            topics=[
                ResponseTopicData(
                    topic_name=topic.topic_name,
                    partitions=[
                        ResponsePartitionData(
                            partition_index=one.partition_index,
                            error_code=unknown,
                            error_message="There is no such log of a quorum.",
                        )
                        for one in topic.partitions
                    ],
                )
                for topic in request.topics
            ],
        )
    return DescribeQuorumResponse(
        topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[_partition(node, call)])],
        nodes=_nodes(node) if call.version >= FIRST_WITH_NODES else [],
    )


def _partition(node: Node, call: Call) -> ResponsePartitionData:
    journal, now_ms = node.journal, node.clock.now_ms()
    meta = node.directories.metadata.meta
    # Before kraft.version 1 voters had no directories.
    named = call.version >= FIRST_WITH_NODES and journal.kraft_version >= 1
    directory_id = meta.directory_id if meta and named else None
    return ResponsePartitionData(
        leader_id=node.node_id,
        leader_epoch=journal.epoch,
        high_watermark=node.controller.committed.offset,
        current_voters=[
            ReplicaState(
                replica_id=node.node_id,
                replica_directory_id=directory_id or Uuid.ZERO,
                log_end_offset=journal.end_offset,
                last_fetch_timestamp=now_ms,
                last_caught_up_timestamp=now_ms,
            )
        ],
    )


def _nodes(node: Node) -> list[QuorumNode]:
    if node.journal.quorum.voters is None:
        own = [
            Listener(name=each.listener, host=each.host or "localhost", port=each.port)
            for each in node.config.advertised_controller_listeners
        ]
        return [QuorumNode(node_id=node.node_id, listeners=own)]
    return [
        QuorumNode(
            node_id=voter.voter_id,
            listeners=[
                Listener(name=endpoint.name, host=endpoint.host, port=endpoint.port) for endpoint in voter.endpoints
            ],
        )
        for voter in node.journal.quorum.voters.voters
    ]


def refused(_call: Call, _request: DescribeQuorumRequest, error: KafkaError) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(error_code=error.code, error_message=error.message or None)
