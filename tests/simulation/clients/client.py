"""A client of the simulated cluster: it finds brokers by their metadata, and asks them over connections of its own."""

from __future__ import annotations

import random
from functools import partial
from typing import TYPE_CHECKING, NamedTuple, TypeVar

import trio

from barnabas.client.channel import Channel, Unreachable
from barnabas.protocol.messages.metadata import (
    MetadataRequest,
    MetadataRequestTopic,
    MetadataResponse,
    MetadataResponsePartition,
)
from barnabas.protocol.schema import Message, Uuid
from tests.simulation.scheduling import HOME, Home

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Client", "Cluster", "PartitionSeen", "TopicSeen"]

Answer = TypeVar("Answer", bound=Message)

_PAUSE_S = (0.02, 0.2)


class PartitionSeen(NamedTuple):
    leader: int
    leader_epoch: int
    replicas: list[int]
    isr: list[int]


class TopicSeen(NamedTuple):
    name: str
    id: Uuid
    partitions: dict[int, PartitionSeen]


class Cluster(NamedTuple):
    """As one broker sees it."""

    brokers: dict[int, tuple[str, int]]
    topics: dict[str, TopicSeen]


class Client(Home):
    def __init__(self, world: World, name: str) -> None:
        super().__init__(name)
        self.world = world
        self.generator = random.Random(f"{name} {world.seed}")
        self.network = world.internet.process(name)
        self.cluster = Cluster({}, {})
        self._newest_seen: dict[tuple[Uuid, int], PartitionSeen] = {}
        self._channels: dict[tuple[str, int, str], Channel] = {}
        self.stopping = False
        self.has_ended = False

    def note(self, what: str) -> None:
        self.world.history.note(self.name, what)

    async def run(self) -> None:
        HOME.set(self)
        try:
            await self.act()
        finally:
            self.has_ended = True
            await self.aclose()

    async def aclose(self) -> None:
        with trio.CancelScope(shield=True):
            for channel in self._channels.values():
                await channel.aclose()

    async def act(self) -> None:
        raise NotImplementedError

    async def wait_a_little(self) -> None:
        await trio.sleep(self.generator.uniform(*_PAUSE_S))

    # Asking

    def channel(self, address: tuple[str, int], use: str = "") -> Channel:
        """Each use has its own, since a request waits for the one before."""
        known = self._channels.get((*address, use))
        if known is None:
            known = Channel(f"{address[0]}:{address[1]}", partial(self.network.dial, *address), client_id=self.name)
            self._channels[*address, use] = known
        return known

    async def ask(
        self,
        broker: int,
        request: Message,
        answer: type[Answer],
        *,
        use: str = "",
        timeout_ms: float = 5_000,
        at_most: int | None = None,
    ) -> Answer:
        address = self.cluster.brokers.get(broker)
        if address is None:
            raise Unreachable(f"nobody knows where broker {broker} is")
        try:
            return await self.channel(address, use).ask(request, answer, timeout_ms=timeout_ms, at_most=at_most)
        except Unreachable as error:
            self.note(str(error))
            raise

    async def learn(self, *topics: str) -> Cluster:
        """The metadata, from whoever answers."""
        wanted = [MetadataRequestTopic(name=topic) for topic in topics] or None
        request = MetadataRequest(topics=wanted, allow_auto_topic_creation=False)
        while True:
            known = [*self.cluster.brokers.values(), *self.world.bootstrap]
            address = self.generator.choice(known)
            try:
                answer = await self.channel(address, "metadata").ask(request, MetadataResponse, timeout_ms=3_000)
            except Unreachable:
                await self.wait_a_little()
                continue
            self.cluster = Cluster(
                {each.node_id: (each.host, each.port) for each in answer.brokers} or self.cluster.brokers,
                {
                    topic.name: TopicSeen(
                        topic.name,
                        topic.topic_id,
                        {each.partition_index: self._newest(topic.topic_id, each) for each in topic.partitions},
                    )
                    for topic in answer.topics
                    if topic.name is not None and not topic.error_code
                },
            )
            return self.cluster

    def _newest(self, topic_id: Uuid, told: MetadataResponsePartition) -> PartitionSeen:
        """Kafka's clients do not believe a broker that knows of an earlier leader than they do."""
        key = topic_id, told.partition_index
        known = self._newest_seen.get(key)
        if known is None or told.leader_epoch >= known.leader_epoch:
            known = PartitionSeen(told.leader_id, told.leader_epoch, told.replica_nodes, told.isr_nodes)
            self._newest_seen[key] = known
        return known
