"""Numbers for producers, taken from blocks that the controller hands out: a restart loses the rest of a block, and no
number is ever given twice."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest, AllocateProducerIdsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ProducerIds"]


class ProducerIds:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._block = range(0)
        self._asking = trio.Lock()

    async def next(self) -> int:
        while not self._block:
            async with self._asking:
                if not self._block:
                    await self._ask()
        number, self._block = self._block[0], self._block[1:]
        return number

    async def _ask(self) -> None:
        node = self._node
        request = AllocateProducerIdsRequest(broker_id=node.node_id, broker_epoch=node.broker_epoch)
        answer = await node.controller_link.ask(request, AllocateProducerIdsResponse)
        if answer.error_code:
            raise KafkaError(ErrorCode(answer.error_code), "the controller gives no more producer ids")
        self._block = range(answer.producer_id_start, answer.producer_id_start + answer.producer_id_len)
