"""DescribeQuorum, versions 0 to 2: who votes for the metadata, who leads, and how far each has come.

A broker passes it on to its controller, which here is the same process; the answer is the same at both doors. Only the
partition of the metadata can be asked for, and alone: of anything else each partition is answered with an error.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.cluster.observers import NEVER
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Listener,
    ReplicaState,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.messages.describe_quorum import (
    Node as QuorumNode,
)
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_FIRST_WITH_NODES = 2


def handle(node: Node, call: Call, request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    asked = [(topic.topic_name, each.partition_index) for topic in request.topics for each in topic.partitions]
    if asked != [(METADATA_TOPIC, 0)] or len(request.topics) != 1:
        return _unknown(request)
    partition = ResponsePartitionData(
        partition_index=0,
        leader_id=node.node_id,
        leader_epoch=node.journal.epoch,
        high_watermark=node.controller.committed.offset,
        current_voters=[_ourselves(node, call.version)],
        observers=_observers(node, call.version),
    )
    answer = DescribeQuorumResponse(topics=[ResponseTopicData(topic_name=METADATA_TOPIC, partitions=[partition])])
    if call.version >= _FIRST_WITH_NODES:
        answer.nodes = [QuorumNode(node_id=node.node_id, listeners=_listeners(node))]
    return answer


def _ourselves(node: Node, version: int) -> ReplicaState:
    now_ms = node.clock.now_ms()
    state = ReplicaState(
        replica_id=node.node_id,
        log_end_offset=node.journal.end_offset,
        last_fetch_timestamp=now_ms,
        last_caught_up_timestamp=now_ms,
    )
    if version >= _FIRST_WITH_NODES:
        state.replica_directory_id = node.directory_id
    return state


def _observers(node: Node, version: int) -> list[ReplicaState]:
    observers = node.metadata_leader.observers
    steady_ms = node.clock.steady.now_ms()
    observers.forget_silent(steady_ms)
    ahead_ms = node.clock.now_ms() - steady_ms
    states = []
    for (node_id, directory_id), observer in sorted(observers.by_key.items()):
        state = ReplicaState(
            replica_id=node_id,
            log_end_offset=observer.end_offset,
            last_fetch_timestamp=observer.fetch_ms + ahead_ms,
            last_caught_up_timestamp=NEVER if observer.caught_up_ms == NEVER else observer.caught_up_ms + ahead_ms,
        )
        if version >= _FIRST_WITH_NODES:
            state.replica_directory_id = directory_id
        states.append(state)
    return states


def _listeners(node: Node) -> list[Listener]:
    voters = node.journal.quorum.voters
    if voters is None:
        static = node.config.controller_quorum_voters.get(node.node_id)
        names = [listener.endpoint.listener for listener in node.controller_listeners]
        return [] if static is None else [Listener(name=name, host=static.host, port=static.port) for name in names[:1]]
    return [Listener(name=each.name, host=each.host, port=each.port) for each in voters.voters[0].endpoints]


def _unknown(request: DescribeQuorumRequest) -> DescribeQuorumResponse:
    return DescribeQuorumResponse(
        topics=[
            ResponseTopicData(
                topic_name=topic.topic_name,
                partitions=[
                    ResponsePartitionData(
                        partition_index=each.partition_index,
                        error_code=ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
                        error_message=f"No quorum decides about {topic.topic_name}-{each.partition_index}.",
                    )
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )
