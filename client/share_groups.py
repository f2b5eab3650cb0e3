"""Share groups (KIP-932): who is in them, from where on each partition is shared, and that set anew or deleted."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Node, Partition, check
from barnabas.client.errors import NotOffered
from barnabas.client.groups import SHARE, Group, Member, with_coordinators
from barnabas.client.offsets import by_topic
from barnabas.client.spreading import ask_coordinators, error_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.alter_share_group_offsets import (
    AlterShareGroupOffsetsRequest,
    AlterShareGroupOffsetsRequestPartition,
    AlterShareGroupOffsetsRequestTopic,
    AlterShareGroupOffsetsResponse,
)
from barnabas.protocol.messages.delete_share_group_offsets import (
    DeleteShareGroupOffsetsRequest,
    DeleteShareGroupOffsetsRequestTopic,
    DeleteShareGroupOffsetsResponse,
)
from barnabas.protocol.messages.describe_share_group_offsets import (
    DescribeShareGroupOffsetsRequest,
    DescribeShareGroupOffsetsRequestGroup,
    DescribeShareGroupOffsetsResponse,
    DescribeShareGroupOffsetsResponsePartition,
)
from barnabas.protocol.messages.share_group_describe import ShareGroupDescribeRequest, ShareGroupDescribeResponse

__all__ = [
    "ShareOffset",
    "alter_share_offsets",
    "delete_share_offsets",
    "describe_share_groups",
    "share_offsets",
]

_SHARE_GROUP_DESCRIBE = APIS[77]
_UNKNOWN = -1


class ShareOffset(NamedTuple):
    start: int | None
    """Records before it are done with. None: nothing has been shared yet."""
    leader_epoch: int | None
    lag: int | None


def _check_offered(cluster: Cluster) -> None:
    if _SHARE_GROUP_DESCRIBE.key not in cluster.offered:
        raise NotOffered("These brokers have no share groups.")


def describe_share_groups(cluster: Cluster, names: Iterable[str]) -> dict[str, Group | KafkaError]:
    _check_offered(cluster)
    return with_coordinators(cluster, names, _describe)


def _describe(cluster: Cluster, node: Node, names: list[str]) -> dict[str, Group | KafkaError]:
    request = ShareGroupDescribeRequest(group_ids=names)
    found: dict[str, Group | KafkaError] = {}
    for each in cluster.ask_node(node.node_id, request, ShareGroupDescribeResponse).groups:
        members = [
            Member(
                member.member_id,
                None,
                member.client_id,
                member.client_host,
                sorted(
                    Partition(topic.topic_name, number)
                    for topic in member.assignment.topic_partitions
                    for number in topic.partitions
                ),
                epoch=member.member_epoch,
            )
            for member in each.members
        ]
        found[each.group_id] = error_of(each.error_code, each.error_message) or Group(
            each.group_id,
            SHARE,
            each.group_state,
            node,
            "share",
            each.assignor_name,
            members,
            each.group_epoch,
            each.assignment_epoch,
        )
    return found


def share_offsets(cluster: Cluster, groups: Iterable[str]) -> dict[str, dict[Partition, ShareOffset] | KafkaError]:
    """Of all partitions that a group has to do with."""
    _check_offered(cluster)

    def ask(node_id: int, own: list[str]) -> dict[str, dict[Partition, ShareOffset] | KafkaError]:
        asked = [DescribeShareGroupOffsetsRequestGroup(group_id=group, topics=None) for group in own]
        request = DescribeShareGroupOffsetsRequest(groups=asked)
        return {
            group.group_id: error_of(group.error_code, group.error_message)
            or {
                Partition(topic.topic_name, each.partition_index): _share_offset(each)
                for topic in group.topics
                for each in topic.partitions
                if not each.error_code
            }
            for group in cluster.ask_node(node_id, request, DescribeShareGroupOffsetsResponse).groups
        }

    return ask_coordinators(cluster, groups, ask)


def _share_offset(told: DescribeShareGroupOffsetsResponsePartition) -> ShareOffset:
    """Before anything was shared, what else is told means nothing."""
    if told.start_offset == _UNKNOWN:
        return ShareOffset(None, None, None)
    epoch, lag = (None if value == _UNKNOWN else value for value in (told.leader_epoch, told.lag))
    return ShareOffset(told.start_offset, epoch, lag)


def alter_share_offsets(cluster: Cluster, group: str, offsets: Mapping[Partition, int]) -> dict[Partition, KafkaError]:
    """For a group without members; what could not be set. KafkaError if nothing could."""
    topics = [
        AlterShareGroupOffsetsRequestTopic(
            topic_name=topic,
            partitions=[
                AlterShareGroupOffsetsRequestPartition(partition_index=each.number, start_offset=offsets[each])
                for each in own
            ],
        )
        for topic, own in by_topic(offsets).items()
    ]
    request = AlterShareGroupOffsetsRequest(group_id=group, topics=topics)

    def attempt() -> AlterShareGroupOffsetsResponse:
        answer = cluster.ask_coordinator(group, request, AlterShareGroupOffsetsResponse)
        check(answer.error_code, answer.error_message)
        return answer

    return {
        Partition(topic.topic_name, each.partition_index): error
        for topic in cluster.retry(attempt).responses
        for each in topic.partitions
        if (error := error_of(each.error_code, each.error_message)) is not None
    }


def delete_share_offsets(cluster: Cluster, group: str, topics: Iterable[str]) -> dict[str, KafkaError | None]:
    """KafkaError if the group as a whole cannot have any deleted."""
    asked = [DeleteShareGroupOffsetsRequestTopic(topic_name=topic) for topic in topics]
    request = DeleteShareGroupOffsetsRequest(group_id=group, topics=asked)

    def attempt() -> DeleteShareGroupOffsetsResponse:
        answer = cluster.ask_coordinator(group, request, DeleteShareGroupOffsetsResponse)
        check(answer.error_code, answer.error_message)
        return answer

    return {
        topic.topic_name: error_of(topic.error_code, topic.error_message) for topic in cluster.retry(attempt).responses
    }
