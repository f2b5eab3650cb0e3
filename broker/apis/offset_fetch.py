"""OffsetFetch, versions 1 to 10: of one group, from version 8 on of many; topics by id from version 10 on."""

from __future__ import annotations

from collections import deque
from collections.abc import Coroutine
from functools import partial
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from barnabas.broker.call import Call
from barnabas.broker.later import then
from barnabas.coordination.groups import offset_fetch_response, requested_groups
from barnabas.coordination.groups.broker_checks import check_offset_fetch, merge_offset_fetch
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchResponse,
    OffsetFetchResponseGroup,
    OffsetFetchResponseTopics,
)
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_MANY_GROUPS = 8

Checked = list[tuple[OffsetFetchRequestGroup, list[OffsetFetchResponseTopics]]]


def handle(node: Node, call: Call, request: OffsetFetchRequest) -> Message | Coroutine[Any, Any, Message]:
    if call.version < FIRST_WITH_MANY_GROUPS:
        # Its topics go by name, and what was committed for those that are gone is told.
        return node.groups.handle(call, request)
    checked: Checked = []
    for group in requested_groups(request, call.version):
        asked, refused = check_offset_fetch(group, call.version, node.topics)
        checked.append((asked, list(refused)))
    answer = node.groups.handle(call, replace(request, groups=[asked for asked, _ in checked]))
    return then(answer, partial(_merged, node, call, checked))


def _merged(node: Node, call: Call, checked: Checked, answer: OffsetFetchResponse) -> Message:
    """In the order in which the groups were asked for; one that was asked for twice is answered twice."""
    answered: dict[str, deque[OffsetFetchResponseGroup]] = {}
    for group in answer.groups:
        answered.setdefault(group.group_id, deque()).append(group)
    groups = [
        merge_offset_fetch(asked, answered[asked.group_id].popleft(), refused, call.version, node.topics)
        for asked, refused in checked
    ]
    return offset_fetch_response(groups, call.version)
