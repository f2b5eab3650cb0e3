"""The network of a simulation, as one process or one client sees it: `Network` of the node, without a system's
sockets."""

from __future__ import annotations

import errno
import os

import trio

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.listener import Door, Listener
from barnabas.broker.network import Network
from barnabas.broker.poller import Poller
from tests.simulation.links import GIVE_UP_S, Host, Links
from tests.simulation.sockets import SimulatedListener, SimulatedPoller, SimulatedStream, Sockets, refused

__all__ = ["Internet", "SimulatedNetwork"]

_LOOK_AGAIN_S = 1.0
_FIRST_PORT = 40_000


class Internet:
    """All hosts, and what runs on them."""

    def __init__(self, links: Links) -> None:
        self.links = links
        self.hosts: dict[str, Host] = {}
        self.processes: dict[str, Sockets] = {}
        """On each host the one that listens."""
        self._ports = _FIRST_PORT

    def host(self, name: str) -> Host:
        if name not in self.hosts:
            self.hosts[name] = Host(name)
        return self.hosts[name]

    def process(self, name: str) -> SimulatedNetwork:
        """A new one on that host, in place of any before."""
        sockets = self.processes[name] = Sockets(self.host(name))
        return SimulatedNetwork(self, sockets)

    def next_port(self) -> int:
        self._ports += 1
        return self._ports


class SimulatedNetwork(Network):
    def __init__(self, internet: Internet, sockets: Sockets) -> None:
        self._internet = internet
        self.sockets = sockets

    async def dial(self, host: str, port: int) -> trio.abc.Stream:
        internet, here = self._internet, self.sockets.host
        there = internet.hosts.get(host)
        if there is None:
            raise OSError(errno.EHOSTUNREACH, f"{os.strerror(errno.EHOSTUNREACH)}: {host}")
        out, back = internet.links.between(here, there), internet.links.between(there, here)
        began_s = trio.current_time()
        while True:
            await trio.sleep(out.latency_s + out.jitter_s * internet.links.generator.random())
            if there.powered and not out.cut and not back.cut:
                break
            if trio.current_time() - began_s > GIVE_UP_S:
                raise OSError(errno.ETIMEDOUT, os.strerror(errno.ETIMEDOUT))
            await trio.sleep(_LOOK_AGAIN_S)
        process = internet.processes.get(host)
        listening = None if process is None else process.listening.get((host, port))
        if listening is not None and self.sockets.is_alive:
            near = internet.links.connect(here, (here.name, internet.next_port()), there, (host, port))
            if listening.come(near.peer):
                try:
                    await trio.sleep(back.latency_s)
                except trio.Cancelled:
                    near.close()
                    raise
                return SimulatedStream(near)
            near.vanish()
            near.peer.vanish()
        await trio.sleep(back.latency_s)
        raise refused((host, port))

    def poller(self) -> Poller:
        return SimulatedPoller(self.sockets)

    def listener(self, endpoint: Endpoint, poller: Poller, door: Door, config: NodeConfig) -> Listener:
        return SimulatedListener.on(self.sockets)(endpoint, poller, door, config)
