"""Apache Kafka's brokers in a cluster whose controller is ours."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack, suppress
from functools import partial
from pathlib import Path
from types import TracebackType
from typing import Self

from barnabas.broker.node import Node
from barnabas.coordination.cluster.partition import Partition
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.record import read_records
from tests.broker.controller_door.door import ControllerNode
from tests.clients.waiting import wait_until
from tests.cluster.asking import metadata
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

__all__ = ["KafkaCluster"]

SESSION_MS = 3_000
QUICK = {"broker.heartbeat.interval.ms": "300", "replica.lag.time.max.ms": "3000"}


class KafkaCluster:
    def __init__(self, classpath: str, directory: Path, *, cordoned: bool = True, **settings: str) -> None:
        """A node of ours, which is `cordoned`: it controls, and gets no partition that is not put there by name."""
        self._classpath = classpath
        self._directory = directory
        self.node = ControllerNode(directory / "controller", broker_session_timeout_ms=str(SESSION_MS))
        self.node.settings |= {name.replace("_", "."): value for name, value in settings.items()}
        if cordoned:
            self.node.settings["cordoned.log.dirs"] = "*"
        self.brokers: dict[int, KafkaBroker] = {}
        self._stack = ExitStack()

    def __enter__(self) -> Self:
        self._stack.enter_context(self.node)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._stack.close()

    def broker(self, broker_id: int, **config: str) -> KafkaBroker:
        """It runs, and is in service."""
        broker = KafkaBroker(
            self._classpath,
            self._directory / f"kafka-{broker_id}",
            node_id=broker_id,
            controllers=self.node.controllers,
            cluster_id=self.node.do(lambda node: node.cluster_id),
            config=QUICK | {name.replace("_", "."): value for name, value in config.items()},
        )
        self.brokers[broker_id] = broker
        return self._stack.enter_context(broker)

    @property
    def bootstrap(self) -> str:
        """All Kafka brokers."""
        return ",".join(broker.bootstrap for broker in self.brokers.values())

    def client(self, broker_id: int) -> RawClient:
        broker = self.brokers[broker_id]
        return RawClient(broker.host, broker.port)

    def create(self, client: RawClient, name: str, *replicas: list[int], **configs: str) -> None:
        topic = CreatableTopic(
            name=name,
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(number, each) for number, each in enumerate(replicas)],
            configs=[CreatableTopicConfig(name=key.replace("_", "."), value=text) for key, text in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=10_000)
        (answer,) = client.ask(request, 7, CreateTopicsResponse).topics
        assert answer.error_code == 0, answer
        self.until(lambda node: name in node.image.topics.by_name)
        for broker_id in self.brokers:
            # Those that are away hear of it when they come back; tools ask any of the others.
            with suppress(OSError), self.client(broker_id) as each:
                wait_until(partial(_knows, each, name), f"broker {broker_id} to know {name}")

    # What the controller knows

    def until(self, condition: Callable[[Node], object]) -> None:
        self.node.until(condition)

    def until_led(self, topic: str, number: int, leader: int) -> None:
        self.until(lambda node: node.image.topics.by_name[topic].partitions[number].leader == leader)

    def until_in_sync(self, topic: str, number: int, *replicas: int) -> None:
        self.until(lambda node: set(node.image.topics.by_name[topic].partitions[number].isr) == set(replicas))

    def until_fenced(self, broker_id: int) -> None:
        self.until(lambda node: node.image.brokers[broker_id].fenced)

    def partition(self, topic: str, number: int = 0) -> Partition:
        return self.node.do(lambda node: node.image.topics.by_name[topic].partitions[number])

    # What a broker has

    def records(self, broker_id: int, topic: str, number: int = 0) -> list[bytes]:
        """The values of all records that a consumer gets of this broker, who leads."""
        values: list[bytes] = []
        with self.client(broker_id) as client:
            while True:
                asked = FetchPartition(partition=number, fetch_offset=len(values), partition_max_bytes=1 << 24)
                topics = [FetchTopic(topic=topic, partitions=[asked])]
                request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics, session_epoch=-1)
                (data,) = client.ask(request, 12, FetchResponse).responses[0].partitions
                assert data.error_code == 0, data
                batches = list(iterate_batches(data.records or b""))  # type: ignore[arg-type] # it came over a socket
                if not batches:
                    assert len(values) == data.high_watermark
                    return values
                for batch in batches:
                    for record in read_records(batch):
                        assert record.offset == len(values)
                        values.append(record.value or b"")


def _knows(client: RawClient, topic: str) -> bool:
    return not metadata(client, topic).topics[0].error_code
