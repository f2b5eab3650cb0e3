"""Produce and Fetch, where some partitions of a request may be refused and others not, as Kafka does."""

from __future__ import annotations

from collections.abc import Coroutine
from types import CoroutineType
from typing import TYPE_CHECKING, Any

from msgspec.structs import replace

from barnabas.broker.apis import fetch, produce
from barnabas.broker.call import Call
from barnabas.broker.connection import CloseConnection
from barnabas.broker.fetch_reading import Reading, no_records
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.produce import ProduceRequest, ProduceResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["fetched_topics", "refuse_fetch", "refuse_produce"]

_OF_THE_SESSION = frozenset(
    {
        ErrorCode.FETCH_SESSION_ID_NOT_FOUND,
        ErrorCode.INVALID_FETCH_SESSION_EPOCH,
        ErrorCode.FETCH_SESSION_TOPIC_ID_ERROR,
    }
)
"""All others are said of each partition: of the whole no client expects them."""
_FIRST_WITH_SESSIONS = 7

Answer = ProduceResponse | Coroutine[Any, Any, ProduceResponse | None] | None


def refuse_produce(node: Node, call: Call, request: ProduceRequest, code: ErrorCode, topic: str | None) -> Answer:
    """Records of other topics than that one are appended."""
    error = KafkaError(code, f"the test asked for {code.name}")
    if topic is None:
        return produce.refused(call, request, error)
    refused = [one for one in request.topic_data if _produced_topic(node, call, one) == topic]
    others = [one for one in request.topic_data if _produced_topic(node, call, one) != topic]
    if not others:
        return produce.refused(call, request, error)
    answer = produce.handle(node, call, replace(request, topic_data=others))
    if request.acks == produce.NONE:
        if isinstance(answer, CoroutineType):
            return _cut_after(answer, code)
        raise CloseConnection(_why_cut(code))
    refusals = produce.refused(call, replace(request, topic_data=refused), error)
    if isinstance(answer, CoroutineType):
        return _joined_later(answer, refusals)
    assert isinstance(answer, ProduceResponse)
    answer.responses += refusals.responses
    return answer


async def _joined_later(answer: Coroutine[Any, Any, ProduceResponse | None], more: ProduceResponse) -> ProduceResponse:
    response = await answer
    assert response is not None
    response.responses += more.responses
    return response


async def _cut_after(answer: Coroutine[Any, Any, ProduceResponse | None], code: ErrorCode) -> None:
    await answer
    raise CloseConnection(_why_cut(code))


def _why_cut(code: ErrorCode) -> str:
    return f"Produce with acks=0 was refused with {code.name}, as the test asked"


def _produced_topic(node: Node, call: Call, one: Any) -> str | None:
    if call.version < produce.FIRST_WITH_TOPIC_IDS:
        name: str = one.name
        return name
    found = node.image.topics.by_id.get(one.topic_id)
    return None if found is None else found.name


def refuse_fetch(node: Node, call: Call, request: FetchRequest, code: ErrorCode, topic: str | None) -> FetchResponse:
    """Answered at once. Other topics than that one are told with what there is of them."""
    if code in _OF_THE_SESSION and call.version >= _FIRST_WITH_SESSIONS:
        return FetchResponse(error_code=code)
    sessions, now_ms = node.fetch_sessions, node.clock.steady.now_ms()
    name_of = node.topics.name_of if call.version >= fetch.FIRST_WITH_TOPIC_IDS else None
    exchange = sessions.open(request, name_of, now_ms=now_ms)
    reading = Reading(node, call, request, exchange, min(request.max_bytes, node.config.fetch_max_bytes))
    reading.read()
    results = [result for result in reading.results if topic is not None and result[0].name != topic]
    results += [
        (followed, no_records(followed.partition.partition, code))
        for followed in exchange.partitions
        if topic is None or followed.name == topic
    ]
    error, session_id, told = sessions.close(exchange, results, now_ms=now_ms)
    return FetchResponse(error_code=error, session_id=session_id, responses=fetch.by_topic(told))


def fetched_topics(node: Node, request: FetchRequest) -> set[str]:
    """Those of its session too, which it does not name again."""
    session = node.fetch_sessions.get(request.session_id)
    if session is None:
        return set()
    return {followed.name for followed in session.partitions.values() if followed.name is not None}
