"""The offsets that groups have committed: read, set and deleted, by whoever is no member of the group."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.offsets import by_topic
from barnabas.client.spreading import ask_coordinators, error_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_delete import (
    OffsetDeleteRequest,
    OffsetDeleteRequestPartition,
    OffsetDeleteRequestTopic,
    OffsetDeleteResponse,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponsePartitions,
)

__all__ = ["Committed", "Offsets", "commit_offsets", "committed_offsets", "delete_offsets"]

_OFFSET_FETCH = APIS[9]
_FIRST_VERSION_WITH_GROUPS = 8
_LAST_VERSION_WITH_NAMES = 9
"""Of OffsetFetch and OffsetCommit: from the next on, topics have ids instead."""
_NONE = -1
_OF_THE_COORDINATOR = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
)


class Committed(NamedTuple):
    offset: int
    leader_epoch: int | None
    metadata: str


Offsets = dict[Partition, Committed]


def committed_offsets(cluster: Cluster, groups: Iterable[str]) -> dict[str, Offsets | KafkaError]:
    """Each group's, of all partitions. A group that is not there has none."""

    def ask(node_id: int, own: list[str]) -> dict[str, Offsets | KafkaError]:
        if cluster.version_of(_OFFSET_FETCH) < _FIRST_VERSION_WITH_GROUPS:
            return {group: _committed_of_one(cluster, node_id, group) for group in own}
        asked = [OffsetFetchRequestGroup(group_id=group, topics=None) for group in own]
        answer = cluster.ask_node(
            node_id, OffsetFetchRequest(groups=asked), OffsetFetchResponse, at_most=_LAST_VERSION_WITH_NAMES
        )
        return {
            group.group_id: error_of(group.error_code)
            or _read((topic.name, each) for topic in group.topics for each in topic.partitions)
            for group in answer.groups
        }

    return ask_coordinators(cluster, groups, ask)


def _committed_of_one(cluster: Cluster, node_id: int, group: str) -> Offsets | KafkaError:
    request = OffsetFetchRequest(group_id=group, topics=None)
    answer = cluster.ask_node(node_id, request, OffsetFetchResponse, at_most=_FIRST_VERSION_WITH_GROUPS - 1)
    return error_of(answer.error_code) or _read(
        (topic.name, each) for topic in answer.topics for each in topic.partitions
    )


def _read(
    told: Iterable[tuple[str, OffsetFetchResponsePartition | OffsetFetchResponsePartitions]],
) -> Offsets | KafkaError:
    offsets: Offsets = {}
    for topic, each in told:
        if each.error_code:
            error = error_of(each.error_code, f"partition {topic}-{each.partition_index}")
            assert error is not None
            return error
        if each.committed_offset != _NONE:
            epoch = None if each.committed_leader_epoch == _NONE else each.committed_leader_epoch
            offsets[Partition(topic, each.partition_index)] = Committed(
                each.committed_offset, epoch, each.metadata or ""
            )
    return offsets


def commit_offsets(cluster: Cluster, group: str, offsets: Mapping[Partition, int]) -> dict[Partition, KafkaError]:
    """For a group without members; what could not be committed."""
    topics = [
        OffsetCommitRequestTopic(
            name=topic,
            partitions=[
                OffsetCommitRequestPartition(
                    partition_index=each.number, committed_offset=offsets[each], committed_metadata=""
                )
                for each in own
            ],
        )
        for topic, own in by_topic(offsets).items()
    ]
    request = OffsetCommitRequest(group_id=group, topics=topics)

    def attempt() -> dict[Partition, KafkaError]:
        answer = cluster.ask_coordinator(group, request, OffsetCommitResponse, at_most=_LAST_VERSION_WITH_NAMES)
        failed = {
            Partition(topic.name, each.partition_index): error
            for topic in answer.topics
            for each in topic.partitions
            if (error := error_of(each.error_code)) is not None
        }
        # A coordinator that is not, or not yet, says so of each partition.
        for error in failed.values():
            if error.code in _OF_THE_COORDINATOR:
                raise error
        return failed

    return cluster.retry(attempt)


def delete_offsets(cluster: Cluster, group: str, partitions: Iterable[Partition]) -> dict[Partition, KafkaError | None]:
    """KafkaError if the group as a whole cannot have any deleted."""
    wanted = list(partitions)
    topics = [
        OffsetDeleteRequestTopic(
            name=topic, partitions=[OffsetDeleteRequestPartition(partition_index=each.number) for each in own]
        )
        for topic, own in by_topic(wanted).items()
    ]
    request = OffsetDeleteRequest(group_id=group, topics=topics)

    def attempt() -> OffsetDeleteResponse:
        answer = cluster.ask_coordinator(group, request, OffsetDeleteResponse)
        check(answer.error_code, f"group {group}")
        return answer

    return {
        Partition(topic.name, each.partition_index): error_of(each.error_code)
        for topic in cluster.retry(attempt).topics
        for each in topic.partitions
    }
