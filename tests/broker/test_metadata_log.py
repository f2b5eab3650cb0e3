"""The log of the metadata and its snapshots, as Kafka's raft keeps them: epochs, voters, what is deleted and lost."""

from __future__ import annotations

import json

import pytest

from barnabas.broker.quorum import voter
from barnabas.broker.startable import CannotStart
from barnabas.coordination.cluster.records import decode_record
from barnabas.coordination.cluster.snapshot_file import decode_snapshot, encode_snapshot
from barnabas.protocol.codec import decode
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.record import read_records
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.records.control import KRaftVersionRecord, LeaderChangeMessage, VotersRecord
from barnabas.protocol.schema import Data, Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.memory_disk import MemoryDisk

from .metadata_logs import ADDRESS, DIRECTORY, DIRECTORY_ID, NOW_MS, Journal

OURS = VotersRecord(version=0, voters=[voter(1, DIRECTORY_ID, [ADDRESS])])
FORMATTED = "00000000000000000000-0000000000.checkpoint"


@pytest.fixture
def disk() -> MemoryDisk:
    return MemoryDisk()


def quorum_state(disk: MemoryDisk) -> object:
    return json.loads(disk.read_file(DIRECTORY / "quorum-state"))


def control_records(journal: Journal, epoch: int) -> list[object]:
    found: list[object] = []
    classes: dict[ControlRecordType, type[Data]] = {
        ControlRecordType.LEADER_CHANGE: LeaderChangeMessage,
        ControlRecordType.KRAFT_VERSION: KRaftVersionRecord,
        ControlRecordType.KRAFT_VOTERS: VotersRecord,
    }
    for batch in journal.log.batches_from(journal.log.log.start_offset, journal.log.end_offset):
        if batch.control and batch.partition_leader_epoch == epoch:
            found += [
                decode(classes[control_record_type(record.key)], 0, record.value or b"")
                for record in read_records(batch)
            ]
    return found


# Epochs and voters


def test_each_start_is_an_epoch_and_the_first_one_writes_who_votes(disk: MemoryDisk) -> None:
    first = Journal(disk).begin()
    leader, kraft, voters = control_records(first, 1)
    assert isinstance(leader, LeaderChangeMessage)
    assert (leader.version, leader.leader_id) == (0, 1)
    assert [[one.voter_id for one in some] for some in (leader.voters, leader.granting_voters)] == [[1], [1]]
    assert kraft == KRaftVersionRecord(kraft_version=1)
    assert voters == OURS
    first.create(1)

    second = Journal(disk).begin()
    assert second.log.epoch == 2
    assert [type(one) for one in control_records(second, 2)] == [LeaderChangeMessage]
    assert second.topics == [1]
    assert quorum_state(disk) == {
        "leaderId": 1,
        "leaderEpoch": 2,
        "votedId": -1,
        "votedDirectoryId": "AAAAAAAAAAAAAAAAAAAAAA",
        "data_version": 1,
    }


def test_a_static_quorum_has_no_records_of_voters(disk: MemoryDisk) -> None:
    journal = Journal(disk, static=True).begin()
    assert journal.log.kraft_version == 0
    assert [type(one) for one in control_records(journal, 1)] == [LeaderChangeMessage]
    assert FORMATTED not in journal.names
    assert quorum_state(disk) == {
        "clusterId": "",
        "leaderId": 1,
        "leaderEpoch": 1,
        "votedId": -1,
        "appliedOffset": 0,
        "currentVoters": [{"voterId": 1}],
        "data_version": 0,
    }
    assert Journal(disk, static=False).log.kraft_version == 0, "what was begun so stays so"


def test_a_quorum_of_records_stays_one_whatever_the_configuration_says(disk: MemoryDisk) -> None:
    Journal(disk).begin()
    assert Journal(disk, static=True).begin().log.kraft_version == 1


def test_voters_are_written_again_when_the_controller_listens_elsewhere(disk: MemoryDisk) -> None:
    Journal(disk).begin()
    moved = ("CONTROLLER", "elsewhere", 9999)
    journal = Journal(disk, address=moved).begin()
    assert control_records(journal, 2)[2] == VotersRecord(version=0, voters=[voter(1, DIRECTORY_ID, [moved])])
    assert len(control_records(Journal(disk, address=moved).begin(), 3)) == 1
    # Who listens nowhere knows no better.
    assert len(control_records(Journal(disk, address=None).begin(), 4)) == 1


