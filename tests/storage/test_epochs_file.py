"""When the file of leader epochs is written: not before a record, and never too late for whoever opens the log."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.record import Record
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, EpochsFile
from barnabas.storage.leader_epochs import EpochEntry
from barnabas.storage.log import Log
from barnabas.storage.memory_disk import MemoryDisk
from tests.storage import compacted
from tests.storage.damaged_bytes import damaged

from .epochs_on_disk import DIRECTORY, PATH, after_kill, after_power_cut, follow, in_file, known
from .faulty_disk import FaultyDisk, everything, nothing
from .test_durability import boot, new_disk, stop, sync, write_checkpoints
from .test_log import NOW, append


@pytest.fixture
def log() -> Log:
    return boot(new_disk())


# The file itself


def load(content: bytes) -> EpochsFile:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    disk.replace_file(PATH, content)
    return EpochsFile.load(disk, DIRECTORY)


def test_what_is_saved_is_loaded_again() -> None:
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    file = EpochsFile.load(disk, DIRECTORY)
    assert file.covers(2**63)
    file.epochs.assign(2, 10)
    file.epochs.assign(2**31 - 1, 2**63 - 1)
    assert file.covers(10)
    assert not file.covers(11)
    file.save()
    assert file.covers(2**63)
    assert disk.read_file(PATH) == b"0\n2\n2 10\n2147483647 9223372036854775807\n"
    loaded = EpochsFile.load(disk, DIRECTORY)
    assert loaded.epochs.entries == file.epochs.entries
    loaded.epochs.clear()
    assert not loaded.covers(11)
    loaded.save()
    assert EpochsFile.load(disk, DIRECTORY).epochs.entries == []


def test_contradictions_of_a_file_are_resolved_and_it_has_to_be_written_again() -> None:
    file = load(b"0\n3\n1 0\n5 10\n3 10\n")
    assert file.epochs.entries == [(1, 0), (3, 10)]
    assert not file.covers(11)
    assert not file.is_beginning()


def test_any_damage_is_read_or_named() -> None:
    refused = 0
    for content in damaged(b"0\n2\n2 10\n14 250\n"):
        try:
            load(content)
        except MalformedFile as error:
            refused += 1
            assert LEADER_EPOCH_CHECKPOINT in str(error)
    assert refused > 1000


@pytest.mark.parametrize(
    ("change", "covered", "beginning"),
    [
        (lambda epochs: epochs.truncate_from_start(15), True, True),
        (lambda epochs: epochs.truncate_from_start(99), True, True),
        (lambda epochs: epochs.truncate_from_end(20), False, False),
        (lambda epochs: epochs.assign(3, 40), False, False),
        (lambda epochs: epochs.assign(7, 40), False, True),
        (lambda epochs: epochs.assign(7, 60), True, True),
    ],
)
def test_what_whoever_opens_the_log_finds_out_need_not_be_in_the_file(
    change: Callable[[object], object], covered: bool, beginning: bool
) -> None:
    file = load(b"0\n3\n1 0\n2 10\n4 20\n")
    change(file.epochs)
    assert (file.covers(50), file.is_beginning()) == (covered, beginning)


def test_an_epoch_that_has_written_nothing_is_not_saved_with_records() -> None:
    file = load(b"0\n1\n1 0\n")
    file.epochs.assign(2, 10)
    file.epochs.assign(3, 20)
    assert file.save_below(20)
    assert file._saved == [EpochEntry(1, 0), EpochEntry(2, 10)]
    assert not file.save_below(15)
    file.save()
    file.epochs.assign(4, 30)
    assert file.save_below(31)
    file.epochs.assign(5, 40)
    assert not file.save_below(10)
    assert [entry.epoch for entry in file._saved] == [1, 2, 3, 4]


# Epochs that begin


def test_an_epoch_that_begins_is_saved_when_its_records_are_synced(log: Log) -> None:
    asked: Counter[str] = Counter()
    log.disk.before = lambda kind, _path: asked.update([kind])  # type: ignore[attr-defined]
    log.begin_epoch(0)
    append(log, b"a", b"b")
    append(log, b"c", epoch=3)
    assert asked == {"write": 2}
    assert in_file(log) == []
    assert known(after_kill(log)) == [(0, 0), (3, 2)]
    work = log.unsynced_records()
    work.sync()
    log.records_synced(work)
    assert in_file(log) == []
    assert known(after_power_cut(log)) == [(0, 0), (3, 2)]
    sync(log)
    assert in_file(log) == [(0, 0), (3, 2)]
    assert log.recovery_point == 3
    write_checkpoints(log)
    assert known(after_power_cut(log)) == [(0, 0), (3, 2)]


def test_one_that_wrote_nothing_is_forgotten_for_the_next(log: Log) -> None:
    append(log, b"a")
    log.begin_epoch(4)
    assert known(after_kill(log)) == [(0, 0)]
    sync(log)
    log.begin_epoch(6)
    append(log, b"b", epoch=6)
    assert in_file(log) == [(0, 0)]
    assert known(log) == known(after_kill(log)) == [(0, 0), (6, 1)]
    sync(log)
    write_checkpoints(log)
    assert known(after_power_cut(log)) == [(0, 0), (6, 1)]


def test_one_that_wrote_nothing_is_saved_at_once_where_the_next_begins_behind_a_gap(log: Log) -> None:
    append(log, b"a")
    log.begin_epoch(4)
    follow(log, 6, 9, [b"b"])
    assert known(after_kill(log)) == known(log) == in_file(log) == [(0, 0), (4, 1), (6, 9)]


@pytest.mark.parametrize("synced", [True, False])
def test_an_epoch_that_is_not_later_is_saved_at_once(log: Log, synced: bool) -> None:
    """Whoever opens the log would take its records for those of the epoch before."""
    append(log, b"a", epoch=5)
    if synced:
        sync(log)
        write_checkpoints(log)
    append(log, b"b", epoch=3)
    assert known(log) == in_file(log) == [(3, 1)]


def test_what_the_file_says_too_much_is_gone_before_others_are_in_its_place(log: Log) -> None:
    """It is left from records that a power cut took."""
    append(log, b"a")
    sync(log)
    write_checkpoints(log)
    log.epochs.assign(7, 1)
    log.epochs_file.save()
    found = after_power_cut(log)
    assert known(found) == [(0, 0)]
    assert in_file(found) == [(0, 0), (7, 1)]
    append(found, b"b", epoch=0)
    assert in_file(found) == [(0, 0)]
    append(found, b"c", epoch=8)
    assert in_file(found) == [(0, 0)]
    assert known(after_kill(found)) == [(0, 0), (8, 2)]


def test_where_a_recovery_point_may_still_be_written_that_is_too_high_nothing_waits(log: Log) -> None:
    """A log that was cut, and nobody has said so yet in the file of recovery points."""
    for number in range(20):
        append(log, b"%d" % number * 20)
    sync(log)
    write_checkpoints(log)
    log.truncate_to(10, NOW)
    for number in range(40):
        append(log, b"%d" % number * 20, epoch=4)
    assert len(log.segments) > 5
    assert in_file(log) == [(0, 0), (4, 10)]
    assert known(after_kill(log)) == [(0, 0), (4, 10)]
    sync(log)
    append(log, b"more", epoch=5)
    assert in_file(log) == [(0, 0), (4, 10)]
    assert known(after_kill(log)) == [(0, 0), (4, 10), (5, 50)]


def test_a_truncation_that_could_not_save_them_is_not_forgotten(log: Log) -> None:
    append(log, b"a")
    append(log, b"b", epoch=1)
    sync(log)
    log.disk.fail("rename")  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="error"):
        log.truncate_to(1, NOW)
    assert in_file(log) == [(0, 0), (1, 1)]
    append(log, b"c")
    assert in_file(log) == [(0, 0)]


def test_what_is_learned_where_the_next_start_does_not_look_is_saved_at_once(log: Log) -> None:
    for epoch in range(3):
        for number in range(3):
            append(log, b"%d" % number * 20, epoch=epoch)
    before = known(log)
    assert log.segments[1].base_offset > 6
    stop(log)
    log.disk.remove(log.directory / LEADER_EPOCH_CHECKPOINT)
    log.disk.remove(log.segments[0].path(".index"))
    found = boot(log.disk)
    assert known(found) == in_file(found) == before
    assert known(boot(log.disk)) == before


def test_a_stop_saves_what_a_kill_left_to_the_records(log: Log) -> None:
    append(log, b"a")
    found = after_kill(log)
    assert in_file(found) == []
    found.begin_epoch(1)
    stop(found)
    assert in_file(found) == [(0, 0)]
    again = boot(found.disk)
    assert known(again) == [(0, 0)]
    append(again, b"b", epoch=2)
    assert in_file(again) == [(0, 0)]
    assert known(after_kill(again)) == [(0, 0), (2, 1)]


def test_compaction_saves_them_before_it_takes_the_records_that_tell() -> None:
    disk = FaultyDisk()
    disk.make_directory(Path("/data"))
    disk.sync_directory(Path("/"))
    log = compacted.new_log(disk, Path("/data"))
    compacted.append(log, (b"k", b"0"))
    log.begin_epoch(1)
    for value in (b"1", b"2", b"3"):
        log.append_as_leader([Batch(build_batch([Record(b"k", value, timestamp=NOW)]))], 1, NOW)
    job = compacted.job_for(log)
    assert not log.epochs_file.covers(log.end_offset)
    for cleaned in compact(job, disk):
        swap_in(log, job, cleaned)
    assert list(compacted.left(log)) == [3]
    assert in_file(log) == known(log) == [(0, 0), (1, 1)]
    assert log.recovery_point == 0
    assert known(compacted.reopened(log, disk=disk.crashed(everything))) == [(0, 0), (1, 1)]
    assert known(compacted.reopened(log, disk=disk.crashed(nothing))) == [(0, 0), (1, 1)]
