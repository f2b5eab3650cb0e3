"""How whole requests are refused, and that a decision whose records are not appended has not happened."""

from __future__ import annotations

import pytest

from barnabas.coordination.groups import (
    GroupConfig,
    decide_join_group,
    decide_sync_failed,
    decide_sync_group,
    error_of_append,
    refusal,
)
from barnabas.protocol.codec import encode
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopic,
)
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.schema import Message
from tests.coordination.asking import parse_request
from tests.coordination.coordinator import Coordinator, FakeTopics, fingerprint
from tests.coordination.transcript import show

TOPICS = FakeTopics({"orders": 3})
NO_REPLICAS = ErrorCode.NOT_ENOUGH_REPLICAS
STORAGE = ErrorCode.KAFKA_STORAGE_ERROR
LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS


@pytest.mark.parametrize(
    ("asked", "error", "answer"),
    [
        ("JoinGroup.6 group=g", NO_REPLICAS, "JoinGroupResponse(error_code=COORDINATOR_NOT_AVAILABLE)"),
        ("JoinGroup.7 group=g", STORAGE, "JoinGroupResponse(error_code=NOT_COORDINATOR, protocol_name=None)"),
        ("SyncGroup.3 group=g", ErrorCode.MESSAGE_TOO_LARGE, "SyncGroupResponse(error_code=UNKNOWN_SERVER_ERROR)"),
        ("Heartbeat.3 group=g", LOADING, "HeartbeatResponse()"),
        ("Heartbeat.3 group=g", ErrorCode.NOT_COORDINATOR, "HeartbeatResponse(error_code=NOT_COORDINATOR)"),
        ("LeaveGroup.2 group=g member=m", STORAGE, "LeaveGroupResponse(error_code=NOT_COORDINATOR)"),
        ("LeaveGroup.5 group=g members=m", LOADING, "LeaveGroupResponse(error_code=COORDINATOR_LOAD_IN_PROGRESS)"),
        (
            "OffsetCommit.8 group=g offsets=orders-0:1,orders-1:2",
            ErrorCode.REQUEST_TIMED_OUT,
            (
                "OffsetCommitResponse(topics=[OffsetCommitResponseTopic(name='orders', partitions=["
                "OffsetCommitResponsePartition(error_code=COORDINATOR_NOT_AVAILABLE), "
                "OffsetCommitResponsePartition(partition_index=1, error_code=COORDINATOR_NOT_AVAILABLE)])])"
            ),
        ),
        (
            "TxnOffsetCommit.3 group=g offsets=orders-0:1",
            ErrorCode.NETWORK_EXCEPTION,
            (
                "TxnOffsetCommitResponse(topics=[TxnOffsetCommitResponseTopic(name='orders', partitions=["
                "TxnOffsetCommitResponsePartition(error_code=COORDINATOR_LOAD_IN_PROGRESS)])])"
            ),
        ),
        (
            "OffsetFetch.1 group=g offsets=orders-1",
            STORAGE,
            (
                "OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name='orders', partitions=["
                "OffsetFetchResponsePartition(partition_index=1, committed_offset=-1, error_code=NOT_COORDINATOR)])])"
            ),
        ),
        ("OffsetFetch.5 group=g all=yes", NO_REPLICAS, "OffsetFetchResponse(error_code=NOT_COORDINATOR)"),
        (
            "OffsetFetch.9 group=g,h all=yes",
            ErrorCode.GROUP_AUTHORIZATION_FAILED,
            (
                "OffsetFetchResponse(groups=["
                "OffsetFetchResponseGroup(group_id='g', error_code=GROUP_AUTHORIZATION_FAILED), "
                "OffsetFetchResponseGroup(group_id='h', error_code=GROUP_AUTHORIZATION_FAILED)])"
            ),
        ),
        ("OffsetDelete.0 group=g", STORAGE, "OffsetDeleteResponse(error_code=NOT_COORDINATOR)"),
        (
            "DescribeGroups.5 groups=g",
            LOADING,
            "DescribeGroupsResponse(groups=[DescribedGroup(error_code=COORDINATOR_LOAD_IN_PROGRESS, group_id='g')])",
        ),
        ("ListGroups.4", LOADING, "ListGroupsResponse(error_code=COORDINATOR_LOAD_IN_PROGRESS)"),
        (
            "DeleteGroups.2 groups=g",
            NO_REPLICAS,
            "DeleteGroupsResponse(results=[DeletableGroupResult(group_id='g', error_code=COORDINATOR_NOT_AVAILABLE)])",
        ),
    ],
)
def test_every_api_says_it_in_its_own_way(asked: str, error: ErrorCode, answer: str) -> None:
    request, version = parse_request(asked, TOPICS.id_of)
    refused = refusal(request, version, error)
    assert show(refused) == answer
    encode(refused, version)  # which refuses what the version cannot say


