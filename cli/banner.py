"""What a broker says once it is ready."""

from __future__ import annotations

import os
from pathlib import Path

from barnabas.broker.event_log import Event, Level
from barnabas.broker.listener import Listener
from barnabas.broker.node import Node
from barnabas.storage.durability import Durability

__all__ = ["banner", "what_clients_need"]

_DURABILITY = {
    Durability.KAFKA: "kafka: acknowledged once in the page cache, as Kafka; kill -9 loses nothing, a power cut may",
    Durability.FSYNC: "fsync: acknowledged once on the disk",
    Durability.MEMORY: "memory: nothing is kept when the broker ends",
}


def banner(node: Node, version: str, *, as_json: bool) -> str:
    listeners = [f"{listener.endpoint.listener} {_address(listener.address)}" for listener in node.all_listeners]
    directories = [str(Path(path).resolve()) for path in node.config.log_dirs]
    topics = len(node.image.topics)
    partitions = len(node.partitions)
    if as_json:
        return Event(
            f"Barnabas {version} is ready",
            Level.INFO,
            event="ready",
            **what_clients_need(node),
            version=version,
            listeners=listeners,
            node_id=node.node_id,
            directories=directories,
            durability=node.durability.value,
            topics=topics,
            partitions=partitions,
        )
    rows = [
        ("listeners", ", ".join(listeners)),
        ("cluster", f"{node.cluster_id}, node {node.node_id}"),
        ("data", "in memory" if node.durability is Durability.MEMORY else ", ".join(directories)),
        ("durability", _DURABILITY[node.durability]),
        ("topics", f"{topics} with {partitions} partitions"),
    ]
    return f"Barnabas {version} is ready\n" + "\n".join(f"{name:<12}{value}" for name, value in rows)


def what_clients_need(node: Node) -> dict[str, object]:
    """What a program wants to know that has started the broker."""
    return {"bootstrap_servers": _bootstrap(node.listeners[0]), "pid": os.getpid(), "cluster_id": node.cluster_id}


def _bootstrap(listener: Listener) -> str:
    """Who listens everywhere is found here; nobody can connect to everywhere."""
    host, port = listener.address
    if listener.endpoint.host in (None, "", "0.0.0.0"):  # noqa: S104 - it is compared, not bound
        host = "127.0.0.1"
    elif host == "::":
        host = "::1"
    return _address((host, port))


def _address(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
