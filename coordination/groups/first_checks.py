"""What a request is refused for whoever coordinates its group, or nobody: Kafka looks at this before it looks for the
coordinator, so that a client that asks for what cannot be is not sent to search one.

Whoever asks shards for decisions asks here first.
"""

from __future__ import annotations

from barnabas.coordination.groups.config import GroupConfig
from barnabas.coordination.groups.rebalance import join_response
from barnabas.coordination.groups.refusals import refusal
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.heartbeat import HeartbeatRequest
from barnabas.protocol.messages.join_group import JoinGroupRequest, JoinGroupResponse
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.messages.sync_group import SyncGroupRequest
from barnabas.protocol.messages.txn_offset_commit import TxnOffsetCommitRequest
from barnabas.protocol.schema import Message

__all__ = ["refused_at_once"]

_PROTOCOL_MANDATORY_FROM = 5
_OfANamedGroup = (
    HeartbeatRequest
    | JoinGroupRequest
    | LeaveGroupRequest
    | OffsetDeleteRequest
    | SyncGroupRequest
    | TxnOffsetCommitRequest
)
"""All others may name the group "", for which consumers of long ago have committed."""


def refused_at_once(request: Message, version: int, config: GroupConfig) -> Message | None:
    """None: it is the coordinator's to decide."""
    if not isinstance(request, _OfANamedGroup):
        return None
    code = _code(request, version, config)
    if code == ErrorCode.NONE:
        return None
    if isinstance(request, JoinGroupRequest):
        # Elsewhere Kafka does not say again who was refused as a whole.
        return join_response(version, JoinGroupResponse(error_code=code, member_id=request.member_id))
    return refusal(request, version, code)


def _code(request: _OfANamedGroup, version: int, config: GroupConfig) -> ErrorCode:
    match request:
        case SyncGroupRequest(protocol_type=kind, protocol_name=name) if version >= _PROTOCOL_MANDATORY_FROM and (
            kind is None or name is None
        ):
            return ErrorCode.INCONSISTENT_GROUP_PROTOCOL
        case _ if not request.group_id:
            return ErrorCode.INVALID_GROUP_ID
        case JoinGroupRequest(session_timeout_ms=timeout_ms) if not (
            config.min_session_timeout_ms <= timeout_ms <= config.max_session_timeout_ms
        ):
            return ErrorCode.INVALID_SESSION_TIMEOUT
    return ErrorCode.NONE
