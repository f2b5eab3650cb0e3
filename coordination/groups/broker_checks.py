"""What the broker looks at before it asks a group's coordinator, because it takes the metadata to know: whether topics
and partitions exist, what their ids are, and whether the client may see them.

Kafka makes these checks in its request handlers, in this order:
- the group is one that the client may read (describe for OffsetFetch and DescribeGroups, delete for DeleteGroups and
  OffsetDelete), else GROUP_AUTHORIZATION_FAILED for all of it: the caller's part, with `refusal`;
- OffsetCommit, OffsetFetch from version 10 on: an id that nobody knows is UNKNOWN_TOPIC_ID;
- a topic that the client may not read (describe for OffsetFetch) is TOPIC_AUTHORIZATION_FAILED;
- OffsetCommit, OffsetDelete: a topic or partition that does not exist is UNKNOWN_TOPIC_OR_PARTITION; OffsetFetch gives
  out what was committed for it.
What is left goes to the coordinator, and its answer is merged with the refusals, which stand in front (OffsetFetch:
behind). An OffsetCommit of which nothing is left is answered without asking; an OffsetDelete is asked all the same,
because the group's own error comes before those of topics.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Protocol

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
    OffsetDeleteResponsePartition,
    OffsetDeleteResponseTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponseGroup,
    OffsetFetchResponsePartitions,
    OffsetFetchResponseTopics,
)
from barnabas.protocol.schema import Uuid

__all__ = [
    "Topics",
    "check_offset_commit",
    "check_offset_delete",
    "check_offset_fetch",
    "merge_offset_commit",
    "merge_offset_delete",
    "merge_offset_fetch",
]

_TOPIC_IDS_FROM = 10


class Topics(Protocol):
    """What is asked of the metadata image."""

    def name_of(self, topic_id: Uuid) -> str | None: ...

    def id_of(self, name: str) -> Uuid | None: ...

    def has_partition(self, name: str, partition: int) -> bool: ...


def everybody_may(_topic: str) -> bool:
    return True


# OffsetCommit


def check_offset_commit(
    request: OffsetCommitRequest, version: int, topics: Topics, may_read: Callable[[str], bool] = everybody_may
) -> tuple[OffsetCommitRequest | None, OffsetCommitResponse]:
    """What is to be asked, with names and ids, or None; and what is refused already."""
    accepted: list[OffsetCommitRequestTopic] = []
    refused = OffsetCommitResponse()
    for topic in request.topics:
        name, topic_id = _name_and_id(topic.name, topic.topic_id, version, topics)
        if version >= _TOPIC_IDS_FROM and not name:
            _refuse_commit(refused, topic, name, topic_id, ErrorCode.UNKNOWN_TOPIC_ID)
        elif not may_read(name):
            _refuse_commit(refused, topic, name, topic_id, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
        elif topic_id == Uuid.ZERO:
            _refuse_commit(refused, topic, name, topic_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        else:
            gone = [each for each in topic.partitions if not topics.has_partition(name, each.partition_index)]
            there = topic.partitions
            if gone:
                rest = OffsetCommitRequestTopic(partitions=gone)
                _refuse_commit(refused, rest, name, topic_id, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
                there = [each for each in topic.partitions if topics.has_partition(name, each.partition_index)]
            if there:
                accepted.append(OffsetCommitRequestTopic(name=name, topic_id=topic_id, partitions=there))
    if not accepted:
        return None, refused
    asked = OffsetCommitRequest(
        group_id=request.group_id,
        generation_id_or_member_epoch=request.generation_id_or_member_epoch,
        member_id=request.member_id,
        group_instance_id=request.group_instance_id,
        retention_time_ms=request.retention_time_ms,
        topics=accepted,
    )
    return asked, refused


def merge_offset_commit(refused: OffsetCommitResponse, answered: OffsetCommitResponse) -> OffsetCommitResponse:
    if not refused.topics:
        return answered
    for topic in answered.topics:
        existing = next((each for each in refused.topics if _same_topic(each, topic)), None)
        if existing is None:
            refused.topics.append(topic)
        else:
            existing.partitions += topic.partitions
    return refused


def _same_topic(one: OffsetCommitResponseTopic, other: OffsetCommitResponseTopic) -> bool:
    return one.topic_id == other.topic_id and one.name == other.name


def _refuse_commit(
    response: OffsetCommitResponse, topic: OffsetCommitRequestTopic, name: str, topic_id: Uuid, code: ErrorCode
) -> None:
    partitions = [
        OffsetCommitResponsePartition(partition_index=each.partition_index, error_code=code)
        for each in topic.partitions
    ]
    refused = OffsetCommitResponseTopic(name=name, topic_id=topic_id, partitions=partitions)
    existing = next((each for each in response.topics if _same_topic(each, refused)), None)
    if existing is None:
        response.topics.append(refused)
    else:
        existing.partitions += partitions


def _name_and_id(name: str, topic_id: Uuid, version: int, topics: Topics) -> tuple[str, Uuid]:
    """From version 10 on the client says the id, before the name; the other is looked up. Empty: nobody knows."""
    if version >= _TOPIC_IDS_FROM:
        return topics.name_of(topic_id) or "", topic_id
    return name, topics.id_of(name) or Uuid.ZERO


# OffsetFetch, for each group


def check_offset_fetch(
    asked: OffsetFetchRequestGroup, version: int, topics: Topics, may_describe: Callable[[str], bool] = everybody_may
) -> tuple[OffsetFetchRequestGroup, Sequence[OffsetFetchResponseTopics]]:
    if asked.topics is None:
        return asked, ()
    accepted = []
    refused = []
    for topic in asked.topics:
        name = topic.name
        if version >= _TOPIC_IDS_FROM:
            name = topics.name_of(topic.topic_id) or ""
        if version >= _TOPIC_IDS_FROM and not name:
            refused.append(_refused_fetch(topic, name, ErrorCode.UNKNOWN_TOPIC_ID))
        elif not may_describe(name):
            refused.append(_refused_fetch(topic, name, ErrorCode.TOPIC_AUTHORIZATION_FAILED))
        else:
            known = OffsetFetchRequestTopics(
                name=name, topic_id=topic.topic_id, partition_indexes=topic.partition_indexes
            )
            accepted.append(known)
    group = OffsetFetchRequestGroup(
        group_id=asked.group_id, member_id=asked.member_id, member_epoch=asked.member_epoch, topics=accepted
    )
    return group, refused


def merge_offset_fetch(
    asked: OffsetFetchRequestGroup,
    answered: OffsetFetchResponseGroup,
    refused: Iterable[OffsetFetchResponseTopics],
    version: int,
    topics: Topics,
    may_describe: Callable[[str], bool] = everybody_may,
) -> OffsetFetchResponseGroup:
    """Where all topics were asked for, those that the client may not see are left out, and from version 10 on those
    that have no id any longer."""
    if answered.error_code != ErrorCode.NONE:
        return answered
    if asked.topics is not None:
        answered.topics += refused
        return answered
    visible = [topic for topic in answered.topics if may_describe(topic.name)]
    if version >= _TOPIC_IDS_FROM:
        for topic in visible:
            topic.topic_id = topics.id_of(topic.name) or Uuid.ZERO
        visible = [topic for topic in visible if topic.topic_id != Uuid.ZERO]
    answered.topics = visible
    return answered


def _refused_fetch(topic: OffsetFetchRequestTopics, name: str, code: ErrorCode) -> OffsetFetchResponseTopics:
    partitions = [
        OffsetFetchResponsePartitions(partition_index=index, committed_offset=-1, error_code=code)
        for index in topic.partition_indexes
    ]
    return OffsetFetchResponseTopics(name=name, topic_id=topic.topic_id, partitions=partitions)


# OffsetDelete


def check_offset_delete(
    request: OffsetDeleteRequest, topics: Topics, may_read: Callable[[str], bool] = everybody_may
) -> tuple[OffsetDeleteRequest, OffsetDeleteResponse]:
    accepted = OffsetDeleteRequest(group_id=request.group_id)
    refused = OffsetDeleteResponse()
    for topic in request.topics:
        if not may_read(topic.name):
            _refuse_delete(refused, topic, ErrorCode.TOPIC_AUTHORIZATION_FAILED)
            continue
        if topics.id_of(topic.name) is None:
            _refuse_delete(refused, topic, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            continue
        there = [each for each in topic.partitions if topics.has_partition(topic.name, each.partition_index)]
        gone = [each for each in topic.partitions if not topics.has_partition(topic.name, each.partition_index)]
        if gone:
            rest = OffsetDeleteRequestTopic(name=topic.name, partitions=gone)
            _refuse_delete(refused, rest, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        if there:
            accepted.topics.append(OffsetDeleteRequestTopic(name=topic.name, partitions=there))
    return accepted, refused


def merge_offset_delete(refused: OffsetDeleteResponse, answered: OffsetDeleteResponse) -> OffsetDeleteResponse:
    if answered.error_code != ErrorCode.NONE or not refused.topics:
        return answered
    for topic in answered.topics:
        existing = next((each for each in refused.topics if each.name == topic.name), None)
        if existing is None:
            refused.topics.append(topic)
        else:
            existing.partitions += topic.partitions
    return refused


def _refuse_delete(response: OffsetDeleteResponse, topic: OffsetDeleteRequestTopic, code: ErrorCode) -> None:
    partitions = [
        OffsetDeleteResponsePartition(partition_index=each.partition_index, error_code=code)
        for each in topic.partitions
    ]
    existing = next((each for each in response.topics if each.name == topic.name), None)
    if existing is None:
        response.topics.append(OffsetDeleteResponseTopic(name=topic.name, partitions=partitions))
    else:
        existing.partitions += partitions
