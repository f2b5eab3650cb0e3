"""client/groups, committed, offsets and timestamps with brokers that are old, move, or talk nonsense."""

from __future__ import annotations

from typing import Any

import pytest

from barnabas.client.cluster import Partition
from barnabas.client.committed import Committed, commit_offsets, committed_offsets
from barnabas.client.errors import NotOffered
from barnabas.client.groups import Group, delete_groups, describe_consumer_groups, list_groups
from barnabas.client.offsets import EARLIEST_LOCAL, LATEST, MAX_TIMESTAMP, FoundOffset, delete_records, list_offsets
from barnabas.client.timestamps import timestamp_in
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.consumer_group_describe import ConsumerGroupDescribeResponse
from barnabas.protocol.messages.consumer_group_describe import DescribedGroup as DescribedConsumerGroup
from barnabas.protocol.messages.delete_groups import DeletableGroupResult, DeleteGroupsResponse
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartitionResult,
    DeleteRecordsResponse,
    DeleteRecordsTopicResult,
)
from barnabas.protocol.messages.describe_groups import DescribedGroup, DescribedGroupMember, DescribeGroupsResponse
from barnabas.protocol.messages.list_groups import ListedGroup, ListGroupsResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartitionResponse,
    ListOffsetsResponse,
    ListOffsetsTopicResponse,
)
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchResponse,
    OffsetFetchResponsePartition,
    OffsetFetchResponseTopic,
)
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Message
from tests.client.scripted import ScriptedCluster

NOT_COORDINATOR, UNKNOWN_TOPIC = int(ErrorCode.NOT_COORDINATOR), int(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)


def test_each_coordinator_is_asked_once_for_all_that_are_its_own() -> None:
    def answer(node_id: int, request: Any) -> Message:
        return DeleteGroupsResponse(results=[DeletableGroupResult(group_id=name) for name in request.groups_names])

    cluster = ScriptedCluster(answer, coordinators=lambda name: 1 if name < "m" else 2)
    assert delete_groups(cluster, ["z", "a", "b", "a"]) == {"z": None, "a": None, "b": None}
    assert cluster.asked == [(0, "FindCoordinator"), (2, "DeleteGroups"), (1, "DeleteGroups")]


def test_a_coordinator_that_moved_is_looked_for_again() -> None:
    places = iter([1, 2])
    now = [next(places)]

    def answer(node_id: int, request: Any) -> Message:
        if node_id == 1:
            now[0] = next(places)
        results = [
            DeletableGroupResult(group_id=name, error_code=NOT_COORDINATOR if node_id == 1 and name == "b" else 0)
            for name in request.groups_names
        ]
        return DeleteGroupsResponse(results=results)

    cluster = ScriptedCluster(answer, coordinators=lambda _: now[0])
    assert delete_groups(cluster, ["a", "b"]) == {"a": None, "b": None}
    assert [asked for asked in cluster.asked if asked[1] == "DeleteGroups"] == [
        (1, "DeleteGroups"),
        (2, "DeleteGroups"),
    ]
    assert cluster.requests[-1].groups_names == ["b"]


def test_an_old_broker_has_classic_groups_and_cannot_choose() -> None:
    def answer(node_id: int, request: Any) -> Message:
        assert not request.types_filter
        return ListGroupsResponse(groups=[ListedGroup(group_id=f"g{node_id}", protocol_type="consumer")])

    cluster = ScriptedCluster(answer, newest={16: 3})
    assert [(each.name, each.type) for each in list_groups(cluster)] == [("g1", "Classic"), ("g2", "Classic")]
    assert list_groups(cluster, types=["Share"]) == []
    with pytest.raises(NotOffered, match="state"):
        list_groups(cluster, states=["Stable"])


def test_a_broker_without_the_consumer_protocol_is_asked_for_classic_groups_only() -> None:
    def answer(node_id: int, request: Any) -> Message:
        members = [
            DescribedGroupMember(member_id="m", member_assignment=b"\x00\x00\x00\x00\x00\x01nonsense"),
            DescribedGroupMember(member_id="n", member_assignment=b""),
        ]
        return DescribeGroupsResponse(
            groups=[
                DescribedGroup(group_id="g", group_state="Stable", protocol_type="consumer", members=members),
                DescribedGroup(group_id="workers", group_state="Stable", protocol_type="connect"),
            ]
        )

    cluster = ScriptedCluster(answer, without=(69,))
    found = describe_consumer_groups(cluster, ["g", "workers"])
    assert isinstance(found["g"], Group)
    assert [each.assigned for each in found["g"].members] == [[], []]
    assert isinstance(found["workers"], KafkaError)
    assert "connect" in str(found["workers"])
    assert (1, "ConsumerGroupDescribe") not in cluster.asked


