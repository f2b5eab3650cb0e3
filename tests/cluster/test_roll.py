"""A cluster rolls from Apache Kafka to Barnabas, broker by broker and on the same directories, and back, under load."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.broker.running import RunningNode
from tests.clients.crowd import Crowd
from tests.clients.ledgers import TopicLedger
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, partitions
from tests.kafka.broker import HOST, KafkaBroker
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.chaos]

BROKERS = (1, 2, 3)
CONTROLLER = 10
TOPIC, PARTITIONS = "rolled", 3
REPLICATED = {
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "replica.lag.time.max.ms": "5000",
    "min.insync.replicas": "2",
    "group.min.session.timeout.ms": "500",
}


class Rolling:
    """Three brokers, each of which is Kafka's or ours at a time."""

    def __init__(self, classpath: str, directory: Path, stack: ExitStack) -> None:
        self._stack = stack
        controller = KafkaBroker(
            classpath, directory / "controller", node_id=CONTROLLER, controller_only=True, config=REPLICATED
        )
        stack.enter_context(controller)
        self.controllers = f"{HOST}:{controller.controller_port}"
        self._kafka = {
            number: KafkaBroker(
                classpath,
                directory / f"node-{number}",
                node_id=number,
                controllers=self.controllers,
                cluster_id=controller.cluster_id,
                config=REPLICATED,
            )
            for number in BROKERS
        }
        self._ours: dict[int, RunningNode] = {}
        for broker in self._kafka.values():
            stack.enter_context(broker)

    @property
    def bootstrap(self) -> str:
        return ",".join(broker.bootstrap for broker in self._kafka.values())

    def client(self, number: int) -> RawClient:
        return RawClient(HOST, self._kafka[number].port)

    def to_barnabas(self, number: int) -> None:
        kafka = self._kafka[number]
        kafka.stop()
        node = RunningNode(
            kafka.data_directory,
            process_roles="broker",
            node_id=str(number),
            controller_quorum_bootstrap_servers=self.controllers,
            **{key.replace(".", "_"): value for key, value in REPLICATED.items()},  # type: ignore[arg-type]
        )
        self._ours[number] = node.start(kafka.port)
        self._stack.callback(node.stop)

    def to_kafka(self, number: int) -> None:
        self._ours.pop(number).stop()
        self._kafka[number].start()

    def in_sync(self) -> list[int]:
        with self.client(BROKERS[0]) as client:
            return [len(each.isr_nodes) for each in partitions(client, TOPIC)]


class RolledLedger(TopicLedger):
    def read_from(self, cluster: Rolling) -> None:
        with cluster.client(BROKERS[0]) as client:
            leaders = [each.leader_id for each in partitions(client, TOPIC)]
        for number, known in enumerate(self.records):
            with cluster.client(leaders[number]) as client:
                known.extend(self._after(client, number, len(known)))


def test_there_and_back(kafka_classpath: str, tmp_path: Path, figure: Callable[[str], None]) -> None:
    with ExitStack() as stack:
        cluster = Rolling(kafka_classpath, tmp_path, stack)
        with cluster.client(1) as client:
            replicas = [[(number + place) % 3 + 1 for place in range(3)] for number in range(PARTITIONS)]
            assert create(client, TOPIC, *replicas, configs={"min.insync.replicas": "2"}) == 0
        wait_until(lambda: cluster.in_sync() == [3] * PARTITIONS, "all to be in sync")
        crowd = Crowd(cluster.bootstrap, TOPIC, PARTITIONS, tmp_path, stack)
        ledger = RolledLedger(TOPIC, PARTITIONS, crowd.senders)
        wait_until(lambda: all(sender.rounds for sender in crowd.senders), "all to produce", 60)
        wait_until(lambda: all(group.committed() for group in crowd.groups.values()), "all to consume", 60)
        for step in (cluster.to_barnabas, cluster.to_kafka):
            for number in BROKERS:
                step(number)
                acknowledged = [len(sender.acknowledged) for sender in crowd.senders]
                wait_until(lambda: cluster.in_sync() == [3] * PARTITIONS, f"node {number} to be in sync", 60)
                crowd.wait_for(crowd.senders[0], 2)
                ledger.read_from(cluster)
                ledger.check_acknowledged(acknowledged)
        sent = crowd.ends_well(ledger, lambda: ledger.read_from(cluster))
        figure(f"from Kafka to Barnabas and back; records, each there once and in order: {sent}")
