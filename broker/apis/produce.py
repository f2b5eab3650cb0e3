"""Produce, versions 3 to 13: append record batches to partitions that are led here.

Every partition of a request stands for itself: one that is refused does not keep others from being appended. With
acks=0 there is no answer; if anything was refused, the connection ends, which is how the client learns of it. With
acks=1 a record counts when it is here, with acks=-1 when all replicas in sync have it. Version 13 names topics by id.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, NamedTuple

import trio

from barnabas.broker.call import Call
from barnabas.broker.connection import CloseConnection
from barnabas.broker.producing import TakesLong, prepared, prepared_in_a_thread
from barnabas.protocol.batch_rules import RecordsRefused, produced_batch
from barnabas.protocol.batches import ATTRIBUTES_AT, HEADER_BYTES, LEADER_EPOCH_AT, MAGIC_AT, Batch, batch_at
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.produce import (
    BatchIndexAndErrorMessage,
    LeaderIdAndEpoch,
    NodeEndpoint,
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
    TopicProduceResponse,
)
from barnabas.protocol.schema import Uuid
from barnabas.protocol.varint import Bytes
from barnabas.replication.partition import Partition
from barnabas.replication.watermark import Watermark
from barnabas.storage.topic_config import TopicConfig

if TYPE_CHECKING:
    from barnabas.broker.node import Node

NONE, LEADER, ALL_IN_SYNC = 0, 1, -1

FIRST_WITH_TOPIC_IDS = 13
FIRST_WITH_LEADERS = 10

MAGIC = 2
LENGTH_AT = 8
SHORTEST = 14
"""A length that is less can be no message of any magic."""
TRANSACTIONAL = 0x10
"""A bit of a batch's attributes."""

WITHOUT_START = frozenset(
    {
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.MESSAGE_TOO_LARGE,
        ErrorCode.RECORD_LIST_TOO_LARGE,
        ErrorCode.CORRUPT_MESSAGE,
        ErrorCode.KAFKA_STORAGE_ERROR,
    }
)
"""Whoever gets another error from the log itself is told where it begins."""


class Late(NamedTuple):
    """A batch that is looked at while others are served; its place in the answer is kept."""

    name: str
    data: PartitionProduceData
    responses: list[PartitionProduceResponse]
    place: int


class Unacknowledged(NamedTuple):
    """What is appended and does not count yet."""

    partition: Partition
    counts: Watermark
    """Of this leader's time: who leads again later may have given up the records."""
    next_offset: int
    response: PartitionProduceResponse


def handle(
    node: Node, call: Call, request: ProduceRequest
) -> ProduceResponse | Coroutine[Any, Any, ProduceResponse | None] | None:
    _check_first_batches(request)
    now_ms = node.clock.now_ms()
    waits: list[Unacknowledged] = []
    late: list[Late] = []
    answer = ProduceResponse()
    for topic in _by_topic(request.topic_data):
        name = _name_of(node, call, topic)
        responses: list[PartitionProduceResponse] = []
        for one in topic.partition_data:
            try:
                responses.append(_produce(node, call, request.acks, name, one, now_ms, waits))
            except TakesLong:
                assert name is not None
                late.append(Late(name, one, responses, len(responses)))
                responses.append(PartitionProduceResponse(index=one.index))
        answer.responses.append(
            TopicProduceResponse(name=topic.name, topic_id=topic.topic_id, partition_responses=responses)
        )
    if late:
        return _in_their_time(node, call, request, answer, waits, late)
    return _answered(node, call, request, answer, waits)


def _answered(
    node: Node, call: Call, request: ProduceRequest, answer: ProduceResponse, waits: list[Unacknowledged]
) -> ProduceResponse | Coroutine[Any, Any, ProduceResponse] | None:
    if request.acks == NONE:
        refused = [one for topic in answer.responses for one in topic.partition_responses if one.error_code]
        if refused:
            code = ErrorCode(refused[0].error_code).name
            raise CloseConnection(f"Produce with acks=0 was refused for {len(refused)} partitions, first with {code}")
        return None
    if call.version >= FIRST_WITH_LEADERS:
        _name_leaders(node, call, answer)
    return _acknowledged(node, call, answer, waits, request) if waits else answer


