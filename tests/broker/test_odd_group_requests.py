"""Odd requests about groups, which random ones beside Kafka came upon (test_random_requests_beside_kafka.py)."""

from __future__ import annotations

from msgspec.structs import replace

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.kafka.client import RawClient

from .test_produce_and_fetch import TOPIC, create


def find_coordinator(client: RawClient, key: str = "readers") -> FindCoordinatorResponse:
    return client.ask(FindCoordinatorRequest(key=key), 3, FindCoordinatorResponse)


def test_a_group_that_is_asked_for_twice_is_answered_twice(client: RawClient) -> None:
    create(client)
    find_coordinator(client)
    topics = [OffsetFetchRequestTopics(name=TOPIC, partition_indexes=[0])]
    groups = [OffsetFetchRequestGroup(group_id="readers"), OffsetFetchRequestGroup(group_id="readers", topics=topics)]
    groups[0].topics = None
    answer = client.ask(OffsetFetchRequest(groups=groups), 9, OffsetFetchResponse)
    assert [[topic.name for topic in group.topics] for group in answer.groups] == [[], [TOPIC]]


def test_a_topic_that_stands_twice_in_a_commit_is_answered_twice(client: RawClient) -> None:
    create(client)
    find_coordinator(client)
    topic = OffsetCommitRequestTopic(name=TOPIC, partitions=[OffsetCommitRequestPartition(committed_offset=1)])
    request = OffsetCommitRequest(group_id="readers", topics=[topic, replace(topic)])
    answer = client.ask(request, 9, OffsetCommitResponse)
    assert [[one.error_code for one in each.partitions] for each in answer.topics] == [[0], [0]]
    nowhere = OffsetCommitRequestTopic(name="nowhere", partitions=[OffsetCommitRequestPartition()])
    request.topics.append(nowhere)
    answer = client.ask(request, 9, OffsetCommitResponse)
    unknown = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    codes = [(each.name, [one.error_code for one in each.partitions]) for each in answer.topics]
    assert codes == [("nowhere", [unknown]), (TOPIC, [0, 0])]


def test_who_coordinates_is_said_with_kafkas_words_and_of_a_group_without_a_name_too(client: RawClient) -> None:
    answer = find_coordinator(client)
    assert (answer.error_code, answer.error_message, answer.node_id) == (0, "NONE", 1)
    assert find_coordinator(client, "").error_code == ErrorCode.NONE
    (one,) = client.ask(FindCoordinatorRequest(coordinator_keys=[""]), 6, FindCoordinatorResponse).coordinators
    assert (one.error_code, one.error_message, one.node_id) == (0, "", 1)
    request = FindCoordinatorRequest(key_type=2, coordinator_keys=["no key of a share"])
    (one,) = client.ask(request, 6, FindCoordinatorResponse).coordinators
    assert (one.error_code, one.error_message) == (ErrorCode.INVALID_REQUEST, "")
