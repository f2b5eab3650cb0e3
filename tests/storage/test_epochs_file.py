"""When the file of leader epochs is written: not before a record, and never too late for whoever opens the log."""

from __future__ import annotations

import random
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.disk import SystemDisk, SystemFile
from barnabas.storage.durability import Unsynced
from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, UNNAMED, EpochsFile
from barnabas.storage.leader_epochs import EpochEntry
from barnabas.storage.log import Log
from barnabas.storage.log_directories import Replica
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.replica_moves import begin_move, finish_move
from barnabas.storage.retention import delete_due
from tests.storage import compacted
from tests.storage.damaged_bytes import damaged

from .faulty_disk import FaultyDisk, everything, nothing, random_part
from .test_durability import boot, check_whole, new_disk, stop, sync, write_checkpoints
from .test_log import CONFIG as SMALL
from .test_log import NOW, append, batch_of
from .test_log_directories import ORDERS
from .test_replica_moves import copy_all, started

DIRECTORY = Path("/logs/clicks-0")
PATH = DIRECTORY / LEADER_EPOCH_CHECKPOINT

Beside = Callable[[Unsynced, Callable[[], object]], None]


def in_file(log: Log) -> list[tuple[int, ...]]:
    return [tuple(entry) for entry in EpochsFile.load(log.disk, log.directory).epochs.entries]


def known(log: Log) -> list[tuple[int, ...]]:
    return [tuple(entry) for entry in log.epochs.entries]


def after_kill(log: Log) -> Log:
    return boot(log.disk.crashed(everything))  # type: ignore[attr-defined]


def after_power_cut(log: Log) -> Log:
    return boot(log.disk.crashed(nothing))  # type: ignore[attr-defined]


@pytest.fixture
def log() -> Log:
    return boot(new_disk())


def follow(log: Log, epoch: int, offset: int, values: list[bytes]) -> None:
    stamped = bytearray(batch_of(values).buffer)
    stamped[:8] = offset.to_bytes(8, "big")
    stamped[12:16] = epoch.to_bytes(4, "big")
    log.append_as_follower(stamped, NOW)


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


# While another thread syncs


def test_a_thread_writes_what_is_known_when_it_does(log: Log) -> None:
    append(log, b"a")
    append(log, b"b", epoch=1)
    work = log.unsynced()
    log.truncate_to(1, NOW)
    append(log, b"c", epoch=2)
    work.sync()
    log.synced(work)
    assert in_file(log) == known(log) == known(after_kill(log)) == [(0, 0), (2, 1)]
    assert log.recovery_point == 0


def test_the_recovery_point_waits_for_the_file(log: Log) -> None:
    """It could not be written: then it is told by nobody that what is below is safe."""
    append(log, b"a")
    work = log.unsynced()
    log.disk.fail("rename")  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="error"):
        work.sync()
    log.synced(work)
    assert log.recovery_point == 0
    sync(log)
    assert log.recovery_point == 1


def test_a_truncation_and_a_thread_that_syncs_write_one_after_the_other(log: Log) -> None:
    """The thread is about to give the file its name when the log is cut."""
    append(log, b"a")
    append(log, b"b", epoch=1)
    work = log.unsynced()
    cutting = threading.Event()
    steps: list[tuple[str, bool]] = []

    def before(kind: str, path: Path) -> None:
        in_thread = threading.current_thread() is thread
        if path.name.startswith(LEADER_EPOCH_CHECKPOINT):
            steps.append((kind, in_thread))
        if in_thread and kind == "rename":
            cutter.start()
            assert cutting.wait(10)
            cutter.join(0.05)  # as long as nobody waits, it gets done
        elif not in_thread and kind == "truncate":
            cutting.set()

    thread = threading.Thread(target=work.sync)
    cutter = threading.Thread(target=log.truncate_to, args=(1, NOW))
    log.disk.before = before  # type: ignore[attr-defined]
    thread.start()
    for each in (thread, cutter):
        each.join(10)
        assert not each.is_alive()
    writers = [in_thread for _, in_thread in steps]
    assert writers == sorted(writers, reverse=True), steps
    assert len(set(writers)) == 2
    assert in_file(log) == known(log) == [(0, 0)]


