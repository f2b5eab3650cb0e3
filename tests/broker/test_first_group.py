"""A node that has no __consumer_offsets yet: all who look for their coordinator at once find it, and who asks for what
cannot be is told so, and not to look for one.
"""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

import pytest

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest, DeleteGroupsResponse
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, MemberIdentity
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupResponse
from barnabas.protocol.schema import Message
from tests.kafka.broker import SMALL, KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode
from .twins import Twins

CLIENTS = 8


def test_all_find_their_coordinator(node: RunningNode) -> None:
    together = Barrier(CLIENTS)

    def find(number: int) -> tuple[int, int]:
        with node.client() as client:
            together.wait()
            request = FindCoordinatorRequest(coordinator_keys=[f"group-{number}"])
            (found,) = client.ask(request, 4, FindCoordinatorResponse).coordinators
            return found.error_code, found.node_id

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert list(threads.map(find, range(CLIENTS))) == [(0, 1)] * CLIENTS


def test_why_there_is_no_coordinator_is_in_the_log(tmp_path: Path) -> None:
    """The client is only told that it is not available."""
    with RunningNode(tmp_path, offsets_topic_segment_bytes="1000") as node, node.client() as client:
        request = FindCoordinatorRequest(coordinator_keys=["group"])
        (found,) = client.ask(request, 4, FindCoordinatorResponse).coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (line,) = [str(line) for line in node.lines if "__consumer_offsets" in str(line)]
    assert "segment.bytes" in line
    assert "INVALID_CONFIG" in line


def joining(group_id: str, session_timeout_ms: int = 10_000, member_id: str = "") -> JoinGroupRequest:
    protocols = [JoinGroupRequestProtocol(name="range", metadata=b"")]
    return JoinGroupRequest(
        group_id=group_id,
        session_timeout_ms=session_timeout_ms,
        member_id=member_id,
        protocol_type="consumer",
        protocols=protocols,
    )


ASKED: list[Message] = [
    joining(""),
    joining("", 1, "anna"),
    joining("group", 1),
    joining("group", 2**31 - 1, "anna"),
    joining("group", member_id="anna"),
    SyncGroupRequest(member_id="anna", protocol_type="consumer", protocol_name="range"),
    SyncGroupRequest(group_id="group", member_id="anna", protocol_name="range"),
    SyncGroupRequest(group_id="group", member_id="anna", protocol_type="consumer", protocol_name="range"),
    HeartbeatRequest(member_id="anna"),
    HeartbeatRequest(group_id="group", member_id="anna"),
    LeaveGroupRequest(member_id="anna", members=[MemberIdentity(member_id="anna")]),
    LeaveGroupRequest(group_id="group", member_id="anna", members=[MemberIdentity(member_id="anna")]),
    OffsetDeleteRequest(),
    OffsetDeleteRequest(group_id="group"),
    OffsetCommitRequest(),
    OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=name, topics=None) for name in ("", "group", "group")]),
    DescribeGroupsRequest(groups=["", "group", "group"]),
    DeleteGroupsRequest(groups_names=["", "group", "group"]),
    ListGroupsRequest(),
]


@pytest.mark.java
@pytest.mark.slow
def test_nobody_who_asks_for_what_cannot_be_is_sent_to_find_a_coordinator(kafka_classpath: str, tmp_path: Path) -> None:
    """Beside a Kafka that no group was asked for yet, either: at every version."""
    alike = RunningNode(tmp_path / "data")
    alike.settings.update(SMALL)
    with KafkaBroker(kafka_classpath) as kafka, alike as node:
        both = Twins(kafka, node)
        for request in ASKED:
            both.same_at_all(request)
        both.close()


def test_what_cannot_be_is_refused_without_a_coordinator(client: RawClient) -> None:
    assert client.ask(joining(""), 9, JoinGroupResponse).error_code == ErrorCode.INVALID_GROUP_ID
    answer = client.ask(joining("group", 1, "anna"), 9, JoinGroupResponse)
    assert (answer.error_code, answer.member_id) == (ErrorCode.INVALID_SESSION_TIMEOUT, "anna")
    assert client.ask(joining("group"), 9, JoinGroupResponse).error_code == ErrorCode.NOT_COORDINATOR
    request = SyncGroupRequest(group_id="group", member_id="anna")
    assert client.ask(request, 5, SyncGroupResponse).error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert client.ask(HeartbeatRequest(), 4, HeartbeatResponse).error_code == ErrorCode.INVALID_GROUP_ID
    deletion = DeleteGroupsRequest(groups_names=["group", "group"])
    (one,) = client.ask(deletion, 2, DeleteGroupsResponse).results
    assert one.error_code == ErrorCode.NOT_COORDINATOR
