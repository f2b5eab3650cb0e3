"""OffsetDelete, version 0: topics that there are not are refused here, the rest goes to the coordinator."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.broker.later import then
from barnabas.coordination.groups.broker_checks import check_offset_delete, merge_offset_delete
from barnabas.protocol.messages.offset_delete import OffsetDeleteRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: OffsetDeleteRequest) -> Message | Coroutine[Any, Any, Message]:
    asked, refused = check_offset_delete(request, node.topics)
    return then(node.groups.handle(call, asked), partial(merge_offset_delete, refused))