@pytest.fixture
def beside_a_sync(monkeypatch: pytest.MonkeyPatch) -> Beside:
    """Another thread does it while this one waits for the disk to take the epochs, and does not wait for that."""

    def beside(work: Unsynced, action: Callable[[], object]) -> None:
        done: list[Path] = []
        sync = SystemFile.sync

        def held(file: SystemFile) -> None:
            if file.path.name.startswith(LEADER_EPOCH_CHECKPOINT) and not done:
                done.append(file.path)
                other = threading.Thread(target=action)
                other.start()
                other.join(10)
                assert not other.is_alive()
            sync(file)

        monkeypatch.setattr(SystemFile, "sync", held)
        work.sync()
        assert done

    return beside


def test_a_log_is_cut_while_the_disk_takes_its_epochs(tmp_path: Path, beside_a_sync: Beside) -> None:
    _, log = started(SystemDisk(), tmp_path)
    append(log, b"a")
    append(log, b"b", epoch=1)
    work = log.unsynced()

    def cut() -> None:
        log.truncate_to(1, NOW)
        append(log, b"c", epoch=2)

    beside_a_sync(work, cut)
    log.synced(work)
    assert in_file(log) == known(log) == [(0, 0), (2, 1)]
    assert not (log.directory / UNNAMED).exists()


def test_a_log_is_deleted_while_the_disk_takes_its_epochs(tmp_path: Path, beside_a_sync: Beside) -> None:
    directories, log = started(SystemDisk(), tmp_path)
    append(log, b"a", epoch=9)
    (directory,) = directories.online
    made: list[Log] = []

    def delete_and_make_again() -> None:
        directory.delete(ORDERS, "0a1b")
        made.append(directory.create(ORDERS, Uuid(range(1, 17)), SMALL, NOW))

    beside_a_sync(log.unsynced(), delete_and_make_again)
    (new,) = made
    assert not [each for each in new.directory.iterdir() if each.name.startswith(LEADER_EPOCH_CHECKPOINT)]


def test_a_log_moves_while_the_disk_takes_its_epochs(tmp_path: Path, beside_a_sync: Beside) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    directories, current = started(SystemDisk(), *paths)
    append(current, b"a", epoch=3)
    begun = begin_move(directories, ORDERS, paths[1], SMALL, NOW, "0a1b")
    assert isinstance(begun, Replica)
    copy_all(current, begun.log)
    work = begun.log.unsynced()._replace(directory=None, birth=None)
    beside_a_sync(work, lambda: finish_move(directories, ORDERS, "0a1b"))
    assert begun.log.directory == paths[1] / "orders-0"
    assert in_file(begun.log) == [(3, 0)]
    assert not (begun.log.directory / UNNAMED).exists()


def test_what_a_crash_left_unnamed_is_in_nobodys_way(log: Log) -> None:
    append(log, b"a")
    log.disk.fail("rename")  # type: ignore[attr-defined]
    with pytest.raises(OSError, match="error"):
        log.unsynced().sync()
    log = after_kill(log)
    assert log.disk.exists(log.directory / UNNAMED)
    append(log, b"b", epoch=1)
    sync(log)
    assert in_file(log) == known(log) == [(0, 0), (1, 1)]
    assert not log.disk.exists(log.directory / UNNAMED)


def test_nothing_is_written_into_a_log_that_has_the_name_of_one_that_was_deleted(tmp_path: Path) -> None:
    directory = LogDirectory(SystemDisk(), tmp_path, holder="we", report=lambda _: None)
    partition = TopicPartition("orders", 0)
    log = directory.create(partition, Uuid(range(16)), SMALL, NOW)
    append(log, b"a", epoch=9)
    work = log.unsynced()
    directory.delete(partition, "0a1b")
    new = directory.create(partition, Uuid(range(1, 17)), SMALL, NOW)
    work.sync()
    log.synced(work)
    assert not (new.directory / LEADER_EPOCH_CHECKPOINT).exists()
    assert log.recovery_point == 0
    append(new, b"b")
    directory.close({})
    assert in_file(new) == [(0, 0)]


