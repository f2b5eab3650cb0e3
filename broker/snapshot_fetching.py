"""A snapshot of the metadata, fetched piece by piece from the controllers' leader."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.client.channel import Channel, Unreachable
from barnabas.coordination.cluster.snapshot_file import SnapshotId
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch_snapshot import (
    FetchSnapshotRequest,
    FetchSnapshotResponse,
    PartitionSnapshot,
    TopicSnapshot,
)
from barnabas.protocol.messages.fetch_snapshot import SnapshotId as AskedId
from barnabas.storage.log_directory import METADATA_TOPIC

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["fetch_snapshot"]


async def fetch_snapshot(
    node: Node, channel: Channel, snapshot_id: SnapshotId, leader_epoch: int, timeout_ms: int
) -> bytes:
    """Unreachable if the leader does not give it whole."""
    pieces = bytearray()
    while True:
        partition = PartitionSnapshot(
            partition=0,
            current_leader_epoch=leader_epoch,
            snapshot_id=AskedId(end_offset=snapshot_id.end_offset, epoch=snapshot_id.epoch),
            position=len(pieces),
            replica_directory_id=node.directory_id,
        )
        request = FetchSnapshotRequest(
            cluster_id=node.cluster_id,
            replica_id=node.node_id,
            max_bytes=node.config.controller_quorum_fetch_snapshot_max_bytes,
            topics=[TopicSnapshot(name=METADATA_TOPIC, partitions=[partition])],
        )
        answer = await channel.ask(request, FetchSnapshotResponse, timeout_ms=timeout_ms)
        piece = answer.topics[0].partitions[0] if answer.topics and answer.topics[0].partitions else None
        code = answer.error_code or (piece.error_code if piece is not None else 0)
        if code or piece is None:
            raise Unreachable(f"{channel.name} does not give {snapshot_id.file_name}: {ErrorCode(code).name}")
        data = bytes(piece.unaligned_records or b"")  # type: ignore[call-overload] # it has just been read
        if piece.position != len(pieces) or not data:
            raise Unreachable(f"{channel.name} gives another piece of {snapshot_id.file_name} than it was asked for")
        pieces += data
        if len(pieces) >= piece.size:
            return bytes(pieces)
