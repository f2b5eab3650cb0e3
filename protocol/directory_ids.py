"""The ids of log directories (KIP-858), of which the first hundred are reserved, and three of these say something."""

from __future__ import annotations

from barnabas.protocol.schema import Uuid

__all__ = ["LOST", "MIGRATING", "UNASSIGNED", "is_reserved"]

MIGRATING = Uuid.ZERO
"""Nothing is known: the replica is older than the knowledge of directories."""
UNASSIGNED = Uuid((1).to_bytes(16, "big"))
"""The replica has no directory yet, and its broker is free to choose."""
LOST = Uuid((2).to_bytes(16, "big"))
"""The replica is in a directory that is offline."""

_FIRST_UNRESERVED = 100


def is_reserved(directory_id: Uuid) -> bool:
    """Compared as Java does it: its longs have a sign, so that the lower half of a reserved id may be "negative"."""
    return directory_id[:8] == bytes(8) and int.from_bytes(directory_id[8:], "big", signed=True) < _FIRST_UNRESERVED
