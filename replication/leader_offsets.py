"""Where the logs of leaders begin and end, asked by those who follow them (ListOffsets)."""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.client.channel import Channel
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.replication.following import Following

__all__ = ["EARLIEST", "LATEST", "ask_offsets"]

LATEST, EARLIEST = -1, -2


async def ask_offsets(
    channel: Channel, followings: Iterable[Following], timestamp: int, *, node_id: int, timeout_ms: int
) -> dict[Following, ListOffsetsPartitionResponse]:
    """For each that is answered. Unreachable if there is no answer."""
    asked: dict[tuple[str, int], Following] = {}
    topics: dict[str, ListOffsetsTopic] = {}
    for following in followings:
        name = following.partition.name
        asked[name] = following
        topic = topics.setdefault(name.topic, ListOffsetsTopic(name=name.topic))
        topic.partitions.append(
            ListOffsetsPartition(
                partition_index=name.partition, current_leader_epoch=following.leader_epoch, timestamp=timestamp
            )
        )
    request = ListOffsetsRequest(replica_id=node_id, topics=list(topics.values()), timeout_ms=timeout_ms)
    answer = await channel.ask(request, ListOffsetsResponse, timeout_ms=timeout_ms)
    return {
        asked[topic_answer.name, each.partition_index]: each
        for topic_answer in answer.topics
        for each in topic_answer.partitions
        if (topic_answer.name, each.partition_index) in asked
    }
