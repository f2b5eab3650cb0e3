"""Fetch, versions 4 to 18, of a controller: the metadata log, for those who follow it.

Topics are known by their ids only, so that before version 13 nobody can ask. Whoever has what we have not is told where
the two logs part, and whoever lacks what is in our log no more of a snapshot. Who has everything waits for more, at
most max.wait; but if he does not know yet that it is committed, which from version 18 on he says, he is told at once.
"""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.call import Call
from barnabas.broker.fetch_reader import replica_of
from barnabas.broker.metadata_log import METADATA_TOPIC_ID
from barnabas.coordination.cluster.log_position import Diverging
from barnabas.coordination.cluster.observers import ObserverKey
from barnabas.coordination.cluster.snapshot_file import SnapshotId as KnownSnapshot
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import (
    EpochEndOffset,
    FetchableTopicResponse,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionData,
    SnapshotId,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

_FIRST_WITH_ENDPOINTS = 17


def handle(node: Node, call: Call, request: FetchRequest) -> FetchResponse | Coroutine[Any, Any, FetchResponse]:
    if not node.metadata_leader.is_of_this_cluster(request.cluster_id):
        return FetchResponse(error_code=ErrorCode.INCONSISTENT_CLUSTER_ID)
    asked = _partition(request)
    if asked is None:
        return FetchResponse(error_code=ErrorCode.INVALID_REQUEST)
    answer = _read(node, request, asked)
    if _is_news(answer, asked) or request.max_wait_ms == 0:
        return _response(node, call, answer)
    return _wait(node, call, request, asked)


def refused(_call: Call, _request: FetchRequest, error: KafkaError) -> FetchResponse:
    return FetchResponse(error_code=error.code)


async def _wait(node: Node, call: Call, request: FetchRequest, asked: FetchPartition) -> FetchResponse:
    committed = trio.Event()
    node.metadata_leader.high_watermark.watch(committed)
    with trio.move_on_after(request.max_wait_ms / 1000) as scope:
        call.connection.on_gone = scope.cancel
        await committed.wait()
    call.connection.on_gone = None
    node.metadata_leader.high_watermark.unwatch(committed)
    return _response(node, call, _read(node, request, asked))


def _partition(request: FetchRequest) -> FetchPartition | None:
    if len(request.topics) != 1 or request.topics[0].topic_id != METADATA_TOPIC_ID:
        return None
    partitions = request.topics[0].partitions
    return partitions[0] if len(partitions) == 1 and partitions[0].partition == 0 else None


def _read(node: Node, request: FetchRequest, asked: FetchPartition) -> PartitionData:
    leader = node.metadata_leader
    replica = replica_of(request)
    answer = PartitionData(
        partition_index=0,
        high_watermark=-1,
        log_start_offset=leader.start_offset,
        current_leader=LeaderIdAndEpoch(leader.id, leader.epoch),
        records=b"",
        error_code=_refusal(node, request, asked, replica),
    )
    if answer.error_code:
        return answer
    position = leader.locate(asked.fetch_offset, asked.last_fetched_epoch)
    if isinstance(position, Diverging):
        answer.diverging_epoch = EpochEndOffset(position.epoch, position.end_offset)
    elif isinstance(position, KnownSnapshot):
        answer.snapshot_id = SnapshotId(position.end_offset, position.epoch)
    else:
        answer.records = leader.read(asked.fetch_offset, request.max_bytes)
        leader.note_fetch(ObserverKey(replica, asked.replica_directory_id), asked.fetch_offset)
    answer.high_watermark = leader.high_watermark.offset
    return answer


def _refusal(node: Node, request: FetchRequest, asked: FetchPartition, replica: int) -> ErrorCode:
    if request.max_wait_ms < 0 or asked.fetch_offset < 0:
        return ErrorCode.INVALID_REQUEST
    if not 0 <= asked.last_fetched_epoch <= asked.current_leader_epoch:
        return ErrorCode.INVALID_REQUEST
    fenced = node.metadata_leader.check_epoch(asked.current_leader_epoch)
    if not fenced and replica == node.node_id:
        # Somebody has our id, or we follow ourselves.
        return ErrorCode.UNKNOWN_SERVER_ERROR
    return fenced


def _is_news(answer: PartitionData, asked: FetchPartition) -> bool:
    return bool(
        answer.error_code
        or answer.records
        or answer.diverging_epoch
        or answer.snapshot_id
        or asked.high_watermark < answer.high_watermark
    )


def _response(node: Node, call: Call, answer: PartitionData) -> FetchResponse:
    response = FetchResponse(responses=[FetchableTopicResponse(topic_id=METADATA_TOPIC_ID, partitions=[answer])])
    if call.version >= _FIRST_WITH_ENDPOINTS:
        response.node_endpoints = node.metadata_leader.endpoints(NodeEndpoint, call.connection.listener)
    return response