def test_an_epoch_is_above_all_that_was_seen(disk: MemoryDisk) -> None:
    Journal(disk).begin()
    state = disk.read_file(DIRECTORY / "quorum-state").replace(b'"leaderEpoch":1', b'"leaderEpoch":7')
    disk.replace_file(DIRECTORY / "quorum-state", state)
    assert Journal(disk).begin().log.epoch == 8
    disk.remove(DIRECTORY / "quorum-state")
    assert Journal(disk).begin().log.epoch == 9


def test_who_else_votes_is_named(disk: MemoryDisk) -> None:
    Journal(disk, static=True).begin()
    state = disk.read_file(DIRECTORY / "quorum-state").replace(b'[{"voterId":1}]', b'[{"voterId":1},{"voterId":3}]')
    disk.replace_file(DIRECTORY / "quorum-state", state)
    with pytest.raises(CannotStart, match=r"controllers 3 vote here"):
        Journal(disk).begin()


def test_a_log_of_another_directory_is_refused(disk: MemoryDisk) -> None:
    Journal(disk).begin()
    with pytest.raises(CannotStart, match=r"belongs to the directory id AAECAwQFBgcICQoLDA0ODw"):
        Journal(disk, directory_id=Uuid(range(1, 17))).begin()


# Snapshots


def test_a_snapshot_holds_all_and_the_log_goes_on_behind_it(disk: MemoryDisk) -> None:
    journal = Journal(disk).begin()
    journal.create(1)
    name = journal.snapshot()
    snapshot = decode_snapshot(disk.read_file(DIRECTORY / name))
    assert (snapshot.kraft_version, snapshot.voters) == (1, OURS)
    assert snapshot.last_log_timestamp_ms == NOW_MS
    journal.create(2)
    again = Journal(disk)
    assert again.image == journal.image
    assert again.image.next_offset == journal.log.end_offset
    assert again.begin().topics == [1, 2]


def test_a_snapshot_is_due_by_bytes_and_by_time(disk: MemoryDisk) -> None:
    journal = Journal(disk).begin()
    hour_ms = 3_600_000
    assert not journal.log.snapshot_due(NOW_MS, 1 << 20, hour_ms)
    assert journal.log.snapshot_due(NOW_MS + hour_ms, 1 << 20, hour_ms)
    assert not journal.log.snapshot_due(NOW_MS + hour_ms, 1 << 20, 0)
    assert journal.log.snapshot_due(NOW_MS, 100, 0)
    journal.snapshot()
    assert not journal.log.snapshot_due(NOW_MS, 100, 0)
    assert not journal.log.snapshot_due(NOW_MS + 2 * hour_ms, 100, hour_ms), "nothing has changed since"
    journal.create(1)
    assert journal.log.snapshot_due(NOW_MS + 2 * hour_ms, 1 << 20, hour_ms)


def test_what_is_too_much_is_deleted_from_the_oldest_snapshot_on(disk: MemoryDisk) -> None:
    journal = Journal(disk, segment_bytes=300).begin()
    taken = []
    for number in range(4):
        for one in range(5):
            journal.create(number * 10 + one)
        taken.append(journal.snapshot())
    everything = journal.log.log.size + sum(disk.size(DIRECTORY / name) for name in taken[2:])
    journal.clean(max_bytes=1 << 20)
    assert journal.snapshot_names == [FORMATTED, *taken]
    journal.clean(max_bytes=everything)
    assert journal.snapshot_names == taken[-len(journal.snapshot_names) :]
    assert 1 < len(journal.snapshot_names) < 4
    journal.clean(max_bytes=0)
    assert journal.snapshot_names == taken[-1:]
    assert journal.log.log.start_offset == int(taken[-1][:20])
    bases = [int(name[:20]) for name in journal.names if name.endswith(".log")]
    assert min(bases) > 0
    assert not [name for name in journal.names if "deleted" in name]
    again = Journal(disk)
    assert sorted(again.topics) == sorted(journal.topics)
    assert again.begin().log.kraft_version == 1


def test_what_is_too_old_is_deleted_and_the_newest_snapshot_stays(disk: MemoryDisk) -> None:
    journal = Journal(disk).begin()
    day_ms = 86_400_000
    for number in range(3):
        journal.create(number, NOW_MS + number * day_ms)
        journal.snapshot(NOW_MS + number * day_ms)
    newest = journal.snapshot_names[-1]
    journal.clean(NOW_MS + 2 * day_ms, max_ms=day_ms + 1)
    assert len(journal.snapshot_names) == 2
    journal.clean(NOW_MS + 100 * day_ms, max_ms=day_ms)
    assert journal.snapshot_names == [newest]