def test_of_the_newer_kind_first_and_of_the_older_if_it_is_not_that() -> None:
    def answer(node_id: int, request: Any) -> Message:
        if type(request).__name__ == "ConsumerGroupDescribeRequest":
            codes = {"new": 0, "old": 69, "none": 69}
            return ConsumerGroupDescribeResponse(
                groups=[DescribedConsumerGroup(group_id=name, error_code=codes[name]) for name in request.group_ids]
            )
        codes = {"old": 0, "none": 69}
        return DescribeGroupsResponse(
            groups=[DescribedGroup(group_id=name, error_code=codes[name]) for name in request.groups]
        )

    cluster = ScriptedCluster(answer)
    found = describe_consumer_groups(cluster, ["old", "new", "none"])
    assert [each.type if isinstance(each, Group) else each.code.name for each in found.values()] == [
        "Classic",
        "Consumer",
        "GROUP_ID_NOT_FOUND",
    ]


def test_an_old_broker_is_asked_for_the_offsets_of_one_group_at_a_time() -> None:
    def answer(node_id: int, request: Any) -> Message:
        assert request.topics is None
        assert not request.groups
        partitions = [
            OffsetFetchResponsePartition(partition_index=0, committed_offset=5, committed_leader_epoch=2, metadata="m"),
            OffsetFetchResponsePartition(partition_index=1, committed_offset=-1),
        ]
        return OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name=request.group_id, partitions=partitions)])

    cluster = ScriptedCluster(answer, newest={9: 7})
    assert committed_offsets(cluster, ["a", "b"]) == {
        name: {Partition(name, 0): Committed(5, 2, "m")} for name in ("a", "b")
    }


def test_a_topic_that_is_gone_does_not_keep_a_commit_waiting() -> None:
    codes = iter([NOT_COORDINATOR, UNKNOWN_TOPIC])

    def answer(node_id: int, request: Any) -> Message:
        partition = OffsetCommitResponsePartition(partition_index=0, error_code=next(codes))
        return OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name="t", partitions=[partition])])

    cluster = ScriptedCluster(answer)
    failed = commit_offsets(cluster, "g", {Partition("t", 0): 5})
    assert failed[Partition("t", 0)].code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    assert [name for _, name in cluster.asked].count("OffsetCommit") == 2


def listed(node_id: int, request: Any) -> Message:
    return ListOffsetsResponse(
        topics=[
            ListOffsetsTopicResponse(
                name=topic.name,
                partitions=[
                    ListOffsetsPartitionResponse(partition_index=each.partition_index, offset=node_id * 10)
                    for each in topic.partitions
                ],
            )
            for topic in request.topics
        ]
    )


def test_who_has_no_leader_does_not_stand_in_the_way() -> None:
    cluster = ScriptedCluster(listed, leaders={"t": [1, 2, -1]})
    wanted = [*(Partition("t", number) for number in range(4)), Partition("gone", 0)]
    found = list_offsets(cluster, dict.fromkeys(wanted, LATEST), patient=False)
    assert list(found) == wanted
    assert [each.offset if isinstance(each, FoundOffset) else each.code.name for each in found.values()] == [
        10,
        20,
        "LEADER_NOT_AVAILABLE",
        "UNKNOWN_TOPIC_OR_PARTITION",
        "UNKNOWN_TOPIC_OR_PARTITION",
    ]
    assert [asked for asked in cluster.asked if asked[1] == "ListOffsets"] == [(1, "ListOffsets"), (2, "ListOffsets")]
    assert list_offsets(cluster, {}) == {}


def test_an_old_broker_knows_fewer_kinds_of_offsets() -> None:
    cluster = ScriptedCluster(listed, leaders={"t": [1]}, newest={2: 7})
    assert list_offsets(cluster, {Partition("t", 0): MAX_TIMESTAMP})
    with pytest.raises(NotOffered, match="earliest local offset"):
        list_offsets(cluster, {Partition("t", 0): EARLIEST_LOCAL})


def test_a_leader_that_moved_is_asked_again_for_what_it_had() -> None:
    leaders = {"t": [1, 1]}

    def answer(node_id: int, request: Any) -> Message:
        results = []
        for each in request.topics[0].partitions:
            moved = node_id == 1 and each.partition_index == 1
            if moved:
                leaders["t"] = [1, 2]
            code = int(ErrorCode.NOT_LEADER_OR_FOLLOWER) if moved else 0
            results.append(
                DeleteRecordsPartitionResult(partition_index=each.partition_index, low_watermark=7, error_code=code)
            )
        return DeleteRecordsResponse(topics=[DeleteRecordsTopicResult(name="t", partitions=results)])

    cluster = ScriptedCluster(answer, leaders=leaders)
    assert delete_records(cluster, {Partition("t", 0): 7, Partition("t", 1): 7}) == {
        Partition("t", 0): 7,
        Partition("t", 1): 7,
    }
    assert [each for each, name in cluster.asked if name == "DeleteRecords"] == [1, 2]


@pytest.mark.parametrize("compression", [Compression.NONE, Compression.ZSTD])
def test_the_timestamp_of_a_record_inside_a_batch(compression: Compression) -> None:
    records = [Record(value=b"v", timestamp=1000 + number) for number in range(5)]
    data = b"".join(bytes(build_batch(records, base_offset=base, compression=compression)) for base in (0, 5))
    assert [timestamp_in(data, offset) for offset in (0, 3, 5, 9, 10)] == [1000, 1003, 1000, 1004, None]
    assert timestamp_in(data[:-1], 7) is None
    assert timestamp_in(b"", 0) is None
