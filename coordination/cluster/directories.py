"""The ids of log directories, of which a hundred are reserved to say something else."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.protocol.schema import Uuid

__all__ = ["LOST", "MIGRATING", "UNASSIGNED", "is_online", "java_order", "reserved"]

MIGRATING = Uuid.ZERO
"""Nothing is known: the replica is older than the knowledge of directories."""
UNASSIGNED = Uuid((1).to_bytes(16, "big"))
"""The broker is free to choose."""
LOST = Uuid((2).to_bytes(16, "big"))

_RESERVED = 100


def reserved(directory: Uuid) -> bool:
    # Java's longs have a sign, so that the lower half of a reserved id may also be "negative".
    low = int.from_bytes(directory[8:], "big", signed=True)
    return not any(directory[:8]) and low < _RESERVED


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
