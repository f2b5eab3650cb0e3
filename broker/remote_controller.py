"""The active controller where it is another node: asked over a connection, and looked for again where it is no more.

Each kind of request has a connection of its own: a broker has to be heard of also while something large is decided.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import trio

from barnabas.broker.quorum_leader import QuorumLeader
from barnabas.client.address import Address
from barnabas.client.channel import Channel, Unreachable
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.create_topics import CreateTopicsResponse
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["RemoteController"]

Answer = TypeVar("Answer", bound=Message)

_PAUSE_S = 0.05


class RemoteController:
    def __init__(self, node: Node, leader: QuorumLeader) -> None:
        self._node = node
        self._leader = leader
        self._channels: dict[type[Message], tuple[Address, Channel]] = {}

    async def ask(self, request: Message, answer: type[Answer]) -> Answer:
        """Until there is an answer of the active controller, or the time is over: KafkaError."""
        timeout_ms = self._patience_ms(request)
        last = "no controller is known that leads"
        with trio.move_on_after(timeout_ms / 1000):
            while True:
                address = await self._leader.reachable()
                channel = await self._channel(type(request), address)
                last = f"{channel.name} does not answer"
                try:
                    got = await channel.ask(request, answer, timeout_ms=timeout_ms)
                except Unreachable as error:
                    last = str(error)
                else:
                    if not _is_of_no_controller(got):
                        return got
                    last = f"{channel.name} does not lead"
                self._leader.lost(address)
                await trio.sleep(_PAUSE_S)
        raise KafkaError(ErrorCode.REQUEST_TIMED_OUT, f"no controller answers in {timeout_ms} ms: {last}")

    def _patience_ms(self, request: Message) -> int:
        config = self._node.config
        if isinstance(request, BrokerHeartbeatRequest):
            # What comes later than the session ends is of no use; half of it leaves time for another.
            return max(config.broker_session_timeout_ms // 2, 1)
        return config.request_timeout_ms

    async def _channel(self, kind: type[Message], address: Address) -> Channel:
        known = self._channels.get(kind)
        if known is not None and known[0] == address:
            return known[1]
        channel = self._node.network.channel(
            f"the controller at {address}", address.host, address.port, client_id=str(self._node.node_id)
        )
        self._channels[kind] = (address, channel)
        if known is not None:
            await known[1].end()
        return channel

    async def run(self) -> None:
        """Until cancelled; nothing is left open then."""
        try:
            await trio.sleep_forever()
        finally:
            with trio.CancelScope(shield=True):
                for _, channel in self._channels.values():
                    await channel.end()


def _is_of_no_controller(answer: Message) -> bool:
    codes = [getattr(answer, "error_code", 0)]
    if isinstance(answer, CreateTopicsResponse):
        codes += [topic.error_code for topic in answer.topics]
    return ErrorCode.NOT_CONTROLLER in codes