def refused(_call: Call, request: ProduceRequest, error: KafkaError) -> ProduceResponse:
    if request.acks == NONE:
        raise CloseConnection(f"Produce with acks=0 was refused with {error.code.name}")
    message = str(error) if error.code == ErrorCode.CORRUPT_MESSAGE else None
    return ProduceResponse(
        responses=[
            TopicProduceResponse(
                name=topic.name,
                topic_id=topic.topic_id,
                partition_responses=[
                    PartitionProduceResponse(
                        index=one.index, error_code=error.code, base_offset=-1, error_message=message
                    )
                    for one in topic.partition_data
                ],
            )
            for topic in _by_topic(request.topic_data)
        ]
    )


def _check_first_batches(request: ProduceRequest) -> None:
    """Two things that refuse all of a request: bytes that can be no batch, and a transaction without an id."""
    for topic in request.topic_data:
        for one in topic.partition_data:
            records: Bytes = one.records or b""  # type: ignore[assignment] # they have just been read
            if len(records) >= HEADER_BYTES and records[MAGIC_AT] == MAGIC:
                if int.from_bytes(records[LENGTH_AT:LEADER_EPOCH_AT], signed=True) < SHORTEST:
                    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, "a record batch is shorter than any message can be")
                transactional = records[ATTRIBUTES_AT + 1] & TRANSACTIONAL
            else:
                try:
                    batch = batch_at(records)
                except MalformedFrame as error:
                    raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
                transactional = batch is not None and batch.transactional
            if transactional and request.transactional_id is None:
                raise KafkaError(
                    ErrorCode.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
                    "a batch belongs to a transaction, and the request has no transactional id",
                )


def _by_topic(topics: list[TopicProduceData]) -> list[TopicProduceData]:
    """Each topic once that has partitions, and each of those once, with the last of what is there for it."""
    if len(topics) == 1 and len(topics[0].partition_data) == 1:
        return topics
    merged: dict[tuple[str, Uuid], dict[int, PartitionProduceData]] = {}
    for topic in topics:
        known = merged.setdefault((topic.name, topic.topic_id), {})
        known.update((one.index, one) for one in topic.partition_data)
    return [
        TopicProduceData(name=name, topic_id=topic_id, partition_data=list(parts.values()))
        for (name, topic_id), parts in merged.items()
        if parts
    ]


def _name_leaders(node: Node, call: Call, answer: ProduceResponse) -> None:
    """Where the leaders are that a refusal names."""
    leaders = {
        one.current_leader.leader_id
        for topic in answer.responses
        for one in topic.partition_responses
        if one.current_leader is not None
    }
    if leaders:
        answer.node_endpoints = [
            NodeEndpoint(node_id=broker_id, host=host, port=port, rack=rack)
            for broker_id, host, port, rack in node.brokers_for(call.connection)
            if broker_id in leaders
        ]


def _name_of(node: Node, call: Call, topic: TopicProduceData) -> str | None:
    if call.version < FIRST_WITH_TOPIC_IDS:
        return topic.name
    found = node.image.topics.by_id.get(topic.topic_id)
    return None if found is None else found.name


