"""How one partition changes: what is wanted of it goes in, the record that says it all comes out, or nothing.

Every change of a partition goes through here, so that a change of one thing brings with it what must follow: an
election when the leader cannot go on, the eligible leaders when too few are in sync, the end of a reassignment, a new
leader epoch.

KIP-966: while fewer than min.insync.replicas are in sync, those who left the ISR since are eligible leader replicas.
They have all that was acknowledged, as the high watermark stands still meanwhile; so they may lead when nobody is in
sync.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass, field
from enum import Enum, auto
from typing import NamedTuple

from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.partition import NO_LEADER, NO_LEADER_CHANGE, LeaderRecoveryState, Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.reassignment import Reassignment
from barnabas.protocol.records.cluster_metadata import PartitionChangeRecord
from barnabas.protocol.schema import Uuid

__all__ = ["Election", "PartitionChanger"]


class Election(Enum):
    PREFERRED = auto()
    """The first replica, if it can be; else as ONLINE."""
    ONLINE = auto()
    """Whoever leads, if he can go on; else the first that is in sync."""
    UNCLEAN = auto()
    """As ONLINE, and if nobody is in sync the first that is alive, whatever he lacks."""


class _Elected(NamedTuple):
    leader: int
    unclean: bool = False


@dataclass(slots=True, kw_only=True)
class PartitionChanger:
    """Set what shall be, then `build`."""

    partition: Partition
    topic_id: Uuid
    partition_id: int
    may_lead: Callable[[int], bool]
    default_directory: Callable[[int], Uuid]
    version: MetadataVersion
    min_insync_replicas: int
    eligible_leader_replicas_enabled: bool
    election: Election = Election.ONLINE

    isr: list[int] = field(init=False)
    replicas: list[int] = field(init=False)
    removing: list[int] = field(init=False)
    adding: list[int] = field(init=False)
    eligible: list[int] = field(init=False)
    recovery: LeaderRecoveryState = field(init=False)
    directories: dict[int, Uuid] = field(init=False)
    unclean_shutdown: Collection[int] = ()
    """Replicas that may have lost what they had."""

    def __post_init__(self) -> None:
        self.isr = list(self.partition.isr)
        self.replicas = list(self.partition.replicas)
        self.removing = list(self.partition.removing_replicas)
        self.adding = list(self.partition.adding_replicas)
        self.eligible = list(self.partition.eligible_leader_replicas)
        self.recovery = self.partition.leader_recovery_state
        self.directories = dict(zip(self.partition.replicas, self.partition.directories, strict=True))

    def build(self) -> MetadataRecord | None:
        """The record, or None if nothing changes."""
        record = PartitionChangeRecord(topic_id=self.topic_id, partition_id=self.partition_id)
        unchanged = PartitionChangeRecord(topic_id=self.topic_id, partition_id=self.partition_id)
        self._maybe_complete_reassignment()
        self._update_eligible()
        self._elect(record)
        self._maybe_raise_epoch_for_reassignment(record)
        self._record_eligible(record)
        self._record_isr(record)
        self._maybe_raise_epoch_for_shrunk_isr(record)
        self._record_last_known_leader(record)
        self._record_assignment(record)
        if self.recovery != self.partition.leader_recovery_state:
            record.leader_recovery_state = self.recovery
        return None if record == unchanged else MetadataRecord(record, self.version.partition_record)

    def _maybe_complete_reassignment(self) -> None:
        completed = Reassignment(self.removing, self.adding, self.replicas).completed(self.isr)
        if completed is not None:
            self.replicas, self.isr = completed
            self.removing, self.adding = [], []

    def _update_eligible(self) -> None:
        if not self.eligible_leader_replicas_enabled:
            return
        if len(self.isr) >= self.min_insync_replicas:
            self.eligible = []
            return
        candidates = {*self.eligible, *self.partition.isr}
        self.eligible = sorted(candidates - {*self.isr, *self.unclean_shutdown})

    # Elections

    def _elect(self, record: PartitionChangeRecord) -> None:
        elected = self._election_result()
        if elected.leader == self.partition.leader:
            return
        if elected.leader in self.eligible:
            self.isr = [elected.leader]
            self.eligible = [replica for replica in self.eligible if replica != elected.leader]
        record.leader = elected.leader
        if elected.unclean:
            # What the others had beyond the new leader is lost.
            record.isr = [elected.leader]
            if self.partition.leader_recovery_state is not LeaderRecoveryState.RECOVERING:
                record.leader_recovery_state = LeaderRecoveryState.RECOVERING

    def _election_result(self) -> _Elected:
        candidates = [self.partition.leader, *self.replicas]
        if self.election is Election.PREFERRED:
            candidates.insert(0, self.replicas[0])
        for replica in candidates:
            if self._is_valid_leader(replica):
                return _Elected(replica)
        if self._can_elect_last_known_leader():
            return _Elected(self.partition.last_known_elr[0], unclean=True)
        if self.election is Election.UNCLEAN:
            for replica in self.replicas:
                if self.may_lead(replica):
                    return _Elected(replica, unclean=True)
        return _Elected(NO_LEADER)

    def _is_valid_leader(self, replica: int) -> bool:
        has_everything = replica in self.isr or (not self.isr and replica in self.eligible)
        return has_everything and self.may_lead(replica)

    def _can_elect_last_known_leader(self) -> bool:
        """If nobody is in sync or eligible, as after a power cut of all, the last leader has most."""
        last = self.partition.last_known_elr
        if not self.eligible_leader_replicas_enabled or self.eligible or self.isr:
            return False
        return len(last) == 1 and self.may_lead(last[0])

    # Epochs

    def _maybe_raise_epoch_for_reassignment(self, record: PartitionChangeRecord) -> None:
        """Naming the leader, even the same, raises its epoch: replicas that go must not be heard any more."""
        if record.leader == NO_LEADER_CHANGE and not set(self.partition.replicas) <= set(self.replicas):
            record.leader = self.partition.leader

    def _maybe_raise_epoch_for_shrunk_isr(self, record: PartitionChangeRecord) -> None:
        if not self.version.epoch_rises_when_isr_shrinks:
            return
        shrinks = record.isr is not None and not set(self.partition.isr) <= set(record.isr)
        if record.leader == NO_LEADER_CHANGE and shrinks:
            record.leader = self.partition.leader

    # What goes into the record

    def _record_eligible(self, record: PartitionChangeRecord) -> None:
        unclean = record.isr is not None
        if unclean or not self.eligible_leader_replicas_enabled:
            self.eligible = []
        if _differ(self.eligible, self.partition.eligible_leader_replicas):
            record.eligible_leader_replicas = self.eligible

    def _record_isr(self, record: PartitionChangeRecord) -> None:
        may_be_empty = self.eligible_leader_replicas_enabled
        if record.isr is None and (self.isr or may_be_empty) and _differ(self.isr, self.partition.isr):
            record.isr = self.isr

    def _record_last_known_leader(self, record: PartitionChangeRecord) -> None:
        if not self.eligible_leader_replicas_enabled:
            return
        if record.leader == NO_LEADER and not self.partition.last_known_elr:
            record.last_known_elr = [self.partition.leader]
        elif record.leader >= 0 and self.partition.last_known_elr:
            record.last_known_elr = []

    def _record_assignment(self, record: PartitionChangeRecord) -> None:
        if self.replicas:
            if self.version.directories:
                directories = [
                    self.directories[replica] if replica in self.directories else self.default_directory(replica)
                    for replica in self.replicas
                ]
                if _differ(directories, self.partition.directories):
                    record.directories = directories
            if _differ(self.replicas, self.partition.replicas):
                record.replicas = self.replicas
        if _differ(self.removing, self.partition.removing_replicas):
            record.removing_replicas = self.removing
        if _differ(self.adding, self.partition.adding_replicas):
            record.adding_replicas = self.adding


def _differ(wanted: Sequence[object], present: Sequence[object]) -> bool:
    return tuple(wanted) != tuple(present)
