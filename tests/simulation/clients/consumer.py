"""A consumer of all partitions of a topic: what it has read is there for good, and the same whenever it is read."""

from __future__ import annotations

from collections import defaultdict
from typing import TYPE_CHECKING

import trio

from barnabas.client.channel import Unreachable
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.protocol.record import read_records
from tests.simulation.clients.client import Client, TopicSeen
from tests.simulation.ledger import Place

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Consumer", "values_of"]

_MOST_BYTES = 1 << 16
_BEFORE_LEARNING = 20
"""Fetches for each leader, before the metadata is asked for again."""
_LOOK_BACK = 0.05
"""How often it reads again what it has read."""


def values_of(data: PartitionData, offset: int) -> dict[int, bytes]:
    """By offset, of what was asked from that one on."""
    found = {}
    for batch in iterate_batches(bytes(data.records or b"")):  # type: ignore[call-overload] # it has just been read
        if not batch.control:
            for record in read_records(batch):
                if record.offset >= offset:
                    found[record.offset] = record.value or b""
    return found


class Consumer(Client):
    def __init__(self, world: World, name: str, topics: list[str]) -> None:
        super().__init__(world, name)
        self._topics = topics
        self._fetches_left = 0
        self.positions: defaultdict[Place, int] = defaultdict(int)
        self.read: defaultdict[Place, dict[int, bytes]] = defaultdict(dict)

    async def act(self) -> None:
        while not self.stopping:
            await self.learn(*self._topics)
            leaders: defaultdict[int, dict[Place, int]] = defaultdict(dict)
            for topic in self.cluster.topics.values():
                for number, seen in topic.partitions.items():
                    if seen.leader >= 0:
                        leaders[seen.leader][Place(topic.name, topic.id, number)] = seen.leader_epoch
            if not leaders:
                await self.wait_a_little()
                continue
            self._fetches_left = _BEFORE_LEARNING * len(leaders)
            async with trio.open_nursery() as nursery:
                for leader in sorted(leaders):
                    nursery.start_soon(self._follow, leader, leaders[leader])

    async def _follow(self, leader: int, places: dict[Place, int]) -> None:
        """Until something about it has changed. One that has much to say is asked more often than one that has nothing,
        for which each question takes as long as it waits for news."""
        while self._fetches_left > 0:
            self._fetches_left -= 1
            if self.stopping or not await self._fetch(leader, places):
                await self.wait_a_little()
                return

    async def _fetch(self, leader: int, places: dict[Place, int]) -> bool:
        """With the epochs in which it leads these."""
        asked = {place: self._next(place) for place in places}
        request = FetchRequest(
            max_wait_ms=300,
            min_bytes=1,
            topics=[
                FetchTopic(
                    topic=place.topic,
                    topic_id=place.topic_id,
                    partitions=[
                        FetchPartition(
                            partition=place.number,
                            current_leader_epoch=places[place],
                            fetch_offset=offset,
                            partition_max_bytes=_MOST_BYTES,
                        )
                    ],
                )
                for place, offset in asked.items()
            ],
        )
        try:
            answer = await self.ask(leader, request, FetchResponse, use=str(leader))
        except Unreachable:
            return False
        if answer.error_code:
            return False
        well = True
        names = {place.topic_id: place.topic for place in places}
        for topic in answer.responses:
            name = topic.topic or names.get(topic.topic_id, "")
            for data in topic.partitions:
                place = next(each for each in places if (each.topic, each.number) == (name, data.partition_index))
                well &= self._take(place, asked[place], data)
        return well

    def _next(self, place: Place) -> int:
        position = self.positions[place]
        return self.generator.randrange(position) if position and self.generator.random() < _LOOK_BACK else position

    def _take(self, place: Place, asked: int, data: PartitionData) -> bool:
        if data.error_code:
            code = ErrorCode(data.error_code)
            self.world.history.count(f"fetch {code.name}")
            if code is ErrorCode.OFFSET_OUT_OF_RANGE and asked <= self.positions[place]:
                self.world.fail(f"{self.name} has read {place} up to {self.positions[place]}, and {asked} is refused")
            elif not code.retriable and code is not ErrorCode.UNKNOWN_TOPIC_ID:
                self.world.fail(f"{self.name} is told {code.name} by {place}")
            return False
        values = values_of(data, asked)
        for offset, value in values.items():
            if offset >= data.high_watermark:
                self.world.fail(f"{self.name} reads {place} at {offset}, beyond high watermark {data.high_watermark}")
            self.world.ledger.was_seen(place, offset, value, self.name)
            self.read[place][offset] = value
        if values:
            last = max(values)
            self.world.checker.read(place, last, self.name)
            self.positions[place] = max(self.positions[place], last + 1)
            self.world.history.count("fetches with records")
        return True


def topic_places(topic: TopicSeen) -> list[Place]:
    return [Place(topic.name, topic.id, number) for number in sorted(topic.partitions)]