def test_a_request_of_another_kind_is_our_mistake() -> None:
    with pytest.raises(TypeError, match="MetadataRequest is no request to a group coordinator"):
        refusal(MetadataRequest(), 12, ErrorCode.NOT_COORDINATOR)


def test_version_1_of_offset_fetch_has_nothing_to_refuse_without_partitions() -> None:
    request = OffsetFetchRequest(group_id="g", topics=[OffsetFetchRequestTopic(name="orders")])
    assert show(refusal(request, 1, STORAGE)) == (
        "OffsetFetchResponse(topics=[OffsetFetchResponseTopic(name='orders')])"
    )
    several: Message = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id="g")])
    assert "NOT_COORDINATOR" in show(refusal(several, 8, STORAGE))


def test_what_clients_understand_passes_as_it_is() -> None:
    for error in (ErrorCode.NOT_COORDINATOR, ErrorCode.GROUP_AUTHORIZATION_FAILED, ErrorCode.UNKNOWN_SERVER_ERROR):
        assert error_of_append(error) == error


def test_what_is_not_appended_has_not_happened() -> None:
    coordinator = Coordinator(GroupConfig(initial_rebalance_delay_ms=0))
    shard, now_ms = coordinator.shard, coordinator.now_ms

    def join(member_id: str = "") -> JoinGroupRequest:
        return JoinGroupRequest(
            group_id="g",
            member_id=member_id,
            session_timeout_ms=10_000,
            rebalance_timeout_ms=60_000,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range")],
        )

    # The first JoinGroup writes that the group exists; its append fails, and it comes again.
    for _ in range(2):
        before = fingerprint(shard)
        outcome = decide_join_group(shard, join(), 3, now_ms, client_id="anna", client_host="/h", random_id="1")
        assert len(outcome.records) == 1
        assert outcome.waits_as is not None
        assert fingerprint(shard) == before
    coordinator.ask(join(), 3, client_id="anna")

    # So does the leader's SyncGroup, which would make the group stable.
    sync = SyncGroupRequest(group_id="g", generation_id=1, member_id="anna-1")
    before = fingerprint(shard)
    assert len(decide_sync_group(shard, sync, now_ms).records) == 1
    assert fingerprint(shard) == before
    answer, _ = coordinator.ask(sync, 3)
    assert show(answer) == "SyncGroupResponse(protocol_type='consumer', protocol_name='range')"


def test_all_who_wait_for_an_assignment_that_cannot_be_written_are_told() -> None:
    coordinator = Coordinator(GroupConfig(initial_rebalance_delay_ms=0))
    for who, text in (
        ("anna", "JoinGroup.3 group=g"),
        ("bert", "JoinGroup.3 group=g"),
        ("anna", "JoinGroup.3 group=g member=anna-1"),
        ("bert", "SyncGroup.3 group=g generation=2 member=bert-1"),
    ):
        coordinator.ask(*parse_request(text, TOPICS.id_of), client_id=who)
    coordinator.released.clear()
    sync = SyncGroupRequest(group_id="g", generation_id=2, member_id="anna-1")
    outcome = decide_sync_failed(coordinator.shard, sync, ErrorCode.NOT_ENOUGH_REPLICAS, coordinator.now_ms)
    assert outcome.records == []
    assert show(outcome.reply) == "SyncGroupResponse(error_code=COORDINATOR_NOT_AVAILABLE)"
    coordinator.take(outcome)
    (told,) = coordinator.released.values()
    assert show(told) == "SyncGroupResponse(error_code=COORDINATOR_NOT_AVAILABLE)"
    beat, _ = coordinator.ask(*parse_request("Heartbeat.3 group=g generation=2 member=bert-1", TOPICS.id_of))
    assert show(beat) == "HeartbeatResponse(error_code=REBALANCE_IN_PROGRESS)"
