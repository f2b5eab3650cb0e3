"""The file of leader epochs is written by a thread while its log is appended to, cut, moved or deleted."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.disk import SystemDisk, SystemFile
from barnabas.storage.durability import Unsynced
from barnabas.storage.epochs_file import LEADER_EPOCH_CHECKPOINT, UNNAMED
from barnabas.storage.log import Log
from barnabas.storage.log_directories import Replica
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.replica_moves import begin_move, finish_move

from .epochs_on_disk import after_kill, in_file, known
from .test_durability import boot, new_disk, sync
from .test_log import CONFIG as SMALL
from .test_log import NOW, append
from .test_log_directories import ORDERS
from .test_replica_moves import copy_all, started

Beside = Callable[[Unsynced, Callable[[], object]], None]


@pytest.fixture
def log() -> Log:
    return boot(new_disk())


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
