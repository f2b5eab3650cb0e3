"""Apache Kafka and a node of ours, side by side: both are asked the same, and have to answer the same in each field."""

from __future__ import annotations

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

from barnabas.protocol.apis import APIS
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
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.protocol.schema import Message, Struct, Uuid
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode
from .told import Translation, differences

M = TypeVar("M", bound=Message)

PATIENCE_S = 5.0
LATEST = 10**6


class Side:
    """One of the two: a client of it, and what it calls things."""

    def __init__(self, name: str, address: tuple[str, int], directory: Path) -> None:
        self.name = name
        self.address = address
        self.directory = directory
        self.client = RawClient(*address)
        self.translation = Translation(directory)
        self.topic_ids = self.translation.topic_ids
        self.producer_ids = self.translation.producer_ids

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

    def told(self, answer: Message | None) -> Any:
        return None if answer is None else self.translation.told(answer)

    def topic_id(self, name: str) -> Uuid:
        request = MetadataRequest(topics=[MetadataRequestTopic(name=name)], allow_auto_topic_creation=False)
        (topic,) = self.client.ask(request, 12, MetadataResponse).topics
        return topic.topic_id

    def path(self, name: str) -> str:
        return str(self.directory / name)


Request = Message | Callable[[Side], Message]


class Twins:
    def __init__(self, kafka: KafkaBroker, node: RunningNode, kafka_directory: Path | None = None) -> None:
        """`kafka_directory` stands to Kafka's paths as the node's directory to the node's."""
        self.kafka = Side("Kafka", (kafka.host, kafka.port), kafka_directory or kafka.data_directory)
        self.ours = Side("Barnabas", node.address, node.directory)
        self.node = node
        self.comparisons = 0

    def __repr__(self) -> str:
        return "\n".join(self.node.lines[-3:])

    @property
    def sides(self) -> tuple[Side, Side]:
        return self.kafka, self.ours

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

    def ask(self, make: Request, version: int, answer: type[Message], *, settles: bool = False) -> Any:
        """What both answered, or None if both ended the connection. `settles`: Kafka may need a moment to get there,
        since its brokers learn later what its controller has decided, and both move logs while they answer."""
        deadline = time.monotonic() + (PATIENCE_S if settles else 0)
        while True:
            kafka, ours = (self._told(side, make, version, answer) for side in self.sides)
            if ours == kafka or time.monotonic() >= deadline:
                break
        if ours != kafka:
            asked = _made(make, self.ours)
            raise AssertionError("\n".join([f"v{version} of {asked}"[:1000], *differences(kafka, ours)]))
        self.comparisons += 1
        return ours

    def fetch(self, make: Callable[[Side], FetchRequest] | FetchRequest, version: int) -> Any:
        return self.ask(make, version, FetchResponse)

    def same(self, make: Request, version: int, *, settles: bool = False) -> Any:
        """As `ask`, and both do answer. What the version cannot say is left out of the request."""

        def fitting(side: Side) -> Message:
            message = fitted(_made(make, side), version)
            assert isinstance(message, Message)
            return message

        answer = APIS[_made(make, self.ours).__definition__.key].response
        told = self.ask(fitting, version, answer, settles=settles)
        assert told is not None, f"v{version} of {_made(make, self.ours)} is not answered"
        return told

    def same_at_all(self, make: Callable[[int], Request] | Message, *, settles: bool = False) -> None:
        """At every version that the API is advertised with; the request may depend on it."""

        def at(version: int) -> Request:
            return make if isinstance(make, Message) else make(version)

        api = APIS[_made(at(LATEST), self.ours).__definition__.key]
        for version in range(api.first_advertised, api.last_stable + 1):
            self.same(at(version), version, settles=settles)

    def _told(self, side: Side, make: Request, version: int, answer: type[Message]) -> Any:
        response = side.ask(_made(make, side), version, answer)
        return side.told(response)


def _made(make: Request, side: Side) -> Message:
    return make if isinstance(make, Message) else make(side)


def fitted(value: Any, version: int) -> Any:
    """Without the fields that a version has not."""
    if isinstance(value, list):
        return [fitted(part, version) for part in value]
    if not isinstance(value, Struct):
        return value
    made = type(value)()
    for field in value.__fields__:
        if version in field.versions:
            setattr(made, field.name, fitted(getattr(value, field.name), version))
    return made


def _is_led(side: Side, topic: str, partitions: int) -> bool:
    """Kafka answers CreateTopics before the brokers have heard of it."""
    wanted = [ListOffsetsPartition(partition_index=number, timestamp=-2) for number in range(partitions)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=wanted)])
    (answered,) = side.client.ask(request, 7, ListOffsetsResponse).topics
    return not any(one.error_code for one in answered.partitions)
