"""A controller without a log: decisions are applied as soon as they are made, and come out as lines."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import count
from typing import Any

from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.heartbeat import heartbeat
from barnabas.coordination.controller.registration import register_broker
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from barnabas.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from barnabas.protocol.schema import Uuid
from tests.coordination.cluster.described import partition_line, record_line
from tests.coordination.controller.config_rules import TestRules

CLUSTER = "castle"
FAR = 1 << 40


class Scene:
    def __init__(self, version: MetadataVersion = LATEST_METADATA_VERSION, **settings: Any) -> None:
        settings = {"cluster_id": CLUSTER, "node_id": 1, "voter_ids": (1,), **settings}
        self.controller = Controller(ControllerSettings(**settings), TestRules())
        self.ids = fresh_ids()
        self.now_ms = 1_000_000
        self.written: list[MetadataRecord] = []
        self.apply(activate(self.controller, bootstrap_records(version)))
        self.controller.activate(self.now_ms)

    @property
    def next_offset(self) -> int:
        return self.controller.image.next_offset

    def apply(self, outcome: Outcome[MetadataRecord, Any]) -> Any:
        self.controller.apply(outcome, self.next_offset, timestamp_ms=self.now_ms)
        self.written = list(outcome.records)
        return outcome.reply

    def decide(self, decision: Callable[..., Any], *arguments: Any, **named: Any) -> Any:
        return self.apply(decision(self.controller, *arguments, **named))

    def lines(self) -> list[str]:
        """What the last decision wrote."""
        return [record_line(record) for record in self.written]

    def broker(
        self,
        broker_id: int,
        *,
        incarnation: int = 1,
        unfence: bool = True,
        rack: str | None = None,
        directories: int = 1,
        previous_epoch: int = -1,
    ) -> int:
        """Registers a broker, and lets it in. Its error, or 0."""
        request = BrokerRegistrationRequest(
            broker_id=broker_id,
            cluster_id=CLUSTER,
            incarnation_id=Uuid([broker_id, incarnation, *[7] * 14]),
            listeners=[Listener("PLAINTEXT", "localhost", 9092, 0)],
            features=[Feature(name, *levels) for name, levels in SUPPORTED_FEATURES.items()],
            rack=rack,
            log_dirs=[directory(broker_id, number) for number in range(directories)],
            previous_broker_epoch=previous_epoch,
        )
        reply = self.decide(register_broker, request, 4, next_offset=self.next_offset, now_ms=self.now_ms)
        if unfence and not reply.error_code:
            written = self.written
            self.beat(broker_id)
            self.written = [*written, *self.written]
        return int(reply.error_code)

    def beat(self, broker_id: int, **fields: Any) -> Any:
        fields.setdefault("current_metadata_offset", FAR)
        epoch = self.controller.image.brokers[broker_id].epoch
        request = BrokerHeartbeatRequest(broker_id=broker_id, broker_epoch=epoch, **fields)
        return self.decide(heartbeat, request, now_ms=self.now_ms)

    def topic(self, name: str, *replicas: list[int]) -> None:
        assignments = [CreatableReplicaAssignment(number, each) for number, each in enumerate(replicas)]
        request = CreateTopicsRequest(topics=[CreatableTopic(name, -1, -1, assignments)])
        reply = self.decide(create_topics, request, topic_ids=self.ids, seed=0)
        assert reply.topics[0].error_code == 0, reply

    def partition(self, topic: str, number: int = 0) -> Partition:
        return self.controller.image.topics.by_name[topic].partitions[number]

    def partitions(self, topic: str) -> list[str]:
        partitions = self.controller.image.topics.by_name[topic].partitions
        return [partition_line(partitions[number]) for number in sorted(partitions)]


def directory(broker_id: int, number: int = 0) -> Uuid:
    return Uuid([200, broker_id, number, *[1] * 13])


def fresh_ids() -> Iterator[Uuid]:
    return (Uuid([100, *number.to_bytes(15, "big")]) for number in count(1))
