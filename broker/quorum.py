"""The quorum of controllers in which this node alone votes: its voters, its epochs, and the file quorum-state.

With kraft.version 0 the configuration says who votes (controller.quorum.voters), from 1 on records of the log do. Those
of the first snapshot, which formatting writes, become records of the log in the first epoch; and again whenever this
node's own addresses have changed, so that others find it.
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from barnabas.broker.startable import CannotStart
from barnabas.coordination.cluster.quorum_state import QUORUM_STATE, decode_quorum_state, encode_quorum_state
from barnabas.coordination.cluster.snapshot_file import Snapshot, SnapshotId
from barnabas.protocol.batches import Batch
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.control import ControlRecordType, control_key, control_record_type
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.records.control import (
    Endpoint,
    KRaftVersionFeature,
    KRaftVersionRecord,
    LeaderChangeMessage,
    Voter,
    VotersRecord,
    VotersRecordVoter,
)
from barnabas.protocol.records.quorum_state import QuorumStateData
from barnabas.protocol.records.quorum_state import Voter as VoterId
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk

__all__ = ["Quorum", "first_voters", "voter"]

_ONLY_FORMATTED = -1
"""The offset of voters that no epoch has written to the log yet: they stand before its first record."""

_NOWHERE_YET = Endpoint(name="CONTROLLER", host="localhost", port=9093)

_RECORD_VERSION = 0
"""Kafka writes control records in their first version, whatever it can read."""


def voter(node_id: int, directory_id: Uuid, addresses: Iterable[tuple[str, str, int]]) -> VotersRecordVoter:
    """A node as it votes, with the names, hosts and ports of its controller's listeners."""
    return VotersRecordVoter(
        voter_id=node_id,
        voter_directory_id=directory_id,
        endpoints=[Endpoint(name=name, host=host, port=port) for name, host, port in addresses],
        kraft_version_feature=KRaftVersionFeature(min_supported_version=0, max_supported_version=1),
    )


def first_voters(ours: VotersRecordVoter) -> VotersRecord:
    """Of a quorum that begins. Kafka wants to find an address there, also of a controller that nobody can reach yet."""
    endpoints = ours.endpoints or [_NOWHERE_YET]
    return VotersRecord(version=_RECORD_VERSION, voters=[_with_endpoints(ours, endpoints)])


def _with_endpoints(ours: VotersRecordVoter, endpoints: list[Endpoint]) -> VotersRecordVoter:
    return VotersRecordVoter(
        voter_id=ours.voter_id,
        voter_directory_id=ours.voter_directory_id,
        endpoints=endpoints,
        kraft_version_feature=ours.kraft_version_feature,
    )


