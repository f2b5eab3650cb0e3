"""Apache Kafka and Barnabas side by side: both are asked the same, and have to answer the same, field by field.

What each draws at random is translated: topics have the same names and other ids, sessions other numbers, addresses
other ports. Of words for people only is compared whether there are any.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeVar

from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.control import control_record_type
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.record import read_records
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode

M = TypeVar("M", bound=Message)

NOW = "a time"
RECENT_MS = time.time_ns() // 1_000_000 - 3_600_000
"""What is later was set by a broker's clock, or by that of the tests."""
UNORDERED = {"ProduceResponse.responses", "TopicProduceResponse.partition_responses"} | {
    "ListOffsetsResponse.topics",
    "ListOffsetsTopicResponse.partitions",
}
"""Kafka answers these as its hash tables have them."""


class Side:
    def __init__(self, name: str, host: str, port: int) -> None:
        self.name = name
        self.address = host, port
        self.client = RawClient(host, port)
        self.topic_ids: dict[str, Uuid] = {"nowhere": Uuid(b"n" * 16)}
        self.producer_ids: list[int] = []
        self.session_id = 0
        """Of the last Fetch."""

    def reconnect(self) -> None:
        self.client.__exit__(None, None, None)
        self.client = RawClient(*self.address)

    def ask(self, request: Message, version: int, answer: type[M]) -> M | None:
        """None if the connection ends instead."""
        try:
            return self.client.ask(request, version, answer)
        except ConnectionError:
            self.reconnect()
            return None
        except TimeoutError:
            self.reconnect()
            raise AssertionError(f"{self.name} does not answer") from None

    def told(self, value: Any, place: str = "") -> Any:
        """An answer as plain values, without what may differ."""
        if isinstance(value, Struct | Message):
            named = type(value).__name__
            return {one: self.told(getattr(value, one), f"{named}.{one}") for one in value.__struct_fields__}
        if isinstance(value, list):
            items = [self.told(each, place) for each in value]
            return sorted(items, key=repr) if place in UNORDERED else items
        if isinstance(value, Uuid):
            return next((name for name, known in self.topic_ids.items() if known == value), str(value))
        name = place.partition(".")[2]
        if name == "session_id":
            return "a session" if value else 0
        if name == "port" and place.startswith("NodeEndpoint"):
            return "a port"
        if name == "producer_id":
            return self.producer_ids.index(value) if value in self.producer_ids else value
        if name in ("error_message", "batch_index_error_message"):
            return value is not None
        if name == "log_append_time_ms":
            return NOW if value > 0 else value
        if name == "error_code":
            return ErrorCode(value).name
        if name == "timestamp" and value > RECENT_MS:
            return NOW
        if name == "records" and value is not None:
            return self._records(value)
        return value

    def _records(self, data: Any) -> Any:
        told: list[Any] = []
        for batch in iterate_batches(data):
            header = (batch.base_offset, batch.size, batch.partition_leader_epoch, batch.compression.name)
            if batch.control:
                told.append((*header, [control_record_type(each.key or b"").name for each in read_records(batch)]))
                continue
            late = batch.timestamp_type.name == "LOG_APPEND_TIME"
            records = [
                (each.offset, each.key, each.value, NOW if late else each.timestamp) for each in read_records(batch)
            ]
            told.append((*header, batch.timestamp_type.name, records))
        return told


class Twins:
    def __init__(self, kafka: KafkaBroker, ours: RunningNode) -> None:
        self.sides = Side("Kafka", kafka.host, kafka.port), Side("Barnabas", *ours.address)
        self.ours = ours
        self.comparisons = 0

    def close(self) -> None:
        for side in self.sides:
            side.client.__exit__(None, None, None)

    def create(self, name: str, partitions: int = 1, **configs: str) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=partitions,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items()],
        )
        for side in self.sides:
            answer = side.client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse)
            assert answer.topics[0].error_code == 0, (side.name, answer)
            side.topic_ids[name] = answer.topics[0].topic_id
            while not _is_led(side, name, partitions):
                pass

    def ask(self, make: Callable[[Side], Message] | Message, version: int, answer: type[M]) -> Any:
        """The answer that both gave, or None if both ended the connection."""
        told = []
        for side in self.sides:
            response = side.ask(make(side) if callable(make) else make, version, answer)
            if isinstance(response, FetchResponse):
                side.session_id = response.session_id
            told.append(None if response is None else side.told(response))
        kafka, ours = told
        if ours != kafka:
            asked = make(self.sides[1]) if callable(make) else make
            raise AssertionError("\n".join([f"v{version} of {asked}"[:1000], *differences(kafka, ours)]))
        self.comparisons += 1
        return ours

    def fetch(self, make: Callable[[Side], FetchRequest] | FetchRequest, version: int) -> Any:
        return self.ask(make, version, FetchResponse)


def differences(kafka: Any, ours: Any, place: str = "") -> Iterator[str]:
    if isinstance(kafka, dict) and isinstance(ours, dict):
        for name in kafka:
            yield from differences(kafka[name], ours[name], f"{place}.{name}")
    elif isinstance(kafka, list) and isinstance(ours, list) and len(kafka) == len(ours):
        for number, (theirs, own) in enumerate(zip(kafka, ours, strict=True)):
            yield from differences(theirs, own, f"{place}[{number}]")
    elif kafka != ours:
        yield f"{place}: Kafka {kafka!r}, Barnabas {ours!r}"


def _is_led(side: Side, topic: str, partitions: int) -> bool:
    """Kafka answers CreateTopics before the brokers have heard of it."""
    wanted = [ListOffsetsPartition(partition_index=number, timestamp=-2) for number in range(partitions)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=wanted)])
    (answered,) = side.client.ask(request, 7, ListOffsetsResponse).topics
    return not any(one.error_code for one in answered.partitions)


def codes(answer: Any) -> Sequence[str]:
    """Of all partitions of an answer."""
    if isinstance(answer, dict):
        own = [answer["error_code"]] if "error_code" in answer and "partition_index" in answer else []
        own += [answer["error_code"]] if "error_code" in answer and "index" in answer else []
        return [*own, *(code for value in answer.values() for code in codes(value))]
    if isinstance(answer, list):
        return [code for each in answer for code in codes(each)]
    return []