def test_a_log_that_moves_is_followed_by_its_file() -> None:
    disk = MemoryDisk()
    paths = [Path("/a"), Path("/b")]
    directories, current = started(disk, *paths)
    for epoch in range(3):
        append(current, b"%d" % epoch, epoch=epoch)
    partition = TopicPartition("orders", 0)
    begun = begin_move(directories, partition, paths[1], SMALL, NOW, "0a1b")
    assert isinstance(begun, Replica)
    copy_all(current, begun.log)
    work = begun.log.unsynced()
    old = current.unsynced()
    moved = finish_move(directories, partition, "0a1b")
    assert moved is not None
    assert moved.log is begun.log
    # Both were asked for before: of names that are gone, nothing has to be safe.
    work.sync()
    assert in_file(moved.log) == [(0, 0), (1, 1), (2, 2)]
    assert moved.log.directory == paths[1] / "orders-0"
    old._replace(directory=None).sync()
    assert not disk.exists(paths[0] / "orders-0")
    append(moved.log, b"3", epoch=3)
    moved.log.truncate_to(3, NOW)
    assert in_file(moved.log) == [(0, 0), (1, 1), (2, 2)]


# Whatever happens


class Walk:
    """Steps of a log, drawn, with everything that changes epochs; recovery points are written now and then."""

    def __init__(self, seed: int) -> None:
        self.random = random.Random(seed)
        self.log = boot(new_disk())
        self.epoch = 0

    def lead(self) -> None:
        self.epoch += self.random.randrange(1, 3)
        self.log.begin_epoch(self.epoch)

    def append(self) -> None:
        append(self.log, *[b"x" * self.random.randrange(90)] * self.random.randrange(1, 3), epoch=self.epoch)

    def follow(self) -> None:
        offset = self.log.end_offset
        for _ in range(self.random.randrange(1, 4)):
            self.epoch += self.random.randrange(2)
            offset += self.random.choice([0, 0, 0, 3])
            follow(self.log, self.epoch, offset, [b"y" * self.random.randrange(90)])
            offset = self.log.end_offset

    def sync(self) -> None:
        sync(self.log)

    def sync_sealed(self) -> None:
        work = self.log.unsynced_sealed()
        work.sync()
        self.log.synced(work)

    def sync_while(self) -> None:
        """Other things happen before the thread does its part, and before that is noted."""
        work = self.log.unsynced()
        self.step(self.append, self.follow, self.truncate, self.lead)
        work.sync()
        self.step(self.append, self.follow, self.truncate, self.lead)
        self.log.synced(work)

    def checkpoint(self) -> None:
        write_checkpoints(self.log)

    def truncate(self) -> None:
        places = [place.batch.base_offset for segment in self.log.segments for place in segment.places()]
        offsets = [offset for offset in places[-6:] if offset > self.log.start_offset]
        if offsets:
            self.log.truncate_to(self.random.choice(offsets), NOW)

    def delete(self) -> None:
        """Never all: of an epoch without a record left nothing is told."""
        places = [place.batch.base_offset for place in self.log.active.places()]
        if places and places[-1] > self.log.start_offset:
            self.log.advance_start(self.random.randrange(self.log.start_offset, places[-1]) + 1)
            delete_due(self.log, self.log.end_offset, NOW)

    def begin_anew(self) -> None:
        self.log.truncate_fully_and_start_at(self.log.end_offset + 5, NOW)

    def step(self, *steps: Callable[[], None]) -> None:
        self.random.choice(steps)()

    def run(self, steps: int, look: Callable[[], None]) -> None:
        often = [self.append, self.append, self.append, self.follow, self.lead, self.sync, self.checkpoint]
        for _ in range(steps):
            self.step(*often, *often, self.sync_sealed, self.sync_while, self.truncate, self.delete, self.begin_anew)
            look()


@pytest.mark.parametrize("seed", range(60))
def test_whenever_it_is_killed_the_next_to_open_the_log_knows_the_same_epochs(seed: int) -> None:
    walk = Walk(seed)

    def look() -> None:
        log = walk.log
        found = after_kill(log)
        # As the log was told to begin at the last checkpoint, which may be long ago.
        found.epochs.truncate_from_start(log.start_offset)
        # A log that was cut in a gap ends before it again, with the last record.
        assert known(found) == [entry for entry in known(log) if entry[1] < found.end_offset]

    walk.run(60, look)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_a_power_cut_takes_epochs_are_those_of_the_records(seed: int) -> None:
    walk = Walk(seed)

    def look() -> None:
        # A log that is cut has its recovery point written before anything else is trusted.
        write_checkpoints(walk.log)
        for keep in (nothing, random_part(seed)):
            found = boot(walk.log.disk.crashed(keep))  # type: ignore[attr-defined]
            check_whole(found, walk.log.start_offset)

    walk.run(40, look)
