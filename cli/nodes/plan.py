"""Where the nodes of a cluster on one machine are, and the file that starts each of them.

The first node is broker and controller, the others are brokers. Each has a port of its own, one behind the other from
--listen on, a directory below --data, and beside it the file with which `barnabas start --config` starts it alone.
"""

from __future__ import annotations

import socket
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

__all__ = ["CannotPlan", "PlannedNode", "plan", "write_properties"]

CONTROLLER = 1
MOST_NODES = 64
"""More than that would be a mistake of typing."""


class CannotPlan(Exception):  # noqa: N818 - a state of the command line
    """The message is a sentence."""


@dataclass(frozen=True)
class PlannedNode:
    id: int
    host: str
    port: int
    controller_port: int
    """Of the one controller."""
    directory: Path
    file: Path
    """Its server.properties."""

    @property
    def address(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"

    def properties(self, given: Mapping[str, str]) -> dict[str, str]:
        controller = f"localhost:{self.controller_port}"
        listeners = f"PLAINTEXT://{self.address}"
        roles = "broker"
        if self.id == CONTROLLER:
            roles = "broker,controller"
            listeners += f",CONTROLLER://{controller}"
        return {
            "process.roles": roles,
            "node.id": str(self.id),
            "listeners": listeners,
            "controller.listener.names": "CONTROLLER",
            "listener.security.protocol.map": "PLAINTEXT:PLAINTEXT,CONTROLLER:PLAINTEXT",
            "controller.quorum.bootstrap.servers": controller,
            "log.dirs": str(self.directory),
            **given,
        }


def plan(count: int, host: str, port: int, data: Path) -> list[PlannedNode]:
    """`port` 0: any that are free."""
    if not 1 <= count <= MOST_NODES:
        raise CannotPlan(f"--nodes {count}: between 1 and {MOST_NODES} nodes make a cluster on one machine.")
    if (data / "meta.properties").exists():
        raise CannotPlan(
            f"{data} is the directory of one node: start it without --nodes, or name another one with --data."
        )
    ports = list(range(port, port + count + 1)) if port else _free_ports(host, count + 1)
    if ports[-1] > 65_535:
        raise CannotPlan(f"--listen {host}:{port} leaves no room for {count + 1} ports: name a lower one.")
    return [
        PlannedNode(
            number,
            host,
            ports[number - 1],
            ports[count],
            (data / f"node-{number}").resolve(),
            (data / f"node-{number}.properties").resolve(),
        )
        for number in range(1, count + 1)
    ]


def write_properties(node: PlannedNode, given: Mapping[str, str]) -> None:
    node.file.parent.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}={_escaped(value)}\n" for key, value in node.properties(given).items()]
    node.file.write_text("".join(lines))


def _escaped(value: str) -> str:
    return value.replace("\\", "\\\\").replace("\n", "\\n")


def _free_ports(host: str, count: int) -> list[int]:
    """All are held until the last is known, so that they differ."""
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    with ExitStack() as held:
        sockets = [held.enter_context(socket.create_server((host, 0), family=family)) for _ in range(count)]
        return [int(each.getsockname()[1]) for each in sockets]
