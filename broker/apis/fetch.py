"""Fetch, versions 4 to 18: batches from offsets on, of partitions that have a replica here: followers, and consumers
before version 11, read from leaders alone. A follower's Fetch says what it has, and so decides what counts.

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
from barnabas.broker.fetch_reader import replica_of
from barnabas.broker.fetch_reading import Reading, no_records
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
    of_follower = replica_of(request) >= 0
    exchange = node.fetch_sessions.open(
        request,
        node.topics.name_of if call.version >= FIRST_WITH_TOPIC_IDS else None,
        now_ms=node.clock.steady.now_ms(),
        of_follower=of_follower,
    )
    max_bytes = min(request.max_bytes, node.config.fetch_max_bytes)
    if node.throttles is not None and not of_follower:
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
    if scope.cancelled_caught and reading.reader.is_follower:
        # It waits for records alone, and is told now of what counts since it came.
        reading.read()
    call.connection.on_gone = None
    return _answer(node, call, exchange, reading)


def _answer(node: Node, call: Call, exchange: Exchange, reading: Reading) -> FetchResponse:
    if reading.is_unsayable:
        raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, "version 12 is the first that tells of a diverging log")
    if node.throttles is not None and not reading.reader.is_follower:
        told = reading.results
        if exchange.session is not None:
            told = [result for result in told if result[0].is_news(result[1])]
        if node.throttles.charge_fetch(call, _size(call, told)):
            error, session_id = node.fetch_sessions.withhold(exchange)
            return FetchResponse(error_code=error, session_id=session_id)
    now_ms = node.clock.steady.now_ms()
    error, session_id, results = node.fetch_sessions.close(exchange, reading.results, now_ms=now_ms)
    if reading.reader.is_follower:
        _count_throttled(node, call, results, now_ms)
    return FetchResponse(
        error_code=error,
        session_id=session_id,
        responses=by_topic(results),
        node_endpoints=list(reading.endpoints.values()),
    )


def _count_throttled(node: Node, call: Call, results: Iterable[Result], now_ms: int) -> None:
    """Whether or not it is in sync: what throttled replicas get is what the rate is of."""
    quota = node.replica_throttles.leader
    throttled = [
        (followed, data)
        for followed, data in results
        if followed.name is not None and quota.is_throttled(followed.name, data.partition_index)
    ]
    if throttled:
        quota.record(_size(call, throttled), now_ms)


def _size(call: Call, results: Iterable[Result]) -> int:
    """Of an answer with these."""
    frame = encode_response(call.api, call.version, 0, FetchResponse(responses=by_topic(results)))
    header_bytes = 4 + call.api.response_header_version(call.version)
    return sum(map(len, frame)) - header_bytes


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
