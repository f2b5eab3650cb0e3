"""How a reassignment looks from inside: what it adds, what it removes, when it is done, what it was before."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.coordination.cluster.partition import Partition
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["Completed", "Reassignment", "Reverted"]


class Completed(NamedTuple):
    replicas: list[int]
    isr: list[int]


class Reverted(NamedTuple):
    replicas: list[int]
    isr: list[int]
    unclean: bool
    """No old replica is in sync any more."""


class Reassignment(NamedTuple):
    removing: list[int]
    adding: list[int]
    replicas: list[int]
    """The new ones, then those that will go."""

    @classmethod
    def begin(cls, current: Sequence[int], target: Sequence[int]) -> Reassignment:
        removing = sorted(set(current) - set(target))
        return cls(removing, sorted(set(target) - set(current)), [*target, *removing])

    @classmethod
    def of(cls, partition: Partition) -> Reassignment:
        return cls(list(partition.removing_replicas), list(partition.adding_replicas), list(partition.replicas))

    def completed(self, isr: Sequence[int]) -> Completed | None:
        """What it comes to if it can end with this ISR."""
        if not self.removing and not self.adding:
            return None
        left_isr = [replica for replica in isr if replica not in self.removing]
        left = [replica for replica in self.replicas if replica not in self.removing]
        if self.removing and (not left_isr or not left):
            return None
        if not set(self.adding) <= set(left_isr):
            return None
        # With fewer replicas than before, each of them has to be in sync first, lest the ISR shrink for nothing.
        if len(self.adding) < len(self.removing) and not set(left) <= set(left_isr):
            return None
        return Completed(left, left_isr)

    def reverted(self, isr: Sequence[int]) -> Reverted:
        replicas = [replica for replica in self.replicas if replica not in self.adding]
        left_isr = [replica for replica in isr if replica not in self.adding]
        if left_isr:
            return Reverted(replicas, left_isr, unclean=False)
        if not replicas:
            raise KafkaError(ErrorCode.INVALID_REPLICA_ASSIGNMENT, "every replica of the partition is a new one")
        return Reverted(replicas, [replicas[0]], unclean=True)
