"""How a node reaches others and is reached: the one place in which it opens connections and listens for them, so that a
test can put a network of its own there."""

from __future__ import annotations

from functools import partial

import trio

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.listener import Door, Listener
from barnabas.broker.poller import Poller
from barnabas.client.channel import Channel

__all__ = ["Network"]


class Network:
    async def dial(self, host: str, port: int) -> trio.abc.Stream:
        """OSError where nobody is there."""
        return await trio.open_tcp_stream(host, port)

    def channel(self, name: str, host: str, port: int, *, client_id: str) -> Channel:
        return Channel(name, partial(self.dial, host, port), client_id=client_id)

    def poller(self) -> Poller:
        """For the connections of a node, which come by its listeners."""
        return Poller()

    def listener(self, endpoint: Endpoint, poller: Poller, door: Door, config: NodeConfig) -> Listener:
        """CannotListen where the address is not to be had."""
        return Listener(endpoint, poller, door, config)
