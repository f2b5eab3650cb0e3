"""`Cluster`: several brokers for one test, which replicate, fail and come back.

    with Cluster(nodes=3) as cluster:
        cluster.create_topic("orders", partitions=2, config={"min.insync.replicas": 2})
        ... any Kafka client, at cluster.bootstrap_servers ...
        cluster.leader("orders").kill()
        ...

Each node is a broker as `Broker` is one, in a thread of its own; the first is the controller, too. Between nodes there
are links, which a test cuts and slows down.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from os import PathLike, fspath
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self

import trio

from barnabas.protocol.errors import KafkaError
from barnabas.testing.clock import Clock
from barnabas.testing.cluster_node import CONTROLLER, ClusterNode
from barnabas.testing.errors import BrokerFailed, NotInTime, UnknownTopic, says_all
from barnabas.testing.host import Place
from barnabas.testing.links import Links
from barnabas.testing.reading import READ_COMMITTED, Reader, find_topic
from barnabas.testing.record import Record
from barnabas.testing.topics import Headers, append, create, new_record

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.coordination.cluster.partition import Partition

__all__ = ["Cluster"]

__tracebackhide__ = says_all

PATIENCE_S = 15.0
"""If nothing else is said: a node that is gone without a word is missed after its session has ended."""
_PAUSE_S = 0.01

_QUICK = {
    "broker.heartbeat.interval.ms": "100",
    "broker.session.timeout.ms": "1000",
    "replica.lag.time.max.ms": "2000",
    "replica.socket.timeout.ms": "1000",
    "group.initial.rebalance.delay.ms": "0",
    "controlled.shutdown.enable": "true",
}
"""Shorter than Kafka's, so that a test of failover takes a second; `settings` count over them."""


