"""Who is in sync, as a leader has it."""

from __future__ import annotations

from barnabas.replication.partition import Partition

__all__ = ["in_sync_of"]


def in_sync_of(partition: Partition) -> tuple[int, ...]:
    """With a leader, as the controller has committed it."""
    return (partition.leader,) if partition.leading is None else partition.leading.state.in_sync
