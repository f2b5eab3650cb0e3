"""Fetch, versions 4 to 18: batches from offsets on, of partitions that are led here.

Too few bytes: the answer waits for the watermarks, at most max.wait. The first partition that has anything gives at
least one whole batch, however small the limits are. Version 13 and later name topics by id.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.call import Call
from barnabas.broker.fetch_reading import Reading, Wanted
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_TOPIC_IDS = 13


def handle(node: Node, call: Call, request: FetchRequest) -> FetchResponse | Coroutine[Any, Any, FetchResponse]:
    reading = Reading(node, call, request, list(_wanted(node, call, request)))
    reading.read()
    if reading.is_enough or request.max_wait_ms <= 0:
        return _answer(reading)
    return _wait(reading, request.max_wait_ms)


def _wanted(node: Node, call: Call, request: FetchRequest) -> Iterable[Wanted]:
    by_id = node.image.topics.by_id
    for topic in request.topics:
        name: str | None = topic.topic
        if call.version >= FIRST_WITH_TOPIC_IDS:
            known = by_id.get(topic.topic_id)
            name = None if known is None else known.name
        for one in topic.partitions:
            yield Wanted(name, topic.topic_id, one)


async def _wait(reading: Reading, max_wait_ms: int) -> FetchResponse:
    with trio.move_on_after(max_wait_ms / 1000):
        while not reading.is_enough:
            await reading.news()
            reading.read()
    return _answer(reading)


def _answer(reading: Reading) -> FetchResponse:
    responses: list[FetchableTopicResponse] = []
    for wanted, data in reading.results:
        topic: FetchableTopicResponse | None = responses[-1] if responses else None
        if topic is None or (topic.topic, topic.topic_id) != (wanted.name or "", wanted.topic_id):
            topic = FetchableTopicResponse(topic=wanted.name or "", topic_id=wanted.topic_id)
            responses.append(topic)
        topic.partitions.append(data)
    return FetchResponse(responses=responses)
