"""What a broker says once it is ready."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.event_log import Event
from barnabas.broker.node import Node
from barnabas.storage.durability import Durability

__all__ = ["banner"]

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
            version=version,
            listeners=listeners,
            cluster_id=node.cluster_id,
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


def _address(address: tuple[str, int]) -> str:
    host, port = address
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"
