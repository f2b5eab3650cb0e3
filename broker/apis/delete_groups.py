"""DeleteGroups, versions 0 to 2."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.protocol.messages.delete_groups import DeleteGroupsRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: DeleteGroupsRequest) -> Message | Coroutine[Any, Any, Message]:
    return node.groups.handle(call, request)
