"""`python -m tests.cluster.node_main KEY=VALUE...`: a node in a process of its own, whose links to others a test cuts.

It is told by lines of JSON on its stdin, and says {"ready": true} when it serves; its log goes to stderr.
"""

from __future__ import annotations

import json
import signal
import sys

import trio

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.event_log import EventLog
from barnabas.broker.node import Node
from barnabas.testing.links import LinkedNetwork, Links


async def main(settings: dict[str, str]) -> None:
    config = NodeConfig.load({}, settings)
    links = Links()
    node = Node(config, network=LinkedNetwork(config.node_id, links), report=EventLog(sys.stderr, as_json=False))
    async with trio.open_nursery() as nursery:
        nursery.start_soon(listen, links)
        with trio.open_signal_receiver(signal.SIGTERM) as signals:
            nursery.start_soon(stop, signals, node)
            async with trio.open_nursery() as running:
                await running.start(node.run)
                print(json.dumps({"ready": True}), flush=True)
            nursery.cancel_scope.cancel()


async def stop(signals: object, node: Node) -> None:
    async for _ in signals:  # type: ignore[attr-defined] # an iterator of trio's that has no public type
        node.stop()


async def listen(links: Links) -> None:
    stdin = trio.lowlevel.FdStream(0)
    rest = b""
    async for data in stdin:
        *lines, rest = (rest + data).split(b"\n")
        for line in lines:
            obey(links, json.loads(line))


def obey(links: Links, told: dict[str, object]) -> None:
    match told:
        case {"ports": dict(ports)}:
            for port, node_id in ports.items():
                links.add_port(int(port), node_id)
        case {"cut": [list(some), list(others)], "one_way": bool(one_way)}:
            links.cut(some, others, one_way=one_way)
        case {"slow": float(seconds), "some": list(some), "others": list(others)}:
            links.slow(some, others, seconds)
        case {"heal": True}:
            links.heal()
        case _:
            raise ValueError(f"what is {told}?")


if __name__ == "__main__":
    trio.run(main, dict(argument.split("=", 1) for argument in sys.argv[1:]))
