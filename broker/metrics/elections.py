"""How often partitions have got another leader, and how often one that may lack records, as the metadata tells it."""

from __future__ import annotations

from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.partition import NO_LEADER, LeaderRecoveryState

__all__ = ["Elections"]


class Elections:
    """Since this node started."""

    def __init__(self) -> None:
        self.leaders = 0
        self.unclean = 0

    def note(self, delta: ImageDelta) -> None:
        for change in delta.partitions.values():
            before, after = change.before, change.after
            if before is None or after.leader in (before.leader, NO_LEADER):
                continue
            self.leaders += 1
            recovering = LeaderRecoveryState.RECOVERING
            if after.leader_recovery_state is recovering and before.leader_recovery_state is not recovering:
                self.unclean += 1
