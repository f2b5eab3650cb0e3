"""The log directories of brokers, as the metadata knows them: which replicas they can serve, and in what order."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.protocol.directory_ids import LOST, MIGRATING, UNASSIGNED
from barnabas.protocol.schema import Uuid

__all__ = ["is_online", "java_order"]


def is_online(directory: Uuid, online: Sequence[Uuid]) -> bool:
    """Whether a replica in this directory can be served by a broker with these. A broker that registered before
    directories were known names none, and then none is taken for lost."""
    if directory in (UNASSIGNED, MIGRATING):
        return True
    if directory == LOST:
        return False
    return not online or directory in online


def java_order(directory: Uuid) -> tuple[int, int]:
    """Sorts as Kafka sorts ids: by two numbers that have a sign."""
    return int.from_bytes(directory[:8], "big", signed=True), int.from_bytes(directory[8:], "big", signed=True)
