"""ListGroups, versions 0 to 5: the groups of the partitions that are led here."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.protocol.messages.list_groups import ListGroupsRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: ListGroupsRequest) -> Message | Coroutine[Any, Any, Message]:
    return node.groups.handle(call, request)
