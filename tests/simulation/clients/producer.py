"""A producer with idempotence, as Kafka's own: a batch is sent with its sequence until it is acknowledged, or until the
cluster says that it never will be."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.client.channel import Unreachable
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record
from tests.simulation.clients.client import Client
from tests.simulation.ledger import Place

if TYPE_CHECKING:
    from tests.simulation.world import World

__all__ = ["Producer"]

ALL, LEADER = -1, 1

_LOST_TRACK = (ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_PRODUCER_ID)
_GONE = (ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID)


class Producer(Client):
    """It writes into one partition."""

    def __init__(self, world: World, name: str, topic: str, number: int, *, acks: int, pause_s: float) -> None:
        super().__init__(world, name)
        self._topic = topic
        self._number = number
        self._acks = acks
        self._pause_s = pause_s
        self._count = 0
        self._producer_id = -1
        self._sequence = 0
        self.acknowledged = 0

    @property
    def _counts(self) -> bool:
        return self._acks == ALL

    async def act(self) -> None:
        place = await self._find()
        if place is None:
            return
        await self._begin()
        while not self.stopping:
            values = [self._value() for _ in range(self.generator.choice([1, 1, 2, 5, 20]))]
            for value in values:
                self.world.ledger.will_send(place, self.name, value, counts=self._counts)
            if not await self._send(place, values):
                self.note(f"gives up: {place} is gone")
                return
            self._sequence += len(values)
            await trio.sleep(self._pause_s * self.generator.expovariate(1))

    def _value(self) -> bytes:
        self._count += 1
        filling = "." * self.generator.choice([0, 10, 200])
        return f"{self.name}/{self._count}{filling}".encode()

    async def _find(self) -> Place | None:
        while not self.stopping:
            cluster = await self.learn(self._topic)
            topic = cluster.topics.get(self._topic)
            if topic is not None and self._number in topic.partitions:
                return Place(topic.name, topic.id, self._number)
            await self.wait_a_little()
        return None

    async def _begin(self) -> None:
        """With a new id, and from sequence 0."""
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        while True:
            await self.learn(self._topic)
            broker = self.generator.choice(list(self.cluster.brokers))
            try:
                answer = await self.ask(broker, request, InitProducerIdResponse)
            except Unreachable:
                await self.wait_a_little()
                continue
            if not answer.error_code:
                self._producer_id, self._sequence = answer.producer_id, 0
                self.world.checker.new_producer_id(answer.producer_id, self.name)
                return
            await self.wait_a_little()

    async def _send(self, place: Place, values: list[bytes]) -> bool:
        """Until it is acknowledged; False if there is no such partition any more."""
        while True:
            batch = build_batch(
                [Record(value=value, timestamp=self.world.now_ms) for value in values],
                producer_id=self._producer_id,
                producer_epoch=0,
                base_sequence=self._sequence,
            )
            answer = await self._try(place, batch)
            code = None if answer is None else ErrorCode(answer.error_code)
            if answer is not None and code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
                self.acknowledged += len(values)
                self.world.history.count("records acknowledged")
                if self._counts and code is ErrorCode.NONE:
                    if answer.base_offset < 0:
                        self.world.fail(f"{self.name} is acknowledged {place} at offset {answer.base_offset}")
                    self.world.ledger.was_acknowledged(place, answer.base_offset, values)
                    self.world.checker.acknowledged(place, answer.base_offset + len(values), self.name)
                return True
            if code is not None:
                self.world.history.count(f"produce {code.name}")
            if code in _LOST_TRACK:
                if self._counts:
                    self.world.fail(f"{self.name} is told {code.name} by {place}: what was acknowledged is lost")
                self.note(f"begins anew: {code.name}")
                await self._begin()
            elif code is not None and not code.retriable and code not in _GONE:
                self.world.fail(f"{self.name} is told {code.name} by {place}")
            if self.stopping and not self._counts:
                return False
            await self.wait_a_little()
            cluster = await self.learn(self._topic)
            topic = cluster.topics.get(self._topic)
            if place.topic_id in self.world.ledger.deleted and (topic is None or topic.id != place.topic_id):
                return False

    async def _try(self, place: Place, batch: bytes) -> PartitionProduceResponse | None:
        topic = self.cluster.topics.get(place.topic)
        if topic is None or topic.id != place.topic_id or place.number not in topic.partitions:
            return None
        data = PartitionProduceData(index=place.number, records=batch)
        request = ProduceRequest(
            acks=self._acks,
            timeout_ms=3_000,
            topic_data=[TopicProduceData(name=place.topic, topic_id=place.topic_id, partition_data=[data])],
        )
        try:
            answer = await self.ask(topic.partitions[place.number].leader, request, ProduceResponse)
        except Unreachable:
            self.world.history.count("produce unanswered")
            return None
        return answer.responses[0].partition_responses[0]
