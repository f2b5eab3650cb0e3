"""OffsetCommit, versions 2 to 10: topics that there are not are refused here, the rest goes to the coordinator."""

from __future__ import annotations

from collections.abc import Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.coordination.groups.broker_checks import check_offset_commit, merge_offset_commit
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest, OffsetCommitResponse
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: OffsetCommitRequest) -> Message | Coroutine[Any, Any, Message]:
    asked, refused = check_offset_commit(request, call.version, node.topics)
    if asked is None:
        return refused
    answer = node.groups.handle(call, asked)
    if type(answer) is CoroutineType:
        return _later(refused, answer)
    return _merged(refused, answer)


async def _later(refused: OffsetCommitResponse, answer: Coroutine[Any, Any, Message]) -> Message:
    return _merged(refused, await answer)


def _merged(refused: OffsetCommitResponse, answer: Any) -> Message:
    assert isinstance(answer, OffsetCommitResponse)
    return merge_offset_commit(refused, answer)
