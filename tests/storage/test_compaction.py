"""Compaction keeps of each key the last record, and of the rest what readers and producers still need."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.batches import Attributes, Batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.record import read_records
from barnabas.storage import compaction
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_checkpoint import CleanerCheckpoint
from barnabas.storage.compaction_job import compaction_job
from barnabas.storage.compaction_swap import StaleCompaction, discard, swap_in, swap_steps
from barnabas.storage.log import Log
from barnabas.storage.offset_map import BYTES_PER_SLOT
from barnabas.storage.retention import delete_due
from barnabas.storage.segment_reading import CorruptSegment

from .compacted import (
    NOW,
    append,
    batches,
    check,
    compact_now,
    end_transaction,
    job_for,
    left,
    new_log,
    planned,
    reopened,
)
from .conftest import Place
from .faulty_disk import FaultyDisk

DAY = 86_400_000


@pytest.fixture
def log(place: Place) -> Log:
    return new_log(place.disk, place.directory)


def test_the_last_record_of_each_key_stays_where_it_was(log: Log) -> None:
    append(log, (b"a", b"1"), (b"b", b"1"))
    append(log, (b"a", b"2"), (b"c", b"1"))
    append(log, (b"b", b"2"))
    assert compact_now(log) == 5
    assert left(log) == {2: (b"a", b"2"), 3: (b"c", b"1"), 4: (b"b", b"2")}
    append(log, (b"c", b"2"))
    assert compact_now(log, clean=5) == 6
    assert left(log) == {2: (b"a", b"2"), 4: (b"b", b"2"), 5: (b"c", b"2")}
    assert left(reopened(log)) == left(log)
    assert reopened(log).end_offset == 6


def test_a_batch_that_loses_nothing_is_copied_as_it_is(log: Log) -> None:
    append(log, (b"a", b"1"), compression=Compression.GZIP, producer_id=1, producer_epoch=0, base_sequence=0)
    append(log, (b"b", b"1"), (b"c", None), compression=Compression.NONE)
    before = [bytes(batch.buffer[batch.position : batch.end]) for batch in batches(log)]
    compact_now(log)
    after = [bytes(batch.buffer[batch.position : batch.end]) for batch in batches(log)]
    assert after[0] == before[0]
    assert after[1] != before[1]  # its tombstone has a horizon now


def test_a_batch_that_loses_records_keeps_its_offsets_and_its_producer(log: Log) -> None:
    append(log, (b"a", b"1"), (b"b", b"1"), (b"c", b"1"), producer_id=7, producer_epoch=3, base_sequence=40)
    append(log, (b"a", b"2"), (b"c", b"2"))
    (before, _) = batches(log)
    compact_now(log)
    (after, _) = batches(log)
    for name in ("base_offset", "last_offset", "producer_id", "producer_epoch", "base_sequence", "last_sequence"):
        assert getattr(after, name) == getattr(before, name)
    (record,) = read_records(after)
    assert (record.offset, record.timestamp, after.max_timestamp) == (1, NOW + 1, NOW + 1)


@pytest.mark.parametrize("compression", list(Compression))
def test_every_way_of_packing(log: Log, compression: Compression) -> None:
    append(log, (b"a", b"1" * 500), (b"b", b"1" * 500), compression=compression)
    append(log, (b"c", b"1" * 500), compression=compression)
    append(log, (b"a", b"2" * 500), compression=compression)
    compact_now(log)
    assert left(log) == {1: (b"b", b"1" * 500), 2: (b"c", b"1" * 500), 3: (b"a", b"2" * 500)}
    assert [batch.compression for batch in batches(log)] == [compression] * 3


def test_records_without_a_key_go(log: Log) -> None:
    append(log, (None, b"1"), (b"a", b"1"), (None, None))
    compact_now(log)
    assert left(log) == {1: (b"a", b"1")}


def test_tombstones_stay_until_their_horizon(log: Log) -> None:
    append(log, (b"a", b"1"), (b"b", b"1"))
    append(log, (b"a", None), (b"c", b"1"))
    append(log, (b"z", b"1"))
    compact_now(log)
    assert left(log) == {1: (b"b", b"1"), 2: (b"a", None), 3: (b"c", b"1"), 4: (b"z", b"1")}
    tombstones = list(batches(log))[1]
    assert tombstones.delete_horizon_ms == NOW + DAY
    assert [record.timestamp for record in read_records(tombstones)] == [NOW, NOW + 1]
    assert log.find_timestamp(NOW + 1) == (NOW + 1, 1, 0)
    append(log, (b"y", b"1"))
    compact_now(log, clean=5, now_ms=NOW + DAY - 1)
    assert left(log)[2] == (b"a", None)
    append(log, (b"x", b"1"))
    compact_now(log, clean=6, now_ms=NOW + DAY)
    assert 2 not in left(log)
    assert left(log)[3] == (b"c", b"1")
    assert list(batches(log))[1].delete_horizon_ms == NOW + DAY


def test_a_tombstone_for_ever_has_no_horizon(place: Place) -> None:
    log = new_log(place.disk, place.directory, delete_retention_ms=str(2**63 - 1))
    append(log, (b"a", None))
    compact_now(log)
    assert left(log) == {0: (b"a", None)}
    assert [batch.delete_horizon_ms for batch in batches(log)] == [None]


def test_times_given_by_the_broker_stay(place: Place) -> None:
    log = new_log(place.disk, place.directory, message_timestamp_type="LogAppendTime")
    append(log, (b"a", b"1"), (b"b", None), timestamp=5)
    append(log, (b"a", b"2"))
    compact_now(log)
    first = next(batches(log))
    assert first.attributes & Attributes.LOG_APPEND_TIME
    assert first.delete_horizon_ms == NOW + DAY
    assert (first.max_timestamp, [record.timestamp for record in read_records(first)]) == (NOW, [NOW])


def test_aborted_records_go_at_once_and_their_marker_later(log: Log) -> None:
    append(log, (b"a", b"1"))
    append(log, (b"a", b"2"), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    end_transaction(log, ControlRecordType.ABORT, 9)
    append(log, (b"b", b"1"), producer_id=9, producer_epoch=0, base_sequence=1, transactional=True)
    end_transaction(log, ControlRecordType.COMMIT, 9)
    append(log, (b"z", b"1"))
    log.producers.on_high_watermark_advanced(log.end_offset)
    assert compact_now(log) == 6
    assert left(log) == {0: (b"a", b"1"), 3: (b"b", b"1"), 5: (b"z", b"1")}
    # The first round saw the aborted batch: its marker is needed once more.
    assert markers(log) == {2: None, 4: None}
    assert [tuple(one) for one in log.aborted_transactions(0, 6)] == [(9, 1, 2, 3)]
    compact_again(log, 6, NOW)
    assert markers(log) == {2: NOW + DAY, 4: None}
    assert log.aborted_transactions(0, 6) == []
    compact_again(log, 7, NOW + DAY - 1)
    assert markers(log) == {2: NOW + DAY, 4: None}
    compact_again(log, 8, NOW + DAY)
    assert markers(log) == {4: None}
    assert left(reopened(log)) == left(log)


def test_a_committed_transactions_marker_goes_when_nothing_of_it_is_left(log: Log) -> None:
    append(log, (b"a", b"1"), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    end_transaction(log, ControlRecordType.COMMIT, 9)
    append(log, (b"a", b"2"), producer_id=9, producer_epoch=0, base_sequence=1, transactional=True)
    end_transaction(log, ControlRecordType.COMMIT, 9)
    append(log, (b"z", b"1"))
    compact_now(log)
    assert markers(log) == {1: None, 3: None}
    compact_again(log, 5, NOW)
    assert markers(log) == {1: NOW + DAY, 3: None}
    compact_again(log, 6, NOW + DAY)
    assert markers(log) == {3: None}


def test_a_transaction_that_goes_on_is_not_touched(log: Log) -> None:
    append(log, (b"a", b"1"))
    log.roll(NOW)
    append(log, (b"a", b"2"), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.roll(NOW)
    append(log, (b"a", b"3"))
    log.roll(NOW)
    stable = log.producers.last_stable_offset(log.end_offset)
    assert stable == 1
    job = compaction_job(log, planned(log, stable=stable), NOW)
    assert [source.base_offset for source in job.sources] == [0]


def test_an_abort_that_is_in_a_later_segment_is_known(log: Log) -> None:
    append(log, (b"a", b"1"))
    append(log, (b"a", b"2"), producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.roll(NOW)
    append(log, (b"b", b"1"))
    end_transaction(log, ControlRecordType.ABORT, 9)
    compact_now(log, roll=False)
    assert left(log) == {0: (b"a", b"1"), 2: (b"b", b"1")}
    assert [tuple(one) for one in log.aborted_transactions(0, 4)] == [(9, 1, 3, 4)]


def test_what_is_known_of_producers_stays_known(log: Log) -> None:
    def send(sequence: int) -> None:
        append(log, (b"a", b"%d" % sequence), producer_id=5, producer_epoch=0, base_sequence=sequence)

    send(0)
    send(1)
    append(log, (b"a", b"last"))
    append(log, (b"z", b"last"))
    compact_now(log)
    assert left(log) == {2: (b"a", b"last"), 3: (b"z", b"last")}
    (kept, *_) = batches(log)
    assert (kept.base_offset, kept.record_count, kept.base_sequence, kept.producer_id) == (1, 0, 1, 5)
    log.close()
    for name in log.disk.names(log.directory):
        if name.endswith(".snapshot"):
            log.disk.remove(log.directory / name)
    again = reopened(log)
    assert again.producers.producers[5].last_sequence == 1
    log = again
    send(2)
    with pytest.raises(KafkaError):
        send(9)


def test_a_producer_of_markers_alone_keeps_its_epoch(log: Log) -> None:
    end_transaction(log, ControlRecordType.ABORT, 9, epoch=4)
    append(log, (b"a", b"1"))
    for clean, now_ms in ((None, NOW), (2, NOW), (3, NOW + DAY), (4, NOW + 2 * DAY)):
        append(log, (b"z", b"1"))
        compact_now(log, clean=clean, now_ms=now_ms)
    (marker, *_) = batches(log)
    assert (marker.base_offset, marker.control, marker.producer_epoch, marker.record_count) == (0, True, 4, 0)


def test_a_map_that_is_too_small_takes_several_rounds(log: Log) -> None:
    for number in range(40):
        append(log, (b"k%d" % (number % 20), b"%d" % number))
    final = {20 + number: (b"k%d" % number, b"%d" % (20 + number)) for number in range(20)}
    clean = 0
    rounds: list[int] = []
    while clean < 40:
        clean = compact_now(log, clean=clean, map_bytes=11 * BYTES_PER_SLOT, roll=not rounds)
        rounds.append(clean)
        found = left(log)
        assert final.items() <= found.items()
        assert all(offset >= clean or found.get(offset) in (None, *final.values()) for offset in range(20, 40))
    assert rounds == [9, 18, 27, 36, 40]  # a load factor of 0.9
    assert left(log) == final


def test_small_segments_are_put_together(place: Place) -> None:
    log = new_log(place.disk, place.directory, internal_segment_bytes="1000")
    for number in range(60):
        append(log, (b"k%d" % (number % 4), b"v" * 100))
    count = len(log.segments)
    assert count > 8
    clean = compact_now(log)
    append(log, (b"z", b""))
    compact_now(log, clean=clean)
    assert len(log.segments) == 3
    assert sorted(left(log)) == [56, 57, 58, 59, 60]
    assert len(log.removed) > 8
    for segment in log.removed:
        segment.remove()
    assert not [name for name in place.disk.names(log.directory) if "deleted" in name]
    assert left(reopened(log)) == left(log)


def test_compact_and_delete_together(place: Place) -> None:
    log = new_log(
        place.disk, place.directory, cleanup_policy="compact,delete", retention_ms="1000", internal_segment_bytes="1000"
    )
    for number in range(30):
        append(log, (b"k%d" % number, b"v" * 100), timestamp=NOW + 100 * number)
    clean = compact_now(log)
    assert list(left(log)) == list(range(30))
    delete_due(log, log.end_offset, NOW + 2_500)
    assert log.start_offset > 10
    append(log, (b"k29", b"again"))
    compact_now(log, clean=clean)
    assert left(log)[30] == (b"k29", b"again")
    assert 29 not in left(log)


def test_damage_is_found_and_nothing_is_written(log: Log) -> None:
    append(log, (b"a", b"1"))
    append(log, (b"a", b"2"))
    job = job_for(log)
    log.segments[0].file.write(log.segments[0].size - 3, [b"!"])
    with pytest.raises(CorruptSegment):
        list(compact(job, log.disk))
    check(log)


def test_it_can_be_slowed_down_and_cancelled(log: Log) -> None:
    class Cancelled(Exception):  # noqa: N818
        pass

    for number in range(10):
        append(log, (b"a%d" % number, b"x" * 1_000))
    job = job_for(log)
    told: list[int] = []
    (cleaned,) = compact(job, log.disk, throttle=told.append)
    assert sum(told) == 3 * cleaned.size  # read twice, written once
    discard(log.disk, job, cleaned)
    check(log)
    calls: Iterator[int] = iter(range(100))

    def cancel() -> None:
        if next(calls) == 1:
            raise Cancelled

    with pytest.raises(Cancelled):
        list(compact(job, log.disk, check=cancel))
    check(log)
    assert len(left(log)) == 10


def test_a_result_that_comes_too_late_is_refused(log: Log) -> None:
    for number in range(10):
        append(log, (b"a", b"%d" % number))
    job = job_for(log)
    (cleaned,) = compact(job, log.disk)
    log.truncate_to(9, NOW)
    with pytest.raises(StaleCompaction, match="truncated"):
        swap_in(log, job, cleaned)
    check(log)
    assert len(left(log)) == 9
    job = job_for(log)
    (cleaned,) = compact(job, log.disk)
    log.delete_segments(log.segments[:1])
    with pytest.raises(StaleCompaction, match="deleted"):
        swap_in(log, job, cleaned)
    check(log)


def test_a_result_is_as_old_as_its_last_source(place: Place) -> None:
    """By that retention counts where records have no time, and tombstones of old formats go."""
    log = new_log(place.disk, place.directory, internal_segment_bytes="1000")
    for number in range(20):
        append(log, (b"k%d" % (number % 3), b"v" * 100))
    log.roll(NOW)
    for number, segment in enumerate(log.segments):
        place.disk.set_modified_ms(segment.path(".log"), 1_500_000_000_000 + number)
    job = job_for(log, roll=False)
    expected = {}
    for cleaned in compact(job, log.disk):
        number = log.segment_number(cleaned.sources[-1].base_offset)
        expected[cleaned.base_offset] = place.disk.modified_ms(log.segments[number].path(".log"))
        swap_in(log, job, cleaned)
    again = reopened(log)
    found = {one.base_offset: place.disk.modified_ms(one.path(".log")) for one in again.segments[:-1]}
    assert found == expected
    assert len(found) > 1


def test_the_log_is_in_use_while_a_result_takes_its_place(log: Log) -> None:
    """Whenever somebody else syncs, it is appended to, rolled and read."""
    for number in range(10):
        append(log, (b"a%d" % (number % 3), b"%d" % number))
    job = job_for(log)
    (cleaned,) = compact(job, log.disk)
    steps = swap_steps(log, job, cleaned)
    for number, sync in enumerate(steps):
        offset = append(log, (b"b", b"%d" % number))
        log.roll(NOW)
        found = left(log)
        assert {7, 8, 9, offset} <= set(found)
        assert found[offset] == (b"b", b"%d" % number)
        assert Batch(log.read(7, 10_000).read()).last_offset == 7
        sync()
    assert number == 3  # epochs are saved first, since nothing was synced before
    assert list(left(log)) == [7, 8, 9, 10, 11, 12, 13]
    check(log)


def test_a_disk_that_fails_while_somebody_else_syncs() -> None:
    disk = FaultyDisk()
    disk.make_directory(Path("/data"))
    log = new_log(disk, Path("/data"))
    append(log, (b"a", b"1"))
    job = job_for(log)
    (cleaned,) = compact(job, disk)
    disk.fail("sync_directory")
    sync = next(swap_steps(log, job, cleaned))
    with pytest.raises(KafkaError, match="KAFKA_STORAGE_ERROR: /data/orders-0: the result of a compaction could not"):
        sync()


def test_much_is_written_back_as_it_is_written(monkeypatch: pytest.MonkeyPatch) -> None:
    disk = FaultyDisk()
    disk.make_directory(Path("/data"))
    log = new_log(disk, Path("/data"))
    for number in range(60):
        append(log, (b"k%d" % number, b"x" * 1_000))
    job = job_for(log)
    monkeypatch.setattr(compaction, "READ_BYTES", 3_000)
    monkeypatch.setattr(compaction, "WRITE_BACK_BYTES", 10_000)
    unsafe = []

    def before(kind: str, path: Path) -> None:
        if kind == "write" and path.name.endswith(".log.cleaned"):
            unsafe.append(sum(change.length for change in disk.unsafe() if change.path == path))

    disk.before = before
    list(compact(job, disk))
    assert 5_000 < max(unsafe) < 13_000


def test_a_reader_keeps_what_it_was_given(log: Log) -> None:
    append(log, (b"a", b"1"))
    append(log, (b"a", b"2"))
    log.roll(NOW)
    slice_ = log.read(0, 10_000)
    before = slice_.read()
    compact_now(log)
    for segment in log.removed:
        segment.remove()
    assert slice_.read() == before
    assert [record.value for record in read_records(Batch(log.read(0, 10_000).read()))] == [b"2"]


def test_the_checkpoint(place: Place) -> None:
    checkpoint = CleanerCheckpoint(place.disk, place.directory)
    assert checkpoint.offset("orders", 0) is None
    checkpoint.set("orders", 0, 17)
    checkpoint.set("clicks", 3, 5)
    checkpoint.truncate("orders", 0, 20)
    checkpoint.truncate("clicks", 3, 4)
    again = CleanerCheckpoint(place.disk, place.directory)
    assert (again.offset("orders", 0), again.offset("clicks", 3)) == (17, 4)
    again.keep_only({("clicks", 3)})
    data = place.disk.read_file(place.directory / "cleaner-offset-checkpoint")
    assert data == b"0\n1\nclicks 3 4\n"


def test_a_log_in_another_directory_is_compacted_by_its_path(tmp_path: Path, place: Place) -> None:
    log = new_log(place.disk, place.directory / "elsewhere")
    append(log, (b"a", b"1"))
    assert job_for(log).directory == place.directory / "elsewhere" / "orders-0"


def old_message(offset: int, key: bytes, value: bytes | None, *, timestamp: int) -> bytes:
    """As Kafka 0.10 wrote it."""
    fields = [struct.pack(">bbq", 1, 0, timestamp), struct.pack(">i", len(key)), key]
    fields += [struct.pack(">i", -1)] if value is None else [struct.pack(">i", len(value)), value]
    body = b"".join(fields)
    message = struct.pack(">I", zlib.crc32(body)) + body
    return struct.pack(">qi", offset, len(message)) + message


def test_old_messages_that_stay_become_batches_of_the_new_format(log: Log) -> None:
    messages = [(b"a", b"1"), (b"b", b"1"), (b"a", b"2"), (b"c", None)]
    data = b"".join(old_message(number, *each, timestamp=NOW + number) for number, each in enumerate(messages))
    log.active.file.write(0, [data])
    log = reopened(log)
    assert log.end_offset == 4
    log.roll(NOW)
    compact_now(log)
    assert left(log) == {1: (b"b", b"1"), 2: (b"a", b"2"), 3: (b"c", None)}
    found = list(batches(log))
    assert [(batch.magic, batch.delete_horizon_ms) for batch in found] == [(2, None), (2, None), (2, NOW + DAY)]
    assert [record.timestamp for batch in found for record in read_records(batch)] == [NOW + 1, NOW + 2, NOW + 3]


def compact_again(log: Log, clean: int, now_ms: int) -> None:
    """One more record, so that something is dirty."""
    append(log, (b"z", b"%d" % clean))
    compact_now(log, clean=clean, now_ms=now_ms)


def markers(log: Log) -> dict[int, int | None]:
    """Offsets and horizons of those that are there as a whole."""
    return {
        batch.base_offset: batch.delete_horizon_ms for batch in batches(log) if batch.control and batch.record_count
    }
