"""OffsetCommit, versions 2 to 10: topics that there are not are refused here, the rest goes to the coordinator."""

from __future__ import annotations

from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.broker.later import then
from barnabas.coordination.groups.broker_checks import check_offset_commit, merge_offset_commit
from barnabas.protocol.messages.offset_commit import OffsetCommitRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: OffsetCommitRequest) -> Message | Coroutine[Any, Any, Message]:
    asked, refused = check_offset_commit(request, call.version, node.topics)
    if asked is None:
        return refused
    if not refused.topics:
        return node.groups.handle(call, asked)
    return then(node.groups.handle(call, asked), partial(merge_offset_commit, refused))
