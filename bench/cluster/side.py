"""A side of the benchmark that is three nodes: what cells do with them together, and with one of them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from bench import processes
from bench.cluster.nodes import IDS, Cluster
from bench.load import errors_in
from bench.side import PATIENCE_S, Side, end_offsets, until
from compat.wire.connection import Connection

__all__ = ["ClusterSide", "Replicated"]

FIRST_LED_BY = 2
"""So that a topic of one partition is not led by the controller's node."""
ELECTION_NOT_NEEDED = 84
PREFERRED = 0


@dataclass(frozen=True, slots=True)
class Replicated:
    leader: int
    """-1 where there is none."""
    in_sync: frozenset[int]


class ClusterSide(Side):
    def __init__(self, cluster: Cluster, *, as_shipped: bool = True) -> None:
        super().__init__(cluster.nodes[IDS[0]], 0.0, as_shipped=as_shipped)
        self.cluster = cluster

    def start(self) -> None:
        """`started_s` is until each has answered and knows all of them."""
        took_s, began = self.cluster.start(), time.perf_counter()
        self.wait_until_whole()
        self.started_s = took_s + time.perf_counter() - began

    @property
    def name(self) -> str:
        return self.cluster.name

    @property
    def bootstrap(self) -> str:
        return self.cluster.bootstrap

    def spoken(self, program: str, words: Sequence[str]) -> str:
        said = super().spoken(program, words)
        for node in self.cluster.nodes.values():
            said = said.replace(node.bootstrap, "HOST:PORT")
        return said

    def address(self, number: int) -> str:
        return self.cluster.nodes[number].bootstrap

    def data_of(self, number: int) -> Path:
        return self.cluster.nodes[number].directory / "data"

    # What they use

    def cpu_s(self) -> float:
        """Of those that run now: what a node used that was ended is not in it."""
        return self._sum(processes.cpu_s)

    def anonymous_mib(self) -> float:
        return self._sum(processes.anonymous_mib)

    def resident_mib(self) -> float:
        return self._sum(processes.resident_mib)

    def most_resident_mib(self) -> float:
        return self._sum(processes.most_resident_mib)

    def _sum(self, of: Callable[[int], float]) -> float:
        return sum(of(self.cluster.nodes[number].pid) for number in self.cluster.running)

    # What they are asked

    def connection(self, number: int | None = None) -> Connection:
        """To any that runs, where it is all the same."""
        node = self.cluster.nodes[number or min(self.cluster.running)]
        return Connection(node.host, node.port, client_id="bench", patience_s=PATIENCE_S)

    def wait_until_whole(self) -> None:
        """Each knows all that run."""

        def is_whole() -> bool:
            for number in self.cluster.running:
                with self.connection(number) as connection:
                    known = connection.ask("Metadata", 12, Topics=[])["Brokers"]
                if {each["NodeId"] for each in known} != self.cluster.running:
                    return False
            return True

        until(is_whole, f"{self.name}'s nodes do not know each other")

    def partitions(self, topic: str, *, at: int | None = None) -> dict[int, Replicated]:
        """As one node knows them."""
        with self.connection(at) as connection:
            answer = connection.ask("Metadata", 12, Topics=[{"Name": topic}], AllowAutoTopicCreation=False)
        (told,) = answer["Topics"]
        return {
            each["PartitionIndex"]: Replicated(each["LeaderId"], frozenset(each["IsrNodes"]))
            for each in told["Partitions"]
        }

    def led(self, topic: str) -> dict[int, list[int]]:
        """By each node, as one of them knows it."""
        found: dict[int, list[int]] = {}
        for number, each in sorted(self.partitions(topic).items()):
            found.setdefault(each.leader, []).append(number)
        return found

    def create(self, topic: str, partitions: int = 1, **config: str) -> None:
        """Led by all in turns. Returns when each node knows all of its partitions to be led and in sync, and their
        leaders do lead."""
        self._create(topic, [_from(FIRST_LED_BY + number) for number in range(partitions)], config)

    def create_led_by(self, leader: int, topic: str, partitions: int = 1) -> None:
        self._create(topic, [_from(leader)] * partitions, {})

    def _create(self, topic: str, replicas: Sequence[Sequence[int]], config: Mapping[str, str]) -> None:
        assignments = [{"PartitionIndex": number, "BrokerIds": list(each)} for number, each in enumerate(replicas)]
        configs = [{"Name": key.replace("_", "."), "Value": value} for key, value in config.items()]
        wanted = {"NumPartitions": -1, "ReplicationFactor": -1, "Assignments": assignments, "Configs": configs}
        with self.connection() as connection:
            self.make(connection, [{"Name": topic, **wanted}])
        self.wait_in_sync(topic, len(replicas))
        self.wait_until_led(topic, len(replicas))

    def wait_in_sync(self, topic: str, partitions: int) -> None:
        """Every node knows all replicas of all partitions to be in sync."""
        left = set(self.cluster.running)

        def are_in_sync() -> bool:
            for number in sorted(left):
                known = self.partitions(topic, at=number)
                if len(known) < partitions or any(
                    each.leader < 0 or len(each.in_sync) < len(IDS) for each in known.values()
                ):
                    return False
                left.discard(number)
            return True

        until(are_in_sync, f"{self.name}'s replicas of {topic} are not in sync")

    def end_offsets(self, topic: str, partitions: int) -> list[int | None]:
        found: dict[int, int | None] = {}
        for leader, numbers in self.led(topic).items():
            if leader in self.cluster.running:
                with self.connection(leader) as connection:
                    found |= end_offsets(connection, topic, numbers)
        return [found.get(number) for number in range(partitions)]

    # What is done to them

    def elect_preferred(self, topic: str, partitions: int) -> None:
        wanted = [{"Topic": topic, "Partitions": list(range(partitions))}]
        with self.connection() as connection:
            answer = connection.ask(
                "ElectLeaders", 2, ElectionType=PREFERRED, TopicPartitions=wanted, TimeoutMs=int(PATIENCE_S * 1e3)
            )
        if refused := set(errors_in(answer)) - {ELECTION_NOT_NEEDED}:
            raise RuntimeError(f"{self.name} elected no leaders: error {min(refused)}")

    def start_again(self, number: int, topics: Iterable[tuple[str, int]]) -> None:
        """Until it is in sync, and leads what it led at first."""
        self.cluster.start([number])
        self.wait_until_whole()
        for topic, partitions in topics:
            self.wait_in_sync(topic, partitions)
            self.elect_preferred(topic, partitions)
            self.wait_until_led(topic, partitions)

    def appended(self, topic: str, partitions: int) -> dict[int, list[int]]:
        """How many bytes each node has of each partition, as its files say: it costs the nodes nothing to be asked."""
        return {
            number: [
                sum(file.stat().st_size for file in (self.data_of(number) / f"{topic}-{each}").glob("*.log"))
                for each in range(partitions)
            ]
            for number in IDS
        }


def _from(first: int) -> tuple[int, ...]:
    """All nodes, this one first, which is asked to lead."""
    place = (first - IDS[0]) % len(IDS)
    return IDS[place:] + IDS[:place]
