"""OffsetDelete, version 0: topics that there are not are refused here, the rest goes to the coordinator."""

from __future__ import annotations

from collections.abc import Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.coordination.groups.broker_checks import check_offset_delete, merge_offset_delete
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest, OffsetDeleteResponse
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: OffsetDeleteRequest) -> Message | Coroutine[Any, Any, Message]:
    asked, refused = check_offset_delete(request, node.topics)
    answer = node.groups.handle(call, asked)
    if type(answer) is CoroutineType:
        return _later(refused, answer)
    return _merged(refused, answer)


async def _later(refused: OffsetDeleteResponse, answer: Coroutine[Any, Any, Message]) -> Message:
    return _merged(refused, await answer)


def _merged(refused: OffsetDeleteResponse, answer: Any) -> Message:
    assert isinstance(answer, OffsetDeleteResponse)
    return merge_offset_delete(refused, answer)
