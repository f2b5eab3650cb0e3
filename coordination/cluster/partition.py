"""One partition as the cluster knows it: who has it, who is in sync, who leads.

A Partition never changes; a change makes a new one. So whoever holds one sees it whole.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord, UnreplayableRecord
from barnabas.protocol.directory_ids import MIGRATING
from barnabas.protocol.records.cluster_metadata import PartitionChangeRecord, PartitionRecord
from barnabas.protocol.schema import Uuid

__all__ = ["NO_LEADER", "NO_LEADER_CHANGE", "LeaderRecoveryState", "Partition"]

NO_LEADER = -1
NO_LEADER_CHANGE = -2
_NO_RECOVERY_CHANGE = -1


class LeaderRecoveryState(IntEnum):
    RECOVERED = 0
    RECOVERING = 1
    """The leader was elected uncleanly and has yet to clean up what its predecessors left unfinished."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Partition:
    replicas: tuple[int, ...]
    directories: tuple[Uuid, ...]
    """Of each replica, in the same order."""
    isr: tuple[int, ...]
    removing_replicas: tuple[int, ...] = ()
    adding_replicas: tuple[int, ...] = ()
    eligible_leader_replicas: tuple[int, ...] = ()
    last_known_elr: tuple[int, ...] = ()
    """While the partition has no leader, the last one."""
    leader: int
    leader_recovery_state: LeaderRecoveryState = LeaderRecoveryState.RECOVERED
    leader_epoch: int = 0
    partition_epoch: int = 0

    @classmethod
    def from_record(cls, record: PartitionRecord) -> Partition:
        return cls(
            replicas=tuple(record.replicas),
            directories=_directories(record.directories, len(record.replicas)),
            isr=tuple(record.isr),
            removing_replicas=tuple(record.removing_replicas),
            adding_replicas=tuple(record.adding_replicas),
            eligible_leader_replicas=tuple(record.eligible_leader_replicas or ()),
            last_known_elr=tuple(record.last_known_elr or ()),
            leader=record.leader,
            leader_recovery_state=_recovery_state(record.leader_recovery_state),
            leader_epoch=record.leader_epoch,
            partition_epoch=record.partition_epoch,
        )

    def changed_by(self, change: PartitionChangeRecord) -> Partition:
        """Naming a leader, even the present one, raises the leader epoch; any change raises the partition epoch."""
        replicas = _or(change.replicas, self.replicas)
        directories = self.directories
        if change.directories is not None or len(directories) != len(replicas):
            directories = _directories(directories if change.directories is None else change.directories, len(replicas))
        recovery = change.leader_recovery_state
        same_leader = change.leader == NO_LEADER_CHANGE
        return Partition(
            replicas=replicas,
            directories=directories,
            isr=_or(change.isr, self.isr),
            removing_replicas=_or(change.removing_replicas, self.removing_replicas),
            adding_replicas=_or(change.adding_replicas, self.adding_replicas),
            eligible_leader_replicas=_or(change.eligible_leader_replicas, self.eligible_leader_replicas),
            last_known_elr=_or(change.last_known_elr, self.last_known_elr),
            leader=self.leader if same_leader else change.leader,
            leader_recovery_state=(
                self.leader_recovery_state if recovery == _NO_RECOVERY_CHANGE else _recovery_state(recovery)
            ),
            leader_epoch=self.leader_epoch if same_leader else self.leader_epoch + 1,
            partition_epoch=self.partition_epoch + 1,
        )

    def to_record(
        self, topic_id: Uuid, partition_id: int, version: MetadataVersion, *, eligible_leader_replicas: bool
    ) -> MetadataRecord:
        """`eligible_leader_replicas` says whether that feature is on. Directories are lost to a metadata.version that
        does not know of them."""
        record = PartitionRecord(
            partition_id=partition_id,
            topic_id=topic_id,
            replicas=list(self.replicas),
            isr=list(self.isr),
            removing_replicas=list(self.removing_replicas),
            adding_replicas=list(self.adding_replicas),
            leader=self.leader,
            leader_recovery_state=self.leader_recovery_state,
            leader_epoch=self.leader_epoch,
            partition_epoch=self.partition_epoch,
        )
        if eligible_leader_replicas:
            record.eligible_leader_replicas = list(self.eligible_leader_replicas) or None
            record.last_known_elr = list(self.last_known_elr) or None
        if version.directories:
            record.directories = list(self.directories)
        return MetadataRecord(record, version.partition_record)

    @property
    def preferred_leader(self) -> int:
        return self.replicas[0] if self.replicas else NO_LEADER

    @property
    def reassigning(self) -> bool:
        return bool(self.removing_replicas or self.adding_replicas)

    def directory(self, replica: int) -> Uuid:
        return self.directories[self.replicas.index(replica)]


def _or(changed: list[int] | None, present: tuple[int, ...]) -> tuple[int, ...]:
    return present if changed is None else tuple(changed)


def _directories(directories: Sequence[Uuid], count: int) -> tuple[Uuid, ...]:
    if all(directory == MIGRATING for directory in directories):
        return (MIGRATING,) * count
    if len(directories) != count:
        raise UnreplayableRecord(f"a partition has {count} replicas in {len(directories)} directories")
    return tuple(directories)


def _recovery_state(number: int) -> LeaderRecoveryState:
    try:
        return LeaderRecoveryState(number)
    except ValueError:
        raise UnreplayableRecord(f"a partition has the unknown leader recovery state {number}") from None
