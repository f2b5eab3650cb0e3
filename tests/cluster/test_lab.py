"""The walk of docs/CLUSTERS.md: three brokers from three files, the leader killed, and all is well in the end. With our
controller, with Apache Kafka's, and with one broker of ours among two of Kafka's.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from functools import partial
from pathlib import Path
from typing import Any, Protocol

import pytest

from compat.rounds.adapter import ConsumerSettings
from compat.rounds.members import Member
from tests.cli.starting import StartedBroker
from tests.clients.ledgers import GroupLedger, TopicLedger
from tests.clients.senders import Sender, python_sender
from tests.clients.waiting import wait_until
from tests.kafka.broker import HOST, KafkaBroker, free_ports
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.chaos]

IDS = (1, 2, 3)
TOPIC, PARTITIONS = "walk", 13
CLUSTER_WIDE = {
    "offsets.topic.replication.factor": "3",
    "broker.session.timeout.ms": "3000",
    "broker.heartbeat.interval.ms": "500",
    "group.min.session.timeout.ms": "500",
    "group.initial.rebalance.delay.ms": "0",
}


class LabNode(Protocol):
    def start(self) -> None: ...
    def kill(self) -> None: ...
    def stop(self) -> None: ...


class OurNode:
    """`barnabas start --config server-N.properties`."""

    def __init__(self, directory: Path, node_id: int, port: int, controller: str, *, is_controller: bool) -> None:
        self._directory = directory
        self._file = directory / f"server-{node_id}.properties"
        self._broker: StartedBroker | None = None
        listeners = [f"PLAINTEXT://{HOST}:{port}"] + ([f"CONTROLLER://{controller}"] if is_controller else [])
        properties = {
            "process.roles": "broker,controller" if is_controller else "broker",
            "node.id": str(node_id),
            "listeners": ",".join(listeners),
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(directory / f"data-{node_id}"),
            **CLUSTER_WIDE,
        }
        self._file.write_text("".join(f"{key}={value}\n" for key, value in properties.items()))

    def start(self) -> None:
        self._broker = StartedBroker(self._directory, "--config", str(self._file), listen=None)
        self._broker.__enter__()
        self._broker.wait_ready()

    def kill(self) -> None:
        assert self._broker is not None
        self._broker.process.kill()
        self._end()

    def stop(self) -> None:
        if self._broker is not None:
            self._broker.signal()
            assert (self._broker.wait(), self._broker.errors) == (0, "")
            self._end()

    def _end(self) -> None:
        assert self._broker is not None
        self._broker.__exit__(None, None, None)
        self._broker = None


class Lab:
    def __init__(self, kind: str, classpath: str, directory: Path, stack: ExitStack) -> None:
        *ports, controller_port = free_ports(len(IDS) + 1)
        controller = f"{HOST}:{controller_port}"
        cluster_id = None
        if kind != "barnabas":
            kafka = KafkaBroker(
                classpath, directory / "controller", node_id=10, controller_only=True, config=CLUSTER_WIDE
            )
            stack.enter_context(kafka)
            controller, cluster_id = f"{HOST}:{kafka.controller_port}", kafka.cluster_id
        self.ports = dict(zip(IDS, ports, strict=True))
        self.nodes: dict[int, LabNode] = {}
        for number, port in self.ports.items():
            if kind == "mixed" and number != 2:
                theirs = KafkaBroker(
                    classpath,
                    directory / f"kafka-{number}",
                    node_id=number,
                    controllers=controller,
                    cluster_id=cluster_id,
                    config=CLUSTER_WIDE,
                )
                self.ports[number] = theirs.port
                stack.callback(theirs.close)
                self.nodes[number] = theirs
            else:
                is_controller = kind == "barnabas" and number == 1
                self.nodes[number] = OurNode(directory, number, port, controller, is_controller=is_controller)
        for node in self.nodes.values():
            node.start()
            stack.callback(node.stop)

    @property
    def bootstrap(self) -> str:
        return ",".join(f"{HOST}:{port}" for port in self.ports.values())

    def tool(self, *arguments: str) -> str:
        command = [sys.executable, "-m", "barnabas.cli", *arguments, "--bootstrap-server", self.bootstrap]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
        assert done.returncode == 0, done.stderr
        return done.stdout

    def described(self) -> list[dict[str, Any]]:
        (topic,) = json.loads(self.tool("topics", "describe", TOPIC, "--json"))
        partitions: list[dict[str, Any]] = topic["partitions"]
        return partitions

    def client(self, node_id: int) -> RawClient:
        return RawClient(HOST, self.ports[node_id])


class LabLedger(TopicLedger):
    def read_from(self, lab: Lab) -> None:
        for partition in lab.described():
            number = partition["partition"]
            with lab.client(partition["leader"]) as client:
                known = self.records[number]
                known.extend(self._after(client, number, len(known)))


@pytest.fixture(params=["barnabas", "kafka's controller", "mixed"])
def lab(request: pytest.FixtureRequest, kafka_classpath: str, tmp_path: Path) -> Iterator[Lab]:
    with ExitStack() as stack:
        yield Lab(request.param, kafka_classpath, tmp_path, stack)


def test_the_walk(lab: Lab, tmp_path: Path, figure: Callable[[str], None]) -> None:
    lab.tool("topics", "create", TOPIC, "--partitions", str(PARTITIONS), "--replication-factor", "3",
             "--config", "min.insync.replicas=2")  # fmt: skip
    wait_until(lambda: all(len(one["isr"]) == 3 for one in lab.described()), "all replicas")
    settings = ConsumerSettings(lab.bootstrap, TOPIC, group="walkers", session_timeout_ms=3_000)
    with (
        python_sender("confluent-kafka", lab.bootstrap, TOPIC, PARTITIONS, tmp_path / "sender.log") as sender,
        Member("confluent-kafka", settings, tmp_path / "member.log") as member,
    ):
        group = GroupLedger("walkers")
        group.members.append(member)
        ledger = LabLedger(TOPIC, PARTITIONS, [sender])
        wait_until(lambda: sender.rounds > 2 and member.received, "records to come and go", 60)
        for victim in (2, 3):
            led = [one["partition"] for one in lab.described() if one["leader"] == victim]
            assert led, "it leads nothing that another could take over"
            lab.nodes[victim].kill()
            wait_until(partial(is_without, lab, victim), f"others to lead what node {victim} led", 30)
            goes_on(sender, member)
            lab.nodes[victim].start()
            wait_until(lambda: all(len(one["isr"]) == 3 for one in lab.described()), "the ISR to be whole", 60)
            lab.tool("cluster", "elect", "preferred", "--all-topic-partitions")
            wait_until(lambda: all(one["leader"] == one["replicas"][0] for one in lab.described()), "the first to lead")
            assert [one["partition"] for one in lab.described() if one["leader"] == victim] == led
        sender.finish()
        ledger.read_from(lab)
        ledger.check_whole()
        group.wait_for_all(ledger.records)
        group.check_story(ledger.records)
        figure(f"{sender.sent} records, each there once and in order")


def goes_on(sender: Sender, member: Member) -> None:
    rounds, received = sender.rounds, len(member.received)
    wait_until(lambda: sender.rounds > rounds + 2, "the producer to go on", 60)
    wait_until(lambda: len(member.received) > received, "the consumer to go on", 60)


def is_without(lab: Lab, victim: int) -> bool:
    return all(victim not in one["isr"] and one["leader"] not in (victim, -1) for one in lab.described())