class Cluster:
    def __init__(
        self,
        nodes: int = 3,
        *,
        data_dir: str | PathLike[str] | None = None,
        partitions: int = 1,
        replication: int | None = None,
        settings: Mapping[str, object] | None = None,
        clock: Clock | None = None,
    ) -> None:
        """`data_dir`: a directory below which each node has its own; None keeps the data in memory.
        `partitions`, `replication`: of a topic of which nobody says it; as many replicas as there are nodes, three at
        most. `settings`: Kafka's keys, for all nodes. Several have another default here, so that tests are quick:
        broker.session.timeout.ms=1000, replica.lag.time.max.ms=2000."""
        if not isinstance(nodes, int) or nodes < 1:
            raise ValueError(f"nodes={nodes!r}: a cluster has 1 node or more")
        self.links = Links()
        self._controller_place: Place | None = None
        replicas = min(nodes, 3) if replication is None else replication
        given = {**_QUICK, "default.replication.factor": str(replicas), **(settings or {})}
        self.clock = clock or Clock()
        self.nodes = tuple(
            ClusterNode(
                number,
                self.links,
                self._controller_port,
                data_dir=None if data_dir is None else Path(fspath(data_dir)) / f"node-{number}",
                partitions=partitions,
                settings=given,
                clock=self.clock,
            )
            for number in range(1, nodes + 1)
        )

    def __repr__(self) -> str:
        return f"<Cluster of {len(self.nodes)} nodes>"

    @property
    def bootstrap_servers(self) -> str:
        """Of all nodes, whether they are up or not."""
        return ",".join(node.bootstrap_servers for node in self.nodes)

    def node(self, node_id: int) -> ClusterNode:
        """The first has id 1."""
        return self.nodes[node_id - 1]

    def _controller_port(self) -> int:
        assert self._controller_place is not None
        return self._controller_place.port

    # From start to end

    def start(self) -> Self:
        """All nodes are in service when this returns; those that are down come back."""
        if self._controller_place is None:
            self._controller_place = Place(0)
            self.links.add_port(self._controller_place.port, CONTROLLER)
        try:
            for node in self.nodes:
                node.start()
            self._until(self._all_in_service, PATIENCE_S, "not all nodes are in service")
        except BaseException:
            self.close()
            raise
        return self

    def close(self) -> None:
        """Nothing is left running; data in memory is gone, directories have been closed cleanly."""
        self.links.heal()
        for node in reversed(self.nodes):
            node.thaw()
            node.close()
        if self._controller_place is not None:
            self._controller_place.close()
            self._controller_place = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _all_in_service(self) -> bool:
        return all(
            sorted(broker.id for broker in node.ask(lambda one: list(one.image.brokers.values())) if not broker.fenced)
            == [each.id for each in self.nodes]
            for node in self._up()
        )

    # Topics

    def create_topic(
        self,
        name: str,
        partitions: int | None = None,
        config: Mapping[str, object] | None = None,
        *,
        replicas: Sequence[Sequence[int]] | None = None,
    ) -> None:
        """`replicas`: in place of `partitions`, for each of them the nodes that have it, the preferred leader first.
        Every node that is up knows of the topic when this returns."""
        self._any().carry_out(lambda node: create(node, name, partitions, config or {}, replicas))
        self._until(
            lambda: all(node.ask(lambda one: name in one.image.topics.by_name) for node in self._up()),
            PATIENCE_S,
            f"not all nodes know of {name}",
        )

    def leader(self, topic: str, partition: int = 0, timeout: float = PATIENCE_S) -> ClusterNode:
        """The node that leads a partition; if none does, the one that will."""
        found: list[ClusterNode] = []

        def has_leader() -> bool:
            led_by = self._state(topic, partition).leader
            found[:] = [node for node in self._up() if node.id == led_by and node.leads(topic, partition)]
            return bool(found)

        self._until(has_leader, timeout, f"nobody leads {topic}-{partition}")
        return found[0]

    def in_sync(self, topic: str, partition: int = 0) -> set[int]:
        """The ids of the nodes that have all of it, as the controller knows."""
        return set(self._state(topic, partition).isr)

    def wait_for_in_sync(self, topic: str, nodes: int | None = None, timeout: float = PATIENCE_S) -> None:
        """Until every partition of the topic has so many replicas in sync; all that it has, if nothing is said."""

        def enough() -> bool:
            states = self._any().ask(lambda node: list(find_topic(node, topic).partitions.values()))
            return all(len(state.isr) == (len(state.replicas) if nodes is None else nodes) for state in states)

        self._until(enough, timeout, f"{topic} has not as many replicas in sync")

    def _state(self, topic: str, partition: int) -> Partition:
        return self._any().ask(lambda node: find_topic(node, topic, partition).partitions[partition])

    # Records

    def produce(
        self,
        topic: str,
        value: object,
        *,
        key: object = None,
        headers: Headers = (),
        partition: int = 0,
        timestamp: int | None = None,
    ) -> Record:
        """Have a record at the leader of a partition, and wait until all that are in sync have it."""
        record = new_record(value, key, headers, timestamp)

        async def append_in_time(node: Node) -> Record:
            with trio.move_on_after(PATIENCE_S):
                return await append(node, topic, partition, record)
            raise NotInTime(f"not all that are in sync have got a record of {topic}-{partition} in {PATIENCE_S:g} s")

        return self.leader(topic, partition).carry_out(append_in_time)

    def records(self, topic: str, partition: int | None = None, *, isolation: str = READ_COMMITTED) -> list[Record]:
        """What a consumer would be given, from the leaders' logs, in the order of partitions and offsets."""
        numbers = self._any().ask(lambda node: sorted(find_topic(node, topic, partition).partitions))
        found: list[Record] = []
        for number in numbers if partition is None else [partition]:
            reader = Reader(topic, number, isolation)
            found += self.leader(topic, number).carry_out(reader.read_there)
        return found

    def wait_for(
        self,
        topic: str,
        count: int = 1,
        timeout: float = PATIENCE_S,
        *,
        partition: int | None = None,
        matching: Callable[[Record], object] | None = None,
        isolation: str = READ_COMMITTED,
    ) -> list[Record]:
        """The topic's records, once it has so many (that `matching` takes)."""
        found: list[Record] = []

        def enough() -> bool:
            there = self.records(topic, partition, isolation=isolation)
            found[:] = [one for one in there if matching is None or matching(one)]
            return len(found) >= count

        self._until(enough, timeout, f"{topic} has not {count} records")
        return found

    # Trouble

    def cut(
        self, some: int | Iterable[int], others: int | Iterable[int] | None = None, *, one_way: bool = False
    ) -> None:
        """No link between these nodes and those (all others, if nothing is said) carries anything, until `heal`.
        `one_way`: what the first send gets nowhere, and what they are sent arrives."""
        here, there = self._ids(some), self._ids(others)
        self.links.cut(here, there - here if others is None else there, one_way=one_way)

    def slow(self, seconds: float, some: int | Iterable[int], others: int | Iterable[int] | None = None) -> None:
        """What is sent between these nodes and those arrives so much later, until `heal`."""
        here, there = self._ids(some), self._ids(others)
        self.links.slow(here, there - here if others is None else there, seconds)

    def heal(self) -> None:
        """All links are whole, and as fast as before."""
        self.links.heal()

    def _ids(self, some: int | Iterable[int] | None) -> set[int]:
        if some is None:
            return {node.id for node in self.nodes}
        ids = {some} if isinstance(some, int) else set(some)
        for each in ids:
            if not 1 <= each <= len(self.nodes):
                raise ValueError(f"there is no node {each}: they are 1 to {len(self.nodes)}")
        return ids

    # Asking

    def _up(self) -> list[ClusterNode]:
        return [node for node in self.nodes if node.is_up and not node.is_frozen]

    def _any(self) -> ClusterNode:
        """The controller, if it is up: it knows first what is new."""
        up = self._up()
        if not up:
            raise BrokerFailed("all nodes are down: start() starts them again")
        return up[0]

    def _until(self, happened: Callable[[], object], timeout_s: float, problem: str) -> None:
        deadline = time.monotonic() + timeout_s
        while True:
            why = ""
            try:
                if happened():
                    return
            except (BrokerFailed, KafkaError, UnknownTopic) as error:
                why = f": {error}"  # somebody went down while he was asked, or has not heard of it yet
            if time.monotonic() > deadline:
                raise NotInTime(f"{problem} after {timeout_s:g} s{why}")
            time.sleep(_PAUSE_S)
