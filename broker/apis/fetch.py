"""Fetch, versions 4 to 18: batches from offsets on, of partitions that are led here.

Too few bytes: the answer waits for the watermarks, at most max.wait; an error, or a log that took another way, is told
at once. The first partition that has anything gives at least one whole batch, however small the limits are. Version 7
brought sessions (coordination/fetching/sessions.py), version 13 names topics by id, version 16 says where a partition
is led instead.
"""

from __future__ import annotations

from collections.abc import Coroutine, Iterable
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.call import Call
from barnabas.broker.fetch_reading import Reading, no_records, replica_of
from barnabas.broker.isolation import check_isolation
from barnabas.coordination.fetching.sessions import Exchange, Result
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.frames import encode_response
from barnabas.protocol.messages.fetch import FetchableTopicResponse, FetchRequest, FetchResponse
from barnabas.protocol.schema import Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_TOPIC_IDS = 13


def handle(node: Node, call: Call, request: FetchRequest) -> FetchResponse | Coroutine[Any, Any, FetchResponse]:
    exchange = node.fetch_sessions.open(
        request,
        node.topics.name_of if call.version >= FIRST_WITH_TOPIC_IDS else None,
        now_ms=node.clock.steady.now_ms(),
        of_follower=replica_of(request) >= 0,
    )
    max_bytes = min(request.max_bytes, node.config.fetch_max_bytes)
    if node.throttles is not None and not exchange.of_follower:
        max_bytes = min(max_bytes, node.throttles.fetch_max_bytes(call))
    reading = Reading(node, call, request, exchange, max_bytes)
    reading.read()
    if reading.is_of_any:
        check_isolation(request.isolation_level)
    if reading.is_enough or request.max_wait_ms <= 0 or reading.lags:
        return _answer(node, call, exchange, reading)
    reading.watch()
    # Nobody waits for the answer of a client that has gone: it goes nowhere, and goes there now.
    scope = trio.CancelScope()
    call.connection.on_gone = scope.cancel
    return _wait(node, call, exchange, reading, scope, request.max_wait_ms)


def refused(call: Call, request: FetchRequest, error: KafkaError) -> FetchResponse:
    """Clients of old versions look for errors at the partitions only."""
    answer = FetchResponse(error_code=error.code, session_id=request.session_id)
    if call.version < FIRST_WITH_TOPIC_IDS:
        answer.responses = [
            FetchableTopicResponse(
                topic=topic.topic, partitions=[no_records(one.partition, error.code) for one in topic.partitions]
            )
            for topic in request.topics
        ]
    return answer


async def _wait(
    node: Node, call: Call, exchange: Exchange, reading: Reading, scope: trio.CancelScope, max_wait_ms: int
) -> FetchResponse:
    with scope:
        scope.deadline = trio.current_time() + max_wait_ms / 1000
        while True:
            await reading.news()
            reading.read()
            if reading.is_enough or reading.lags:
                break
            reading.watch()
    call.connection.on_gone = None
    return _answer(node, call, exchange, reading)


def _answer(node: Node, call: Call, exchange: Exchange, reading: Reading) -> FetchResponse:
    if reading.is_unsayable:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "version 12 is the first that tells of a diverging log")
    if node.throttles is not None and not exchange.of_follower:
        told = reading.results
        if exchange.session is not None:
            told = [result for result in told if result[0].is_news(result[1])]
        frame = encode_response(call.api, call.version, 0, FetchResponse(responses=by_topic(told)))
        header_bytes = 4 + call.api.response_header_version(call.version)
        if node.throttles.charge_fetch(call, sum(map(len, frame)) - header_bytes):
            error, session_id = node.fetch_sessions.withhold(exchange)
            return FetchResponse(error_code=error, session_id=session_id)
    error, session_id, results = node.fetch_sessions.close(exchange, reading.results, now_ms=node.clock.steady.now_ms())
    return FetchResponse(
        error_code=error,
        session_id=session_id,
        responses=by_topic(results),
        node_endpoints=list(reading.endpoints.values()),
    )


def by_topic(results: Iterable[Result]) -> list[FetchableTopicResponse]:
    """In their order: a topic stands as often as others come between its partitions."""
    responses: list[FetchableTopicResponse] = []
    last: str | bytes | None = None
    for followed, data in results:
        # One id may stand there with and without its name, if its topic went during a session.
        topic = followed.name or "" if followed.topic_id == Uuid.ZERO else followed.topic_id
        if topic != last:
            last = topic
            responses.append(FetchableTopicResponse(topic=followed.name or "", topic_id=followed.topic_id))
        responses[-1].partitions.append(data)
    return responses