class Quorum:
    def __init__(
        self, disk: Disk, directory: Path, ours: VotersRecordVoter, static_voters: Iterable[int] | None = None
    ) -> None:
        """`ours` without endpoints leaves those alone that the log has. `static_voters` are those of the configuration:
        without them, this node alone."""
        self._disk = disk
        self._path = directory / QUORUM_STATE
        self._ours = ours
        self._static_voters = [ours.voter_id] if static_voters is None else sorted(static_voters)
        self.kraft_version = 0
        self.voters: VotersRecord | None = None
        self._voters_offset = _ONLY_FORMATTED

    # What the log says

    def read_snapshot(self, snapshot_id: SnapshotId, snapshot: Snapshot) -> None:
        self.kraft_version, self.voters = snapshot.kraft_version, snapshot.voters
        self._voters_offset = snapshot_id.end_offset - 1

    def read_control(self, batch: Batch) -> None:
        for record in read_records(batch):
            kind = control_record_type(record.key)
            if kind is ControlRecordType.KRAFT_VERSION and record.value is not None:
                self.kraft_version = decode(KRaftVersionRecord, 0, record.value).kraft_version
            elif kind is ControlRecordType.KRAFT_VOTERS and record.value is not None:
                self.voters = decode(VotersRecord, 0, record.value)
                self._voters_offset = record.offset

    # Epochs

    def begin_epoch(self, latest_epoch: int, now_ms: int) -> tuple[int, list[Record]]:
        """Vote for ourselves, which is the whole election; return the new epoch, and what it begins with. CannotStart
        where somebody else votes too."""
        state = self._read_state()
        self._check_voters(state)
        epoch = max(state.leader_epoch, latest_epoch) + 1
        self._write_state(epoch, self._ours.voter_id)
        records = [self._leader_change(now_ms)]
        if self.kraft_version >= 1:
            assert self.voters is not None
            updated = self._updated(self.voters)
            if self._voters_offset == _ONLY_FORMATTED or updated != self.voters:
                self.voters = updated
                kraft = KRaftVersionRecord(kraft_version=self.kraft_version)
                records += [
                    _record(ControlRecordType.KRAFT_VERSION, encode(kraft, _RECORD_VERSION), now_ms),
                    _record(ControlRecordType.KRAFT_VOTERS, encode(updated, _RECORD_VERSION), now_ms),
                ]
        return epoch, records

    def note_leader(self, leader_id: int, epoch: int) -> None:
        """Of an epoch in which somebody else leads, or nobody does yet (-1)."""
        self._write_state(epoch, leader_id)

    def _leader_change(self, now_ms: int) -> Record:
        ours = [Voter(voter_id=self._ours.voter_id)]
        change = LeaderChangeMessage(leader_id=self._ours.voter_id, voters=ours, granting_voters=ours)
        return _record(ControlRecordType.LEADER_CHANGE, encode(change, _RECORD_VERSION), now_ms)

    def _updated(self, voters: VotersRecord) -> VotersRecord:
        (found,) = voters.voters
        mine = _with_endpoints(self._ours, self._ours.endpoints or found.endpoints)
        return VotersRecord(version=_RECORD_VERSION, voters=[mine])

    def _check_voters(self, state: QuorumStateData) -> None:
        ours = self._ours
        if self.kraft_version >= 1:
            voters = [] if self.voters is None else self.voters.voters
            ids = {voter.voter_id for voter in voters}
        else:
            voters = []
            ids = {voter.voter_id for voter in state.current_voters or ()} or {ours.voter_id}
        if ids != {ours.voter_id}:
            others = ", ".join(map(str, sorted(ids - {ours.voter_id}))) or "nobody"
            raise CannotStart(
                f"{self._path.parent}: the controllers {others} vote here too, or instead of node {ours.voter_id}, and "
                "Barnabas is a quorum of one yet: take the others out with kafka-metadata-quorum remove-controller."
            )
        for voter in voters:
            if voter.voter_directory_id != ours.voter_directory_id:
                raise CannotStart(
                    f"{self._path.parent} belongs to the directory id {voter.voter_directory_id}, and meta.properties "
                    f"beside it says {ours.voter_directory_id}: one of them was copied from elsewhere; bring back the "
                    "one that was here."
                )

    # The file

    def _read_state(self) -> QuorumStateData:
        if not self._disk.exists(self._path):
            return QuorumStateData(leader_id=-1, leader_epoch=0, voted_id=-1)
        try:
            return decode_quorum_state(self._disk.read_file(self._path))[0]
        except ValueError as error:
            raise MalformedFile(self._path, None, str(error), "delete it: this node alone votes") from None

    def _write_state(self, epoch: int, leader_id: int) -> None:
        state = QuorumStateData(
            leader_id=leader_id,
            leader_epoch=epoch,
            voted_id=-1,
            cluster_id="",
            current_voters=[VoterId(voter_id=voter_id) for voter_id in self._static_voters],
        )
        version = 1 if self.kraft_version >= 1 else 0
        self._disk.replace_file(self._path, encode_quorum_state(state, version))


def _record(kind: ControlRecordType, value: bytes, now_ms: int) -> Record:
    return Record(control_key(kind), value, timestamp=now_ms)
