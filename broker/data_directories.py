"""The node's directories, opened and locked before anything else: they say who it is."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.random_values import draw
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.durability import Durability
from barnabas.storage.formatting import Node as Identity
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.meta_properties import META_PROPERTIES
from barnabas.storage.opening import open_log_directories

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["disk_for", "is_new", "open_directories"]


def disk_for(durability: Durability) -> Disk:
    if durability is Durability.MEMORY:
        from barnabas.storage.memory_disk import MemoryDisk

        return MemoryDisk()
    return SystemDisk()


def is_new(node: Node) -> bool:
    """Nothing says yet to which cluster the node belongs."""
    return not node.disk.exists(Path(node.config.metadata_log_dir).resolve() / META_PROPERTIES)


def open_directories(node: Node, cluster_id: str | None = None) -> LogDirectories:
    """Empty ones are formatted, for that cluster if it is known and a new one if not; DiskLocked names whoever has them
    already."""
    config = node.config
    return open_log_directories(
        node.disk,
        [Path(path).resolve() for path in config.log_dirs],
        Identity(config.node_id, cluster_id),
        random_ids=draw(node.random_bytes, 16),
        holder=f"barnabas, process {os.getpid()}",
        report=node.warn,
        tell=node.report,
        metadata_directory=Path(config.metadata_log_dir).resolve(),
        producer_expiration_ms=config.producer_id_expiration_ms,
    )
