"""Three nodes of one program, each started from its own server.properties: the first is broker and controller, the
others are brokers. What is in the files is the same for every program."""

from __future__ import annotations

import shlex
import time
from collections.abc import Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from compat.brokers import BARNABAS, KAFKA, PYTHON, ApacheKafka, Broker, CommandBroker
from tests.kafka.broker import KafkaBroker
from tests.kafka.classpath import find_classpath

__all__ = ["CONTROLLER", "IDS", "Cluster", "cluster_for"]

CONTROLLER = 1
IDS = (1, 2, 3)
COMMAND = f"{shlex.quote(PYTHON)} -m barnabas.cli start --config {{file}}"
REPLICATED: Mapping[str, str] = {
    "default.replication.factor": "3",
    "min.insync.replicas": "2",
    "offsets.topic.replication.factor": "3",
    "transaction.state.log.replication.factor": "3",
    "transaction.state.log.min.isr": "2",
    "share.coordinator.state.topic.replication.factor": "3",
    "share.coordinator.state.topic.min.isr": "2",
    "group.initial.rebalance.delay.ms": "0",
}


class Cluster:
    def __init__(self, name: str, nodes: Mapping[int, Broker]) -> None:
        self.name, self.nodes = name, nodes
        self.running: set[int] = set()

    @property
    def bootstrap(self) -> str:
        return ",".join(node.bootstrap for node in self.nodes.values())

    def start(self, ids: Iterable[int] = IDS) -> float:
        """All at once. Seconds until the last of them has answered."""
        wanted = sorted(ids)
        began = time.perf_counter()
        with ThreadPoolExecutor(len(wanted)) as pool:
            starting = {number: pool.submit(self.nodes[number].start) for number in wanted}
        self.running |= {number for number, each in starting.items() if each.exception() is None}
        for each in starting.values():
            each.result()
        return time.perf_counter() - began

    def kill(self, number: int) -> None:
        self.running.discard(number)
        self.nodes[number].kill()

    def stop(self, number: int) -> None:
        self.running.discard(number)
        self.nodes[number].stop()

    def stop_all(self) -> None:
        """The controller last, whom the others tell that they go."""
        for number in sorted(self.running, reverse=True):
            self.stop(number)

    def kill_all(self) -> None:
        for number in IDS:
            self.kill(number)

    def end(self) -> None:
        """Nobody opens its files again."""
        self.kill_all()


def cluster_for(which: str, directory: Path, config: Mapping[str, str], *, as_shipped: bool) -> Cluster:
    """Not started yet. `which` is one of the two that are known, or NAME=COMMAND, in which {file} is filled in."""
    name, _, command = which.partition("=")
    if name not in (BARNABAS, KAFKA) and not command:
        raise ValueError(f"nobody knows a broker {which!r}: say NAME=COMMAND, with {{file}} for its server.properties")
    nodes: dict[int, Broker] = {}
    for number, kafka in _written(directory, {**REPLICATED, **config}, as_shipped=as_shipped).items():
        own = directory / str(number)
        if name == KAFKA and not command:
            nodes[number] = ApacheKafka(own, kafka)
        else:
            kafka.write_properties()
            line = (command or COMMAND).replace("{file}", shlex.quote(str(own / "server.properties")))
            nodes[number] = CommandBroker(name, own, line, kafka.port)
    return Cluster(name, nodes)


def _written(directory: Path, config: Mapping[str, str], *, as_shipped: bool) -> dict[int, KafkaBroker]:
    """Kafka's nodes, who write their files; whether they run, too, is another matter."""
    classpath = find_classpath()
    first = KafkaBroker(classpath, directory / str(CONTROLLER), config=config, as_shipped=as_shipped)
    nodes = {CONTROLLER: first}
    for number in IDS[1:]:
        nodes[number] = KafkaBroker(
            classpath,
            directory / str(number),
            config=config,
            node_id=number,
            controllers=f"{first.host}:{first.controller_port}",
            cluster_id=first.cluster_id,
            as_shipped=as_shipped,
        )
    return nodes
