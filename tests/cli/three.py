"""Three brokers, for tests of commands: what one broker cannot show.

`three` is a cluster of ours, one whose brokers are ours and whose controller is Apache Kafka's, and one of Kafka's, for
the module that asks: the test runs once with each. All nodes run and are in
sync when it begins, whatever the one before has done to them.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Protocol

import pytest

from barnabas.client.address import Address, parse_bootstrap
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.properties import ClientProperties
from barnabas.client.topics import PartitionState, describe_topics
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from tests.cli.beside import Side
from tests.clients.waiting import PATIENCE_S, wait_until
from tests.cluster.processes import ClusterNodeProcess, ClusterProcesses
from tests.kafka.broker import HOST, KafkaBroker
from tests.kafka.cluster import IMPATIENT, KafkaCluster
from tests.kafka.tool_runner import ToolRunner

__all__ = ["Three", "produce", "three"]

LAST_PRODUCE_WITH_NAMES = 12
KAFKAS_CONTROLLER = 100


class Node(Protocol):
    """What is common to a KafkaBroker and a node of ours."""

    host: str
    port: int

    @property
    def data_directory(self) -> Path: ...
    def start(self) -> None: ...
    def stop(self) -> None: ...
    def kill(self) -> None: ...


class _OurNode:
    host = HOST

    def __init__(self, process: ClusterNodeProcess) -> None:
        self._process = process
        self.port = process.port
        self.data_directory = process.data

    def start(self) -> None:
        self._process.begin()
        self._process.wait_ready()

    def stop(self) -> None:
        self._process.stop()

    def kill(self) -> None:
        self._process.kill()


class _Place:
    """What Side wants of a broker."""

    def __init__(self, bootstrap: str, first: Node) -> None:
        self.bootstrap = bootstrap
        self.host, self.port = first.host, first.port


class Three:
    def __init__(
        self, title: str, bootstrap: str, nodes: Mapping[int, Node], runner: ToolRunner, *, controller: int = 1
    ) -> None:
        self.nodes = nodes
        self.controller = controller
        self._dead: set[int] = set()
        self.side = Side(title, _Place(bootstrap, nodes[1]), lambda: runner)

    def ask(self) -> Cluster:
        """To be closed."""
        return Cluster(parse_bootstrap(self.side.bootstrap), ClientProperties(), PATIENCE_S)

    def create(self, topic: str, assignment: str, **configs: str) -> None:
        """The assignment as kafka-topics.sh takes it: 1:2:3,2:3:1."""
        options = [f"--config={key.replace('_', '.')}={value}" for key, value in configs.items()]
        self.side.run("topics", "--create", "--topic", topic, "--replica-assignment", assignment, *options)
        count = assignment.count(",") + 1
        self.wait_led(topic, count)

    def wait_led(self, topic: str, count: int) -> None:
        """By what each broker knows."""
        wait_until(lambda: self._are_led(topic, count), f"{topic} to be led")

    def _are_led(self, topic: str, count: int) -> bool:
        for number, node in self.nodes.items():
            if number in self._dead:
                continue
            with Cluster([Address(node.host, node.port)], ClientProperties(), PATIENCE_S) as cluster:
                (found,) = cluster.metadata([topic]).topics
                if len(found.partitions) < count or any(each.leader_id < 0 for each in found.partitions):
                    return False
        return True

    def partitions(self, topic: str) -> Sequence[PartitionState]:
        with self.ask() as cluster:
            (state,) = describe_topics(cluster, [topic])
        return state.partitions

    def leaders(self, topic: str) -> list[int | None]:
        return [each.leader for each in self.partitions(topic)]

    def in_sync(self, topic: str, number: int = 0) -> set[int]:
        return set(self.partitions(topic)[number].isr)

    def kill(self, *numbers: int) -> None:
        """All others know of it when this returns."""
        for number in numbers:
            self.nodes[number].kill()
            self._dead.add(number)
        wait_until(lambda: set(numbers) <= self.fenced(), f"{numbers} to be missed")

    def stop(self, number: int) -> None:
        self.nodes[number].stop()
        self._dead.add(number)
        wait_until(lambda: number in self.fenced(), f"{number} to be missed")

    def start(self, *numbers: int) -> None:
        for number in numbers:
            self.nodes[number].start()
            self._dead.discard(number)
        wait_until(lambda: not set(numbers) & self.fenced(), f"{numbers} to be in service")

    def revive(self) -> None:
        if self._dead:
            self.start(*sorted(self._dead))
        wait_until(self._all_in_sync, "all replicas to be in sync")

    def fenced(self) -> set[int]:
        with self.ask() as cluster:
            return {each.broker_id for each in cluster.describe(include_fenced=True).brokers if each.is_fenced}

    def _all_in_sync(self) -> bool:
        with self.ask() as cluster:
            return all(
                len(each.isr_nodes) == len(each.replica_nodes)
                for topic in cluster.topics().values()
                for each in topic.partitions
            )


def produce(bootstrap: str, topic: str, *values: bytes, partition: int = 0, acks: int = -1) -> int:
    """In one batch, to whoever leads the partition; the offset of the first."""
    now_ms = time.time_ns() // 1_000_000
    data = PartitionProduceData(
        index=partition, records=build_batch([Record(value=each, timestamp=now_ms) for each in values])
    )
    request = ProduceRequest(
        acks=acks, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    with Cluster(parse_bootstrap(bootstrap), ClientProperties(), PATIENCE_S) as cluster:

        def attempt() -> int:
            (leader,) = cluster.by_leader([Partition(topic, partition)])
            answer = cluster.ask_node(leader, request, ProduceResponse, at_most=LAST_PRODUCE_WITH_NAMES)
            (told,) = answer.responses[0].partition_responses
            check(told.error_code, told.error_message)
            return told.base_offset

        return cluster.retry(attempt)


def _of_kafka(classpath: str, directory: Path, runner: ToolRunner) -> Iterator[Three]:
    with KafkaCluster(classpath, directory) as cluster:
        yield Three("three brokers of Kafka", cluster.bootstrap, cluster.nodes, runner)


def _of_ours(directory: Path, runner: ToolRunner) -> Iterator[Three]:
    cluster = ClusterProcesses(directory, config=IMPATIENT)
    with _in_racks(cluster):
        yield Three("three brokers of ours", cluster.bootstrap, _nodes(cluster), runner)


def _of_ours_with_kafkas_controller(classpath: str, directory: Path, runner: ToolRunner) -> Iterator[Three]:
    controller = KafkaBroker(
        classpath, directory / "controller", node_id=KAFKAS_CONTROLLER, controller_only=True, config=IMPATIENT
    )
    cluster = ClusterProcesses(directory, config=IMPATIENT)
    for node in cluster.nodes:
        node.settings |= {
            "process.roles": "broker",
            "listeners": f"PLAINTEXT://{HOST}:{node.port}",
            "controller.quorum.bootstrap.servers": f"{HOST}:{controller.controller_port}",
        }
    with controller, _in_racks(cluster):
        title = "three brokers of ours with Kafka's controller"
        yield Three(title, cluster.bootstrap, _nodes(cluster), runner, controller=KAFKAS_CONTROLLER)


def _in_racks(cluster: ClusterProcesses) -> ClusterProcesses:
    for node in cluster.nodes:
        node.settings["broker.rack"] = f"rack-{node.id}"
    return cluster


def _nodes(cluster: ClusterProcesses) -> Mapping[int, Node]:
    return {node.id: _OurNode(node) for node in cluster.nodes}


@pytest.fixture(scope="module", params=["ours", "kafka's controller", "kafka"])
def _three(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory, kafka_tools: ToolRunner
) -> Iterator[Three]:
    directory = tmp_path_factory.mktemp("three")
    if request.param == "ours":
        yield from _of_ours(directory, kafka_tools)
        return
    classpath: str = request.getfixturevalue("kafka_classpath")
    begin = _of_kafka if request.param == "kafka" else _of_ours_with_kafkas_controller
    yield from begin(classpath, directory, kafka_tools)


@pytest.fixture
def three(_three: Three) -> Three:
    """For tests that are marked java and slow."""
    _three.revive()
    return _three
