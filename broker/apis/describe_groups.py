"""DescribeGroups, versions 0 to 6."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.authorized import GROUP_OPERATIONS
from barnabas.broker.call import Call
from barnabas.broker.later import then
from barnabas.protocol.messages.describe_groups import DescribeGroupsRequest, DescribeGroupsResponse
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DescribeGroupsRequest) -> Message | Coroutine[Any, Any, Message]:
    answer = node.groups.handle(call, request)
    return then(answer, _with_operations) if request.include_authorized_operations else answer


def _with_operations(answer: DescribeGroupsResponse) -> Message:
    for group in answer.groups:
        if not group.error_code:
            group.authorized_operations = GROUP_OPERATIONS
    return answer
