"""What the broker refuses of a request before the coordinator is asked; topics that are not there are in the scenarios
that Kafka answers too."""

from __future__ import annotations

from barnabas.coordination.groups import GroupConfig
from barnabas.coordination.groups.broker_checks import (
    check_offset_commit,
    check_offset_delete,
    check_offset_fetch,
    merge_offset_commit,
    merge_offset_delete,
    merge_offset_fetch,
)
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchResponseGroup
from barnabas.protocol.schema import Message
from tests.coordination.asking import parse_request
from tests.coordination.coordinator import Coordinator, FakeTopics
from tests.coordination.transcript import show

TOPICS = FakeTopics({"orders": 2, "secrets": 2})


def may(topic: str) -> bool:
    return topic != "secrets"


def asked(text: str) -> tuple[Message, int]:
    return parse_request(text, TOPICS.id_of)


def test_an_offset_commit_goes_on_with_what_is_there_and_may_be_read() -> None:
    request, version = asked("OffsetCommit.8 group=g offsets=orders-0:1,orders-2:2,secrets-0:3,nothing-0:4")
    assert isinstance(request, OffsetCommitRequest)
    accepted, refused = check_offset_commit(request, version, TOPICS, may)
    assert accepted is not None
    assert show(accepted.topics) == (
        "[OffsetCommitRequestTopic(name='orders', topic_id=<orders>, partitions=["
        "OffsetCommitRequestPartition(committed_offset=1, committed_metadata=None)])]"
    )
    coordinator = Coordinator(GroupConfig(), TOPICS)
    answered, _ = coordinator.ask(accepted, version)
    assert isinstance(answered, OffsetCommitResponse)
    merged = merge_offset_commit(refused, answered)
    assert [
        (topic.name, partition.partition_index, ErrorCode(partition.error_code).name)
        for topic in merged.topics
        for partition in topic.partitions
    ] == [
        ("orders", 2, "UNKNOWN_TOPIC_OR_PARTITION"),
        ("orders", 0, "NONE"),
        ("secrets", 0, "TOPIC_AUTHORIZATION_FAILED"),
        ("nothing", 0, "UNKNOWN_TOPIC_OR_PARTITION"),
    ]


def test_an_offset_commit_of_which_nothing_is_left_is_not_asked() -> None:
    for text, code in (
        ("OffsetCommit.8 group=g offsets=secrets-0:3", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("OffsetCommit.10 group=g offsets=secrets-0:3", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("OffsetCommit.10 group=g offsets=nothing-0:3", ErrorCode.UNKNOWN_TOPIC_ID),
    ):
        request, version = asked(text)
        assert isinstance(request, OffsetCommitRequest)
        accepted, refused = check_offset_commit(request, version, TOPICS, may)
        assert accepted is None
        assert refused.topics[0].partitions[0].error_code == code


def test_an_offset_fetch_shows_nothing_of_topics_that_may_not_be_seen() -> None:
    coordinator = Coordinator(GroupConfig(), TOPICS)
    coordinator.ask(*asked("OffsetCommit.8 group=g offsets=orders-0:1,secrets-0:2"))
    for text, expected in (
        ("OffsetFetch.8 group=g all=yes", [("orders", 0, 1, 0)]),
        ("OffsetFetch.10 group=g all=yes", [("orders", 0, 1, 0)]),
        ("OffsetFetch.8 group=g offsets=secrets-0,orders-0", [("orders", 0, 1, 0), ("secrets", 0, -1, 29)]),
        ("OffsetFetch.10 group=g offsets=secrets-0,nothing-0", [("secrets", 0, -1, 29), ("", 0, -1, 100)]),
    ):
        request, version = asked(text)
        assert isinstance(request, OffsetFetchRequest)
        (group,) = request.groups
        accepted, refused = check_offset_fetch(group, version, TOPICS, may)
        answered = coordinator.ask(OffsetFetchRequest(groups=[accepted]), 8)[0].groups[0]  # type: ignore[union-attr]
        merged = merge_offset_fetch(accepted, answered, refused, version, TOPICS, may)
        assert [
            (topic.name, each.partition_index, each.committed_offset, each.error_code)
            for topic in merged.topics
            for each in topic.partitions
        ] == expected
        if version >= 10:
            assert merged.topics[0].topic_id != b"\0" * 16


def test_a_topic_without_an_id_is_left_out_where_ids_are_told() -> None:
    coordinator = Coordinator(GroupConfig(), TOPICS)
    coordinator.ask(*asked("OffsetCommit.8 group=g offsets=orders-0:1"))
    request, _ = asked("OffsetFetch.10 group=g all=yes")
    assert isinstance(request, OffsetFetchRequest)
    (group,) = request.groups
    answered = coordinator.ask(request, 9)[0].groups[0]  # type: ignore[union-attr]
    assert merge_offset_fetch(group, answered, [], 10, FakeTopics({})).topics == []


def test_an_error_of_the_group_stands_for_all() -> None:
    request, _ = asked("OffsetFetch.8 group=g offsets=secrets-0")
    assert isinstance(request, OffsetFetchRequest)
    (group,) = request.groups
    accepted, refused = check_offset_fetch(group, 8, TOPICS, may)
    failed = OffsetFetchResponseGroup(group_id="g", error_code=ErrorCode.NOT_COORDINATOR)
    assert merge_offset_fetch(accepted, failed, refused, 8, TOPICS, may).topics == []

    deleting, _ = asked("OffsetDelete.0 group=g offsets=secrets-0,orders-1,orders-7,nothing-0")
    assert isinstance(deleting, OffsetDeleteRequest)
    rest, refusals = check_offset_delete(deleting, TOPICS, may)
    assert show(rest.topics) == (
        "[OffsetDeleteRequestTopic(name='orders', partitions=[OffsetDeleteRequestPartition(partition_index=1)])]"
    )
    assert [(topic.name, topic.partitions[0].error_code) for topic in refusals.topics] == [
        ("secrets", ErrorCode.TOPIC_AUTHORIZATION_FAILED),
        ("orders", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
        ("nothing", ErrorCode.UNKNOWN_TOPIC_OR_PARTITION),
    ]
    failed_delete = OffsetDeleteResponse(error_code=ErrorCode.GROUP_ID_NOT_FOUND)
    assert merge_offset_delete(refusals, failed_delete) is failed_delete