def _produce(
    node: Node,
    call: Call,
    acks: int,
    name: str | None,
    data: PartitionProduceData,
    now_ms: int,
    waits: list[Unacknowledged],
    prepared: Callable[[Batch, TopicConfig, int], Batch] = prepared,
) -> PartitionProduceResponse:
    partition: Partition | None = None
    try:
        if name is None:
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
        here = node.partitions.find(name, data.index)
        if here is None and not node.has_partition(name, data.index):
            raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
        batch = produced_batch(data.records or b"", call.version)  # type: ignore[arg-type] # it has just been read
        if acks not in (NONE, LEADER, ALL_IN_SYNC):
            raise KafkaError(ErrorCode.INVALID_REQUIRED_ACKS)
        if name in node.internal_topics and call.client_id != "__admin_client":
            raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION)
        partition = here if here is not None else node.partition(name, data.index)
        batch = prepared(batch, partition.log.config, now_ms)
        appended = partition.append((batch,), now_ms, all_in_sync=acks == ALL_IN_SYNC)
    except KafkaError as error:
        response = _refused(node, call, name, data.index, error)
        if partition is not None and error.code not in WITHOUT_START:
            response.log_start_offset = partition.log.start_offset
        return response
    response = PartitionProduceResponse(
        index=data.index,
        base_offset=appended.first_offset,
        log_append_time_ms=appended.append_time_ms,
        log_start_offset=partition.log.start_offset,
    )
    if acks:
        counts = partition.high_watermark if acks == ALL_IN_SYNC else partition.safe
        if counts.offset <= appended.last_offset:
            waits.append(Unacknowledged(partition, counts, appended.last_offset + 1, response))
        elif acks == ALL_IN_SYNC and partition.leading is not None and partition.leading.lacks_replicas:
            response.error_code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    return response


async def _in_their_time(
    node: Node,
    call: Call,
    request: ProduceRequest,
    answer: ProduceResponse,
    waits: list[Unacknowledged],
    late: list[Late],
) -> ProduceResponse | None:
    for name, data, responses, place in late:
        now_ms = node.clock.now_ms()
        ready = await prepared_in_a_thread(data.records, call.version, node.topic_config(name), now_ms)  # type: ignore[arg-type] # it has just been read
        responses[place] = _produce(node, call, request.acks, name, data, now_ms, waits, ready)
    answered = _answered(node, call, request, answer, waits)
    return await answered if isinstance(answered, Coroutine) else answered


def _refused(node: Node, call: Call, name: str | None, index: int, error: KafkaError) -> PartitionProduceResponse:
    node.note_refusal(call, name, index, error)
    response = PartitionProduceResponse(index=index, error_code=error.code, base_offset=-1)
    if isinstance(error, RecordsRefused):
        response.error_message = str(error)
        response.record_errors = [
            BatchIndexAndErrorMessage(batch_index=number, batch_index_error_message=why)
            for number, why in error.record_errors
        ]
    if error.code == ErrorCode.NOT_LEADER_OR_FOLLOWER and call.version >= FIRST_WITH_LEADERS and name is not None:
        _name_leader(node, response, name)
    return response


def _name_leader(node: Node, response: PartitionProduceResponse, topic: str) -> None:
    leader, epoch = node.leader_of(topic, response.index)
    response.current_leader = LeaderIdAndEpoch(leader_id=leader, leader_epoch=epoch)


async def _acknowledged(
    node: Node, call: Call, answer: ProduceResponse, waits: list[Unacknowledged], request: ProduceRequest
) -> ProduceResponse:
    """When everything counts, or the client's patience ends."""
    with trio.move_on_after(max(request.timeout_ms, 0) / 1000):
        for _, counts, next_offset, response in waits:
            try:
                await counts.reaches(next_offset)
            except KafkaError as error:
                response.error_code = error.code
    for partition, counts, next_offset, response in waits:
        if response.error_code:
            if response.error_code == ErrorCode.NOT_LEADER_OR_FOLLOWER and call.version >= FIRST_WITH_LEADERS:
                _name_leader(node, response, partition.name.topic)
        elif counts.offset < next_offset:
            response.error_code = ErrorCode.REQUEST_TIMED_OUT
        elif request.acks == ALL_IN_SYNC and partition.leading is not None and partition.leading.lacks_replicas:
            # They count, and with fewer than were asked for: some may have gone since the records were taken.
            response.error_code = ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
    if call.version >= FIRST_WITH_LEADERS:
        _name_leaders(node, call, answer)
    return answer