def test_half_a_snapshot_is_removed_at_the_start(disk: MemoryDisk) -> None:
    Journal(disk).begin()
    for name in ("1-0-77.checkpoint.part", "0-0.checkpoint.deleted"):
        disk.replace_file(DIRECTORY / ("0" * 20 + name), b"half")
    assert not [name for name in Journal(disk).names if name.endswith((".part", ".deleted"))]


# What was damaged


def damage(disk: MemoryDisk, name: str) -> None:
    data = bytearray(disk.read_file(DIRECTORY / name))
    data[-10] ^= 1
    disk.replace_file(DIRECTORY / name, bytes(data))


def test_a_damaged_snapshot_is_put_aside_and_the_one_before_has_to_do(disk: MemoryDisk) -> None:
    journal = Journal(disk).begin()
    journal.create(1)
    good = journal.snapshot()
    journal.create(2)
    bad = journal.snapshot()
    journal.create(3)
    damage(disk, bad)
    lines: list[str] = []
    again = Journal(disk, report=lines.append)
    assert again.topics == [1, 2, 3]
    assert again.snapshot_names == [FORMATTED, good]
    assert f"{bad}.unreadable" in again.names
    assert any(bad in line and "cannot be read" in line for line in lines)
    assert again.begin().snapshot() > bad


def test_a_damaged_snapshot_whose_log_is_gone_ends_the_start(disk: MemoryDisk) -> None:
    journal = Journal(disk, segment_bytes=200).begin()
    for number in range(5):
        journal.create(number)
    name = journal.snapshot()
    journal.create(5)
    journal.clean(max_bytes=0)
    damage(disk, name)
    with pytest.raises(MalformedFile, match="restore the missing snapshot"):
        Journal(disk)
    assert name in disk.names(DIRECTORY), "it is still there for whoever can mend it"


def test_a_missing_segment_is_not_read_over(disk: MemoryDisk) -> None:
    journal = Journal(disk, segment_bytes=200).begin()
    for number in range(9):
        journal.create(number)
    second = sorted(name for name in journal.names if name.endswith(".log"))[2]
    disk.remove(DIRECTORY / second)
    with pytest.raises(MalformedFile, match=r"records from offset \d+ on are missing"):
        Journal(disk)


def test_a_log_that_ends_before_its_snapshot_begins_anew_behind_it(disk: MemoryDisk) -> None:
    journal = Journal(disk).begin()
    journal.create(1)
    journal.create(2)
    name = journal.snapshot()
    for each in journal.names:
        if each.startswith("0" * 20 + "."):
            disk.remove(DIRECTORY / each)
    disk.remove(DIRECTORY / "leader-epoch-checkpoint")
    again = Journal(disk)
    assert again.topics == [1, 2]
    assert again.log.end_offset == int(name[:20])
    again.begin().create(3)
    assert again.log.epoch == 2
    assert Journal(disk).topics == [1, 2, 3]


def test_what_was_formatted_halfway_is_formatted_again(disk: MemoryDisk) -> None:
    Journal(disk)
    for name in disk.names(DIRECTORY):
        disk.remove(DIRECTORY / name)
    assert Journal(disk).begin().log.kraft_version == 1


def test_a_snapshot_that_only_a_later_kafka_reads_is_kept(disk: MemoryDisk) -> None:
    """Records of types that nobody knows here go through an image, a snapshot and back."""
    journal = Journal(disk).begin()
    journal.create(1)
    name = journal.snapshot()
    snapshot = decode_snapshot(disk.read_file(DIRECTORY / name))
    later = b"\x01\x7f\x05rest of it"

    data = encode_snapshot(
        [*snapshot.records, decode_record(later)],
        epoch=1,
        last_log_timestamp_ms=NOW_MS,
        now_ms=NOW_MS,
        kraft_version=1,
        voters=OURS,
    )
    disk.replace_file(DIRECTORY / name, data)
    again = Journal(disk).begin()
    assert again.image.unknown == [later]
    again.append(r.NoOpRecord())
    again.snapshot()
    assert Journal(disk).image.unknown == [later]
