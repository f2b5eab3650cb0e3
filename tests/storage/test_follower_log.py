"""A log as a follower uses it: batches as the leader has them, cut where another leader has others."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.record import Record
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.segment_reading import CorruptSegment

from .faulty_disk import FaultyDisk
from .test_log import CONFIG, NOW, everything, reopened


def written(offset: int, epoch: int, *values: bytes, producer_id: int = -1, sequence: int = -1) -> bytes:
    records = [Record(value=value, timestamp=NOW) for value in values]
    return build_batch(
        records,
        base_offset=offset,
        leader_epoch=epoch,
        producer_id=producer_id,
        producer_epoch=min(producer_id, 0),
        base_sequence=sequence,
    )


def log_on(disk: Disk) -> Log:
    directory = Path("/data/orders-0")
    disk.make_directory(directory)
    return open_log(disk, directory, CONFIG, now_ms=NOW, clean=True)


def epochs(log: Log) -> list[tuple[int, int]]:
    return [(epoch, start_offset) for epoch, start_offset in log.epochs.entries]


def test_nothing_is_taken_of_an_epoch_that_was_not_asked_for() -> None:
    log = log_on(MemoryDisk())
    data = written(0, 3, b"a") + written(1, 4, b"b") + written(2, 6, b"c") + written(3, 4, b"d")
    assert log.append_as_follower(data, NOW, leader_epoch=5) == (0, 1, -1, False)
    assert log.append_as_follower(written(2, 6, b"c"), NOW, leader_epoch=5) is None
    assert everything(log) == {0: b"a", 1: b"b"}
    assert epochs(log) == [(3, 0), (4, 1)]
    assert log.read(0, 10_000).read() == data[: len(log.read(0, 10_000))]


def test_what_fills_more_than_a_segment_fills_several() -> None:
    log = log_on(MemoryDisk())
    data = b"".join(written(number, 0, b"%02d" % number * 100) for number in range(12))
    assert len(data) > 3 * CONFIG.roll_bytes
    assert log.append_as_follower(data, NOW) == (0, 11, -1, False)
    assert len(log.segments) > 3
    assert all(segment.size <= CONFIG.roll_bytes for segment in log.segments)
    assert everything(reopened(log)) == {number: b"%02d" % number * 100 for number in range(12)}


def test_an_epoch_that_has_written_nothing_is_given_up_with_a_cut_at_the_end() -> None:
    """Its leader died before it wrote, and the next one knows nothing of it."""
    disk = FaultyDisk()
    log = log_on(disk)
    log.append_as_follower(written(0, 1, b"a"), NOW)
    log.begin_epoch(2)
    assert epochs(log) == [(1, 0), (2, 1)]
    assert not log.truncate_to(5, NOW)
    assert epochs(log) == [(1, 0)]
    log.append_as_follower(written(1, 3, b"b"), NOW)
    assert epochs(log) == epochs(reopened(log)) == [(1, 0), (3, 1)]


def test_where_there_is_no_room_for_the_epochs_the_log_is_cut_all_the_same() -> None:
    disk = FaultyDisk()
    log = log_on(disk)
    for number in range(6):
        log.append_as_follower(written(number, number // 2, b"v" * 200, producer_id=7, sequence=number), NOW)
    disk.capacity = 0
    with pytest.raises(OSError, match="No space left"):
        log.truncate_to(3, NOW)
    assert (log.end_offset, epochs(log)) == (3, [(0, 0), (1, 2)])
    assert log.producers.producers[7].last_sequence == 2
    disk.capacity = None
    log.append_as_follower(written(3, 9, b"w", producer_id=7, sequence=3), NOW)
    log.close()
    again = reopened(log)
    assert everything(again) == {0: b"v" * 200, 1: b"v" * 200, 2: b"v" * 200, 3: b"w"}
    assert epochs(again) == [(0, 0), (1, 2), (9, 3)]


@pytest.mark.parametrize("offset", [0, 40])
@pytest.mark.parametrize("kind", ["open", "write", "map"])
def test_a_log_that_cannot_begin_anew_now_can_a_moment_later(offset: int, kind: str) -> None:
    disk = FaultyDisk()
    log = log_on(disk)
    for number in range(6):
        log.append_as_follower(written(number, 1, b"v" * 200), NOW)
    disk.fail(kind, 1, errno.ENOSPC, 10_000)
    try:
        log.truncate_fully_and_start_at(offset, NOW)
    except OSError as error:
        assert error.errno == errno.ENOSPC
    disk.mend()
    assert log.segments
    log.truncate_fully_and_start_at(offset, NOW)
    assert (log.start_offset, log.end_offset, epochs(log), len(log.segments)) == (offset, offset, [], 1)
    log.append_as_follower(written(offset, 3, b"w"), NOW)
    again = reopened(log, clean=False)
    assert (everything(again), epochs(again)) == ({offset: b"w"}, [(3, offset)])
    (batch,) = iterate_batches(again.read(offset, 1_000).read())
    assert batch.partition_leader_epoch == 3


def test_a_log_that_cannot_be_read_where_it_is_to_be_cut_stays_as_it_is() -> None:
    log = log_on(MemoryDisk())
    log.append_as_follower(written(0, 0, b"a") + written(1, 0, b"b") + written(2, 0, b"c"), NOW)
    places = list(log.active.places())
    log.roll(NOW)
    log.append_as_follower(written(3, 0, b"d"), NOW)
    log.segments[0].file.write(places[1].position + 8, [b"\0\0\0\1"])
    with pytest.raises(CorruptSegment):
        log.truncate_to(2, NOW)
    assert (log.end_offset, [segment.base_offset for segment in log.segments]) == (4, [0, 3])
