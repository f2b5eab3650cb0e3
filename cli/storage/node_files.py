"""What a server.properties says that formatting needs: directories, the node, its quorum. What it leaves out has the
defaults of `barnabas start`."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.protocol.java_properties import parse_properties

__all__ = ["NodeFiles", "add_config_argument", "read_node_files"]

_DEFAULT_DIRECTORY = "./barnabas-data"
_DEFAULT_PORT = 9093


@dataclass(frozen=True, slots=True)
class NodeFiles:
    roles: frozenset[str]
    node_id: int
    directories: tuple[Path, ...]
    """Sorted, as Kafka takes them; metadata.log.dir among them."""
    metadata_directory: Path
    controller_listener: str
    controller_host: str
    controller_port: int
    static_voters: bool
    unstable_features: bool


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--config", "-c", metavar="FILE", type=Path, required=True, help="the node's server.properties")


def read_node_files(path: Path) -> NodeFiles:
    try:
        properties = parse_properties(path.read_bytes())
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read ({error.strerror}): check the path after --config.") from None
    except ValueError as error:
        raise CommandFailed(f"{path} is no file of properties ({error}): name a server.properties.") from None
    roles = _words(properties.get("process.roles", "broker,controller"))
    if not roles or not roles <= {"broker", "controller"}:
        raise CommandFailed(
            f"process.roles={properties['process.roles']} names no broker and no controller: a node of a cluster "
            "without ZooKeeper is one, or both."
        )
    directories = [Path(each) for each in _list(properties.get("log.dirs") or properties.get("log.dir") or "")]
    directories = directories or [Path(_DEFAULT_DIRECTORY)]
    metadata = Path(properties.get("metadata.log.dir", "").strip() or directories[0])
    listener = next(iter(_list(properties.get("controller.listener.names", ""))), "CONTROLLER").upper()
    host, port = _controller_address(properties, listener)
    return NodeFiles(
        roles=frozenset(roles),
        node_id=_integer(properties, "node.id", 1),
        directories=tuple(sorted({*directories, metadata})),
        metadata_directory=metadata,
        controller_listener=listener,
        controller_host=host,
        controller_port=port,
        static_voters=bool(properties.get("controller.quorum.voters", "").strip()),
        unstable_features=properties.get("unstable.feature.versions.enable", "").strip().lower() == "true",
    )


def _controller_address(properties: Mapping[str, str], listener: str) -> tuple[str, int]:
    """Where other controllers find this one: what is advertised, or else where it listens."""
    for key in ("advertised.listeners", "listeners"):
        for each in _list(properties.get(key, "")):
            name, _, address = each.partition("://")
            host, _, port = address.rpartition(":")
            if name.upper() == listener:
                if not port.isdigit() or int(port) > 65535:
                    raise CommandFailed(
                        f"{key}={properties[key]}: {each} is no listener such as {listener}://HOST:9093."
                    )
                host = host.strip("[]")
                return ("localhost" if host in ("", "0.0.0.0") else host), int(port)  # noqa: S104 - as it is written
    return "localhost", _DEFAULT_PORT


def _integer(properties: Mapping[str, str], key: str, default: int) -> int:
    text = properties.get(key, str(default)).strip()
    if not text.isdigit() or int(text) >= 1 << 31:
        raise CommandFailed(f"{key}={text} is no number from 0 on: it names this node in its cluster.")
    return int(text)


def _list(text: str) -> list[str]:
    return [each.strip() for each in text.split(",") if each.strip()]


def _words(text: str) -> set[str]:
    return set(_list(text))
