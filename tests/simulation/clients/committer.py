"""Somebody who commits the offsets of a group, each larger than the one before, and looks what is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.client.channel import Unreachable
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.simulation.clients.client import Client
from tests.simulation.ledger import Place

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Committer"]

_PAUSE_S = 0.3


class Committer(Client):
    def __init__(self, world: World, group: str, topic: str) -> None:
        super().__init__(world, f"commits-{group}")
        self._group = group
        self._topic = topic
        self._offset = 0
        self._coordinator: tuple[str, int] | None = None

    async def act(self) -> None:
        while not self.stopping:
            cluster = await self.learn(self._topic)
            topic = cluster.topics.get(self._topic)
            if topic is not None:
                place = Place(topic.name, topic.id, self.generator.choice(sorted(topic.partitions)))
                if self.generator.random() < 0.7:
                    await self._commit(place)
                else:
                    await self.look(place)
            await trio.sleep(_PAUSE_S * self.generator.expovariate(1))

    async def _commit(self, place: Place) -> None:
        self._offset += 1
        self.world.ledger.commits[self._group, place].append(self._offset)
        wanted = OffsetCommitRequestPartition(partition_index=place.number, committed_offset=self._offset)
        request = OffsetCommitRequest(
            group_id=self._group,
            topics=[OffsetCommitRequestTopic(name=place.topic, topic_id=place.topic_id, partitions=[wanted])],
        )
        try:
            address = await self._find()
            answer = await self.channel(address, "group").ask(request, OffsetCommitResponse, timeout_ms=5_000)
        except Unreachable:
            self._coordinator = None
            return
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self.world.ledger.committed[self._group, place] = self._offset
            self.world.history.count("offsets committed")
        else:
            self._refused("commit", code, place)

    async def look(self, place: Place) -> bool:
        """Whether there was an answer. Nobody commits meanwhile."""
        wanted = OffsetFetchRequestTopics(name=place.topic, topic_id=place.topic_id, partition_indexes=[place.number])
        request = OffsetFetchRequest(
            groups=[OffsetFetchRequestGroup(group_id=self._group, topics=[wanted])], require_stable=True
        )
        try:
            address = await self._find()
            answer = await self.channel(address, "group").ask(request, OffsetFetchResponse, timeout_ms=5_000)
        except Unreachable:
            self._coordinator = None
            return False
        group = answer.groups[0]
        found = None if group.error_code else group.topics[0].partitions[0]
        code = ErrorCode(group.error_code if found is None else found.error_code)
        if found is None or code is not ErrorCode.NONE:
            self._refused("look", code, place)
            return False
        self.world.ledger.check_committed(self._group, place, found.committed_offset)
        self.world.history.count("committed offsets read")
        return True

    def _refused(self, what: str, code: ErrorCode, place: Place) -> None:
        self._coordinator = None
        self.world.history.count(f"{what} {code.name}")
        if not code.retriable and place.topic_id not in self.world.ledger.deleted:
            self.world.fail(f"{self.name} is told {code.name} for {place}")

    async def _find(self) -> tuple[str, int]:
        while self._coordinator is None:
            request = FindCoordinatorRequest(coordinator_keys=[self._group])
            brokers = list(self.cluster.brokers)
            try:
                answer = await self.ask(self.generator.choice(brokers), request, FindCoordinatorResponse)
            except Unreachable:
                await self.wait_a_little()
                await self.learn(self._topic)
                continue
            found = answer.coordinators[0]
            if found.error_code:
                self.note(f"finds no coordinator: {ErrorCode(found.error_code).name} {found.error_message}")
                await self.wait_a_little()
            else:
                self._coordinator = (found.host, found.port)
        return self._coordinator
