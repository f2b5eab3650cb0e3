"""Topics made, deleted, listed and written to by a test, without a client.

What only some tests need is loaded when it is: a broker shall be there in a moment.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING

import trio

from barnabas.broker.auto_creation import INTERNAL_TOPICS
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record as NewRecord
from barnabas.testing.asking import ask
from barnabas.testing.reading import find_topic
from barnabas.testing.record import Record
from barnabas.testing.settings import as_text

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Headers", "append", "create", "delete", "listed", "new_record", "number_of_partitions"]

TIMEOUT_MS = 10_000

Headers = Mapping[str, bytes | str | None] | Iterable[tuple[str, bytes | str | None]]


async def create(
    node: Node,
    name: str,
    partitions: int | None,
    config: Mapping[str, object],
    replicas: Sequence[Sequence[int]] | None = None,
) -> None:
    from barnabas.protocol.messages.create_topics import (
        CreatableReplicaAssignment,
        CreatableTopic,
        CreatableTopicConfig,
        CreateTopicsRequest,
        CreateTopicsResponse,
    )

    configs = [CreatableTopicConfig(name=key, value=as_text(value)) for key, value in config.items()]
    topic = CreatableTopic(
        name=name, num_partitions=number_of_partitions(partitions), replication_factor=-1, configs=configs
    )
    if replicas is not None:
        topic.assignments = [
            CreatableReplicaAssignment(partition_index=number, broker_ids=list(ids))
            for number, ids in enumerate(replicas)
        ]
    answer = await ask(node, CreateTopicsRequest(topics=[topic]), CreateTopicsResponse)
    for one in answer.topics:
        _check(one.error_code, one.error_message, f"the topic {name} cannot be created")


def number_of_partitions(partitions: int | None) -> int:
    """As Kafka is told: who says nothing gets num.partitions."""
    if partitions is None:
        return -1
    if not isinstance(partitions, int) or isinstance(partitions, bool) or partitions < 1:
        raise ValueError(f"partitions={partitions!r}: a topic has 1 partition or more")
    return partitions


async def delete(node: Node, name: str) -> None:
    from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState

    find_topic(node, name)
    request = DeleteTopicsRequest(topics=[DeleteTopicState(name=name)], timeout_ms=TIMEOUT_MS)
    answer = await ask(node, request, DeleteTopicsResponse)
    for one in answer.responses:
        _check(one.error_code, one.error_message, f"the topic {name} cannot be deleted")


def listed(node: Node) -> dict[str, int]:
    found = {topic.name: len(topic.partitions) for topic in node.image.topics if topic.name not in INTERNAL_TOPICS}
    return dict(sorted(found.items()))


async def append(node: Node, topic: str, partition: int | None, record: NewRecord) -> Record:
    """As a producer would with acks=all; a topic that is not there is made, where clients' requests would make it."""
    from barnabas.broker.producing import TakesLong, prepared
    from barnabas.protocol.batch_builder import build_batch
    from barnabas.testing.partitioner import partition_of_key

    if topic in INTERNAL_TOPICS:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, f"{topic} is the broker's own: nobody else writes there")
    if topic not in node.image.topics.by_name and node.config.auto_create_topics_enable:
        await create(node, topic, None, {})
    known = find_topic(node, topic, partition)
    if partition is None:
        partition = 0 if record.key is None else partition_of_key(record.key, len(known.partitions))
    led = node.partition(topic, partition)
    now_ms = node.clock.now_ms()
    if record.timestamp < 0:
        record.timestamp = now_ms
    batch = Batch(bytearray(build_batch([record])))
    try:
        batch = prepared(batch, led.log.config, now_ms)
    except TakesLong:
        batch = await trio.to_thread.run_sync(partial(prepared, batch, led.log.config, now_ms, at_once=False))
    appended = led.append((batch,), now_ms, all_in_sync=True)
    await led.high_watermark.reaches(appended.last_offset + 1)
    timestamp = record.timestamp if appended.append_time_ms < 0 else appended.append_time_ms
    return Record(topic, partition, appended.first_offset, timestamp, record.key, record.value, tuple(record.headers))


def new_record(value: object, key: object, headers: Headers, timestamp: int | None) -> NewRecord:
    if timestamp is not None and (not isinstance(timestamp, int) or timestamp < 0):
        raise ValueError(f"timestamp={timestamp!r}: it is in whole milliseconds since 1970, as int(time.time() * 1000)")
    return NewRecord(as_bytes(key), as_bytes(value), as_headers(headers), -1 if timestamp is None else timestamp)


def as_bytes(value: object) -> bytes | None:
    """Bytes as they are, text as UTF-8, None for a tombstone, and anything else as JSON."""
    if value is None or isinstance(value, bytes):
        return value
    if isinstance(value, bytearray | memoryview):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    import json

    return json.dumps(value).encode()


def as_headers(headers: Headers) -> list[tuple[str, bytes | None]]:
    pairs = headers.items() if isinstance(headers, Mapping) else headers
    return [(name, as_bytes(value)) for name, value in pairs]


def _check(error_code: int, message: str | None, what: str) -> None:
    if error_code:
        raise KafkaError(ErrorCode(error_code), f"{what}: {message or 'no more is known'}")
