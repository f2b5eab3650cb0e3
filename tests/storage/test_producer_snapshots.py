"""Snapshot files: their bytes, their damage, and which one is taken."""

from __future__ import annotations

import pytest

from barnabas.protocol.records.producer_snapshot import ProducerEntry
from barnabas.storage.disk import SystemDisk
from barnabas.storage.producer_snapshots import (
    CorruptSnapshot,
    ProducerSnapshots,
    decode_snapshot,
    encode_snapshot,
    snapshot_name,
)
from tests.storage.conftest import Place

ENTRIES = [ProducerEntry(7, 1, 5, 20, 5, 1_700_000_000_000, 3, 15), ProducerEntry(8, 0, -1, -1, 0, 1, -1, -1)]
# As Kafka's own: test_producer_state_against_kafka.py has it read what we write.
SNAPSHOT = bytes.fromhex(
    "0001 6688631e 00000002"
    "0000000000000007 0001 00000005 0000000000000014 00000005 0000018bcfe56800 00000003 000000000000000f"
    "0000000000000008 0000 ffffffff ffffffffffffffff 00000000 0000000000000001 ffffffff ffffffffffffffff"
)


def test_the_bytes() -> None:
    assert encode_snapshot(ENTRIES) == SNAPSHOT
    assert decode_snapshot(SNAPSHOT) == ENTRIES
    assert decode_snapshot(encode_snapshot([])) == []


def test_every_prefix_is_corrupt() -> None:
    for length in range(len(SNAPSHOT)):
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(SNAPSHOT[:length])


def test_every_flipped_bit_is_corrupt() -> None:
    for position in range(len(SNAPSHOT)):
        for bit in range(8):
            with pytest.raises(CorruptSnapshot):
                decode_snapshot(SNAPSHOT[:position] + bytes([SNAPSHOT[position] ^ 1 << bit]) + SNAPSHOT[position + 1 :])


def test_a_claim_of_more_entries_than_there_are_is_corrupt_although_the_checksum_is_right() -> None:
    from crc32c import crc32c

    body = bytes.fromhex("7fffffff") + SNAPSHOT[10:]
    with pytest.raises(CorruptSnapshot, match="claims a length"):
        decode_snapshot(SNAPSHOT[:2] + crc32c(body).to_bytes(4, "big") + body)


@pytest.mark.parametrize("data", [b"\x00\x02" + SNAPSHOT[2:], b"\xff\xff" + SNAPSHOT[2:]])
def test_an_unknown_version_is_corrupt(data: bytes) -> None:
    with pytest.raises(CorruptSnapshot, match="version"):
        decode_snapshot(data)


def test_what_is_written_is_found_again(place: Place) -> None:
    snapshots = ProducerSnapshots(place.disk, place.directory)
    assert (snapshots.oldest, snapshots.latest, snapshots.load_newest()) == (None, None, None)
    for offset in (30, 10, 20):
        file = snapshots.write(offset, ENTRIES, sync=offset == 10)
        assert file.path == place.directory / f"000000000000000000{offset}.snapshot"
    for name in ("00000000000000000040.log", "00000000000000000040.snapshot.deleted", "40.snapshot"):
        place.disk.open(place.directory / name)
    for found in (snapshots, ProducerSnapshots(place.disk, place.directory)):
        assert (found.offsets, found.oldest, found.latest) == ((10, 20, 30), 10, 30)
        assert found.load_newest() == (30, ENTRIES)
        assert found.load_newest(up_to=29) == (20, ENTRIES)
        assert found.load_newest(up_to=20) == (20, ENTRIES)
        assert found.load_newest(up_to=9) is None


def test_a_shorter_one_replaces_a_longer_one_of_the_same_offset(place: Place) -> None:
    snapshots = ProducerSnapshots(place.disk, place.directory)
    snapshots.write(10, ENTRIES)
    snapshots.write(10, ENTRIES[:1])
    assert snapshots.offsets == (10,)
    assert snapshots.read(10) == ENTRIES[:1]


def test_corrupt_ones_are_removed_and_the_next_older_one_is_taken(place: Place) -> None:
    lines: list[str] = []
    snapshots = ProducerSnapshots(place.disk, place.directory, report=lines.append)
    for offset in (10, 20, 30, 40):
        snapshots.write(offset, ENTRIES)
    for offset in (20, 30):
        place.disk.open(snapshots.path(offset)).truncate(offset)
    assert snapshots.load_newest(up_to=35) == (10, ENTRIES)
    assert snapshots.offsets == (10, 40)
    assert place.disk.names(place.directory) == [snapshot_name(10), snapshot_name(40)]
    assert [line.split(": ")[0] for line in lines] == [str(snapshots.path(30)), str(snapshots.path(20))]
    assert all("it is removed" in line for line in lines)


def test_a_disk_that_fails_is_not_taken_for_a_corrupt_file(place: Place) -> None:
    snapshots = ProducerSnapshots(place.disk, place.directory)
    snapshots.write(10, ENTRIES)
    place.disk.remove(snapshots.path(10))
    with pytest.raises(FileNotFoundError):
        snapshots.load_newest()
    assert snapshots.offsets == (10,)


def test_deletion(place: Place) -> None:
    snapshots = ProducerSnapshots(place.disk, place.directory)
    for offset in range(0, 70, 10):
        snapshots.write(offset, [])
    snapshots.delete_before(20)
    snapshots.delete_after(50)
    snapshots.delete(30)
    snapshots.delete(31)
    assert snapshots.offsets == (20, 40, 50)
    assert place.disk.names(place.directory) == [snapshot_name(offset) for offset in (20, 40, 50)]
    snapshots.delete_all()
    assert place.disk.names(place.directory) == []


@pytest.mark.parametrize(
    ("segments", "kept"),
    [
        ((0, 20, 40), (20, 40, 60)),  # the newest is that of a clean stop
        ((0, 20, 70), (20,)),
        ((20, 60), (20, 60)),
        ((), (60,)),
        ((0, 30), (60,)),
    ],
)
def test_strays(place: Place, segments: tuple[int, ...], kept: tuple[int, ...]) -> None:
    snapshots = ProducerSnapshots(place.disk, place.directory)
    for offset in (10, 20, 40, 50, 60):
        snapshots.write(offset, [])
    snapshots.delete_strays(segments)
    assert snapshots.offsets == kept
    assert len(place.disk.names(place.directory)) == len(kept)


def test_a_renamed_directory(place: Place) -> None:
    old, new = place.directory / "t-0", place.directory / "t-0.1234-delete"
    place.disk.make_directory(old)
    snapshots = ProducerSnapshots(place.disk, old)
    snapshots.write(10, ENTRIES)
    place.disk.rename(old, new)
    snapshots.directory = new
    assert snapshots.read(10) == ENTRIES
    assert isinstance(place.disk, SystemDisk) == (new / snapshot_name(10)).exists()
