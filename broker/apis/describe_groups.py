"""DescribeGroups, versions 0 to 6."""

from __future__ import annotations

from collections.abc import Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from barnabas.broker.authorized import GROUP_OPERATIONS
from barnabas.broker.call import Call
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DescribeGroupsRequest) -> Message | Coroutine[Any, Any, Message]:
    answer = node.groups.handle(call, request)
    if type(answer) is CoroutineType:
        return _later(answer, request)
    return _with_operations(answer, request)


async def _later(answer: Coroutine[Any, Any, Message], request: DescribeGroupsRequest) -> Message:
    return _with_operations(await answer, request)


def _with_operations(answer: Any, request: DescribeGroupsRequest) -> Message:
    assert isinstance(answer, DescribeGroupsResponse)
    if request.include_authorized_operations:
        for group in answer.groups:
            if not group.error_code:
                group.authorized_operations = GROUP_OPERATIONS
    return answer
