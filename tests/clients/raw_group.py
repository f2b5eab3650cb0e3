"""Members of a group by hand: what they ask, request by request."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.heartbeat import HeartbeatRequest, HeartbeatResponse
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupRequestProtocol, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest, LeaveGroupResponse, MemberIdentity
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import OffsetFetchRequest, OffsetFetchRequestGroup, OffsetFetchResponse
from barnabas.protocol.messages.sync_group import SyncGroupRequest, SyncGroupRequestAssignment, SyncGroupResponse
from tests.clients.waiting import wait_until
from tests.kafka.client import RawClient


def find_coordinator(client: RawClient, group: str) -> None:
    """It may have to be made first, and to load what it knows."""

    def found() -> bool:
        answer = client.ask(FindCoordinatorRequest(coordinator_keys=[group]), 4, FindCoordinatorResponse)
        return answer.coordinators[0].error_code == ErrorCode.NONE

    def has_loaded() -> bool:
        asked = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=group, topics=None)])
        (answer,) = client.ask(asked, 8, OffsetFetchResponse).groups
        return answer.error_code == ErrorCode.NONE

    wait_until(found, "a coordinator")
    wait_until(has_loaded, "the coordinator to have loaded")


class RawMember:
    def __init__(
        self, client: RawClient, group: str, *, rebalance_timeout_ms: int = 20_000, session_timeout_ms: int = 10_000
    ) -> None:
        self.client = client
        self.group = group
        self.member_id = ""
        self.generation = -1
        self._rebalance_timeout_ms = rebalance_timeout_ms
        self._session_timeout_ms = session_timeout_ms

    def join(self) -> JoinGroupResponse:
        """Until it is in: the first time it is given its name only."""
        request = JoinGroupRequest(
            group_id=self.group,
            session_timeout_ms=self._session_timeout_ms,
            rebalance_timeout_ms=self._rebalance_timeout_ms,
            member_id=self.member_id,
            protocol_type="consumer",
            protocols=[JoinGroupRequestProtocol(name="range", metadata=b"")],
        )
        answer = self.client.ask(request, 9, JoinGroupResponse)
        self.member_id = answer.member_id
        if answer.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            return self.join()
        if not answer.error_code:
            self.generation = answer.generation_id
        return answer

    def sync(self, *assigned: str) -> SyncGroupResponse:
        """The leader says who is assigned something, the others nothing."""
        assignments = [SyncGroupRequestAssignment(member_id=each, assignment=each.encode()) for each in assigned]
        request = SyncGroupRequest(
            group_id=self.group,
            generation_id=self.generation,
            member_id=self.member_id,
            protocol_type="consumer",
            protocol_name="range",
            assignments=assignments,
        )
        return self.client.ask(request, 5, SyncGroupResponse)

    def heartbeat(self) -> int:
        request = HeartbeatRequest(group_id=self.group, generation_id=self.generation, member_id=self.member_id)
        return self.client.ask(request, 4, HeartbeatResponse).error_code

    def commit(self, topic: str, *, generation: int | None = None, member_id: str | None = None) -> int:
        partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=1)
        request = OffsetCommitRequest(
            group_id=self.group,
            generation_id_or_member_epoch=self.generation if generation is None else generation,
            member_id=self.member_id if member_id is None else member_id,
            topics=[OffsetCommitRequestTopic(name=topic, partitions=[partition])],
        )
        return self.client.ask(request, 8, OffsetCommitResponse).topics[0].partitions[0].error_code

    def leave(self) -> int:
        request = LeaveGroupRequest(group_id=self.group, members=[MemberIdentity(member_id=self.member_id)])
        return self.client.ask(request, 5, LeaveGroupResponse).error_code
