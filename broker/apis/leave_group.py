"""LeaveGroup, versions 0 to 5: answered at once."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.protocol.messages.leave_group import LeaveGroupRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: LeaveGroupRequest) -> Message | Coroutine[Any, Any, Message]:
    return node.groups.handle(call, request)
