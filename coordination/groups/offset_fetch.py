"""OffsetFetch 1-10: where a group's consumers were.

What is not obvious:
- Up to version 7 a request is about one group and its answer is flat; from 8 on about many, which may be kept by
  different partitions of __consumer_offsets: the broker asks for each of `requested_groups` where it is kept, and puts
  the answers together with `offset_fetch_response`. From version 2 on no topics means all of them.
- Nothing committed is offset -1, no error; nor is a group that does not exist an error.
- From version 10 on topics travel as ids, which the broker translates (`broker_checks`); offsets that were committed
  for a topic of another id are not given out.
- With require_stable, a partition with an open transaction's offset is UNSTABLE_OFFSET_COMMIT, to be asked again.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordination.groups.offsets import CommittedOffset
from barnabas.coordination.groups.other_groups import GroupType, OtherGroup
from barnabas.coordination.groups.shard import GroupShard
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopic,
    OffsetFetchResponseTopics,
)
from barnabas.protocol.schema import Uuid

__all__ = ["fetch_offsets", "group_error", "offset_fetch_response", "requested_groups"]

_MANY_GROUPS_FROM = 8
_GROUP_ERRORS_FROM = 2
_INVALID_OFFSET = -1


def requested_groups(request: OffsetFetchRequest, version: int) -> list[OffsetFetchRequestGroup]:
    if version >= _MANY_GROUPS_FROM:
        return request.groups
    topics = None
    if request.topics is not None:
        topics = [
            OffsetFetchRequestTopics(name=topic.name, partition_indexes=topic.partition_indexes)
            for topic in request.topics
        ]
    return [OffsetFetchRequestGroup(group_id=request.group_id, topics=topics)]


def offset_fetch_response(groups: list[OffsetFetchResponseGroup], version: int) -> OffsetFetchResponse:
    if version >= _MANY_GROUPS_FROM:
        return OffsetFetchResponse(groups=groups)
    (group,) = groups
    topics = [
        OffsetFetchResponseTopic(
            name=topic.name,
            partitions=[
                OffsetFetchResponsePartition(
                    partition_index=each.partition_index,
                    committed_offset=each.committed_offset,
                    committed_leader_epoch=each.committed_leader_epoch,
                    metadata=each.metadata,
                    error_code=each.error_code,
                )
                for each in topic.partitions
            ],
        )
        for topic in group.topics
    ]
    return OffsetFetchResponse(topics=topics, error_code=group.error_code)


def group_error(group: OffsetFetchRequestGroup, code: ErrorCode, version: int) -> OffsetFetchResponseGroup:
    """Version 1 has no place for it but the partitions."""
    if version >= _GROUP_ERRORS_FROM:
        return OffsetFetchResponseGroup(group_id=group.group_id, error_code=code)
    topics = [
        OffsetFetchResponseTopics(
            name=topic.name, partitions=[_nothing(index, code) for index in topic.partition_indexes]
        )
        for topic in group.topics or []
    ]
    return OffsetFetchResponseGroup(group_id=group.group_id, topics=topics)


def fetch_offsets(
    shard: GroupShard, asked: OffsetFetchRequestGroup, version: int, *, require_stable: bool
) -> OffsetFetchResponseGroup:
    """A group's offsets. It changes nothing, but what it tells may not be committed yet: as after every decision, the
    broker waits for what the shard's log holds before it answers."""
    group = shard.groups.get(asked.group_id)
    refused = _refused(group, asked) if isinstance(group, OtherGroup) else None
    if refused is not None:
        return group_error(asked, refused, version)
    unknown = group is None or (isinstance(group, OtherGroup) and group.type is GroupType.SHARE)
    known = {} if unknown else shard.offsets.committed.of_group(asked.group_id)

    def described(topic: str, topic_id: Uuid, indexes: Iterable[int]) -> OffsetFetchResponseTopics:
        offsets = known.get(topic, {})
        partitions = []
        for index in indexes:
            unstable = require_stable and shard.offsets.is_pending(asked.group_id, topic, index)
            if unstable and not unknown:
                partitions.append(_nothing(index, ErrorCode.UNSTABLE_OFFSET_COMMIT))
            else:
                partitions.append(_partition(index, offsets.get(index), topic_id))
        return OffsetFetchResponseTopics(name=topic, topic_id=topic_id, partitions=partitions)

    if asked.topics is None:
        topics = [described(topic, Uuid.ZERO, offsets) for topic, offsets in known.items()]
    else:
        topics = [described(topic.name, topic.topic_id, topic.partition_indexes) for topic in asked.topics]
    return OffsetFetchResponseGroup(group_id=asked.group_id, topics=topics)


def _refused(group: OtherGroup, asked: OffsetFetchRequestGroup) -> ErrorCode | None:
    """Members of a new protocol's group are not served here; who is no member may read."""
    if group.type is GroupType.SHARE or (asked.member_id is None and asked.member_epoch < 0):
        return None
    known = asked.member_id in group.member_ids
    return ErrorCode.STALE_MEMBER_EPOCH if known else ErrorCode.UNKNOWN_MEMBER_ID


def _partition(index: int, offset: CommittedOffset | None, topic_id: Uuid) -> OffsetFetchResponsePartitions:
    if offset is None or (Uuid.ZERO not in (offset.topic_id, topic_id) and offset.topic_id != topic_id):
        return _nothing(index, ErrorCode.NONE)
    return OffsetFetchResponsePartitions(
        partition_index=index,
        committed_offset=offset.offset,
        committed_leader_epoch=offset.leader_epoch,
        metadata=offset.metadata,
    )


def _nothing(index: int, code: ErrorCode) -> OffsetFetchResponsePartitions:
    return OffsetFetchResponsePartitions(
        partition_index=index, committed_offset=_INVALID_OFFSET, metadata="", error_code=code
    )
