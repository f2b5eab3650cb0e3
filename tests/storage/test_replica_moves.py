"""A log moves to another directory of its node while it is written to, and whatever happens meanwhile."""

from __future__ import annotations

import random
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.directory_errors import UnusableDirectories
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.replica_copies import copy_some, is_caught_up
from barnabas.storage.replica_moves import abort_move, begin_move, finish_move, promote_abandoned
from barnabas.storage.retention import delete_due

from .conftest import Place
from .faulty_disk import FaultyDisk
from .test_log import CONFIG, NOW, append, everything
from .test_log_against_kafka import fill
from .test_log_directories import ORDERS, TOPIC_ID, create, directory_id, everywhere, load_all, unique_names
from .test_opening import opened

A, B, C = Path("/a"), Path("/b"), Path("/c")


def started(disk: Disk, *paths: Path) -> tuple[LogDirectories, Log]:
    directories = opened(disk, *paths)
    create(directories, ORDERS)
    found = directories.find(ORDERS)
    assert found is not None
    assert found.directory.path == paths[0]
    return directories, found.log


def move(directories: LogDirectories, path: Path, unique: str = "0a1b") -> Log:
    begun = begin_move(directories, ORDERS, path, CONFIG, NOW, unique)
    assert begun is not None
    return begun.log


def copy_all(current: Log, future: Log, step: int = 500) -> int:
    steps = 0
    while copy_some(current, future, step, NOW) or not is_caught_up(current, future):
        steps += 1
    return steps


def beginnings(log: Log) -> list[int]:
    """Where a log may be cut, as those are that their leader tells to: between batches."""
    places = [place.batch.base_offset for segment in log.segments for place in segment.places()]
    return [offset for offset in places if offset >= log.start_offset] or [log.end_offset]


def state(log: Log) -> object:
    """All that a log tells of its records and their producers."""
    return (
        (log.start_offset, log.end_offset),
        everything(log),
        [tuple(entry) for entry in log.epochs.entries],
        {number: each.to_entry() for number, each in log.producers.producers.items()},
        sorted(log.aborted_transactions(log.start_offset, log.end_offset)),
    )


def test_a_log_moves_with_all_that_is_known_of_it(place: Place) -> None:
    paths = [place.directory / "a", place.directory / "b"]
    directories, current = started(place.disk, *paths)
    fill(current)
    future = move(directories, paths[1])
    assert future.directory.name == "orders-0.0a1b-future"
    assert finish_move(directories, ORDERS, "0a1b") is None
    assert copy_all(current, future) > 5
    slice_of_old = current.read(0, 10_000)
    before, expected = state(current), slice_of_old.read()
    moved = finish_move(directories, ORDERS, "0a1b")
    assert moved is not None
    assert moved.garbage == paths[0] / "orders-0.0a1b-delete"
    found = directories.find(ORDERS)
    assert found is not None
    assert (found.log, found.directory.path) == (moved.log, paths[1])
    assert state(found.log) == before
    assert found.directory.topic_ids == {ORDERS: TOPIC_ID}
    assert directories.find(ORDERS, future=True) is None
    place.disk.remove_tree(moved.garbage)
    assert slice_of_old.read() == expected
    # It goes on under its new name, in new segments too, and is found by the next start.
    for number in range(60):
        append(found.log, b"later %d" % number, epoch=9)
    assert {segment.directory for segment in found.log.segments} == {paths[1] / "orders-0"}
    found.log.truncate_to(found.log.end_offset - 5, NOW)
    after = state(found.log)
    directories.close({ORDERS: 3})
    lines: list[str] = []
    again = opened(place.disk, *paths, lines=lines)
    assert list(load_all(again)) == [ORDERS]
    reloaded = again.find(ORDERS)
    assert reloaded is not None
    assert state(reloaded.log) == after
    assert lines == []
    again.abandon()


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_to_the_log_meanwhile(seed: int) -> None:
    generator = random.Random(seed)
    directories, current = started(MemoryDisk(), A, B)
    future = move(directories, B)
    epoch = 0
    for number in range(300):
        action = generator.random()
        if action < 0.55:
            append(current, *(b"%d" % number for _ in range(generator.randint(1, 3))), epoch=epoch)
        elif action < 0.80:
            copy_some(current, future, generator.randint(1, 900), NOW)
        elif action < 0.88:
            # Another leader: what is not common goes, and other records get the offsets.
            epoch += 1
            current.truncate_to(generator.choice(beginnings(current)[-5:]), NOW)
        elif action < 0.90:
            epoch += 1
            current.truncate_fully_and_start_at(max(current.end_offset + generator.randint(-20, 20), 0), NOW)
        elif action < 0.97:
            current.advance_start(generator.randint(current.start_offset, current.end_offset))
        else:
            delete_due(current, current.end_offset, NOW)
    copy_all(current, future)
    assert future.start_offset == current.start_offset
    assert everything(future) == everything(current)
    assert [future.epochs.epoch_for_offset(offset) for offset in everything(future)] == [
        current.epochs.epoch_for_offset(offset) for offset in everything(current)
    ]
    assert append(future, b"next", epoch=epoch) == append(current, b"next", epoch=epoch)


def test_offsets_of_records_that_are_gone_are_not_given_again() -> None:
    directories, current = started(MemoryDisk(), A, B)
    for number in range(9):
        append(current, b"%d" % number)
    future = move(directories, B)
    copy_some(current, future, 100, NOW)
    current.roll(NOW)
    current.advance_start(9)
    delete_due(current, 9, NOW)
    copy_all(current, future)
    assert finish_move(directories, ORDERS, "0a1b") is not None
    found = directories.find(ORDERS)
    assert found is not None
    assert append(found.log, b"new") == 9


def test_an_epoch_of_which_compaction_left_nothing() -> None:
    """The log remembers when it began; the copy has never seen a record of it, and they are equal all the same."""
    directories, current = started(MemoryDisk(), A, B)
    current.append_as_follower(build_batch([Record(value=b"a")] * 10, base_offset=0, leader_epoch=1), NOW)
    current.epochs.assign(2, 10)
    current.append_as_follower(build_batch([Record(value=b"b")], base_offset=20, leader_epoch=3), NOW)
    future = move(directories, B)
    assert copy_all(current, future, 1) == 2
    assert everything(future) == everything(current)
    assert [tuple(entry) for entry in future.epochs.entries] == [(1, 0), (3, 20)]
    assert finish_move(directories, ORDERS, "0a1b") is not None


def test_a_move_that_is_given_up() -> None:
    disk = MemoryDisk()
    directories, current = started(disk, A, B)
    append(current, b"a")
    future = move(directories, B)
    copy_all(current, future)
    garbage = abort_move(directories, ORDERS, "2c3d")
    assert garbage == B / "orders-0.2c3d-delete"
    assert abort_move(directories, ORDERS, "2c3d") is None
    with pytest.raises(KafkaError, match="the copy of orders-0 is offline"):
        finish_move(directories, ORDERS, "2c3d")
    assert everything(current) == {0: b"a"}
    directories.close({})
    assert opened(disk, A, B).online[1].doomed == [garbage]


def test_a_move_to_a_third_directory_replaces_the_one_that_has_begun() -> None:
    directories, current = started(MemoryDisk(), A, B, C)
    append(current, b"a")
    move(directories, B)
    assert begin_move(directories, ORDERS, B, CONFIG, NOW, "2c3d") is None
    future = move(directories, C, "2c3d")
    assert future.directory == C / "orders-0.2c3d-future"
    assert directories.online[1].futures == {}
    # Back to where it is: nothing is left to do.
    assert begin_move(directories, ORDERS, A, CONFIG, NOW, "4e5f") is None
    assert directories.find(ORDERS, future=True) is None


@pytest.mark.parametrize(
    ("partition", "path", "code"),
    [
        (TopicPartition("t" * 240, 0), B, ErrorCode.INVALID_TOPIC_EXCEPTION),
        (ORDERS, Path("/elsewhere"), ErrorCode.LOG_DIR_NOT_FOUND),
        (ORDERS, C, ErrorCode.KAFKA_STORAGE_ERROR),
        (ORDERS, B, ErrorCode.INVALID_REPLICA_ASSIGNMENT),
        (TopicPartition("unknown", 0), A, ErrorCode.REPLICA_NOT_AVAILABLE),
    ],
)
def test_a_move_that_cannot_be(partition: TopicPartition, path: Path, code: ErrorCode) -> None:
    directories, _ = started(MemoryDisk(), A, B, C)
    directories.cordoned = {B}
    directories.take_offline(C, "C is gone.")
    with pytest.raises(KafkaError) as refused:
        begin_move(directories, partition, path, CONFIG, NOW, "f" * 32)
    assert refused.value.code is code


def test_a_partition_that_is_not_here_yet_is_created_where_it_was_to_go() -> None:
    directories, _ = started(MemoryDisk(), A, B)
    clicks = TopicPartition("clicks", 0)
    with pytest.raises(KafkaError):
        begin_move(directories, clicks, A, CONFIG, NOW, "0a1b")
    assert create(directories, clicks) == [A]


def test_no_copy_while_there_may_be_another_one_offline() -> None:
    directories, _ = started(MemoryDisk(), A, B, C)
    directories.take_offline(C, "C is gone.")
    with pytest.raises(KafkaError, match="may be a copy in /c"):
        begin_move(directories, ORDERS, B, CONFIG, NOW, "0a1b")


def test_a_copy_goes_on_after_a_restart() -> None:
    disk = MemoryDisk()
    directories, current = started(disk, A, B)
    for number in range(50):
        append(current, b"%d" % number)
    future = move(directories, B)
    for _ in range(3):
        copy_some(current, future, 300, NOW)
    come, expected = future.end_offset, everything(current)
    assert 0 < come < 50
    directories.write_checkpoints({ORDERS: 50})
    assert disk.read_file(B / "replication-offset-checkpoint") == b"0\n1\norders 0 %d\n" % come
    directories.abandon()  # killed
    again = opened(disk, A, B)
    assert again.set_aside_strays(everywhere, unique_names()) == []
    assert len(again.plan_loading().pieces) == 2
    load_all(again)
    assert promote_abandoned(again, everywhere, unique_names(), NOW) == []
    found, copy = again.find(ORDERS), again.find(ORDERS, future=True)
    assert found is not None
    assert copy is not None
    assert copy.log.end_offset == come
    copy_all(found.log, copy.log)
    assert finish_move(again, ORDERS, "2c3d") is not None
    again.close({ORDERS: 50})
    third = opened(disk, A, B)
    assert load_all(third) == {ORDERS: expected}
    assert third.online[0].waiting == third.online[0].waiting_futures == {}


def test_a_copy_of_a_topic_that_is_gone_is_a_stray() -> None:
    disk = MemoryDisk()
    directories, current = started(disk, A, B)
    append(current, b"a")
    move(directories, B)
    directories.close({})
    again = opened(disk, A, B)
    aside = again.set_aside_strays(lambda _topic, _partition: None, unique_names())
    assert [path.parent for path in aside] == [A, B]
    assert again.plan_loading().pieces == []


def test_what_a_log_got_after_its_copy_was_promised_its_place_is_not_lost() -> None:
    """Kafka would put the copy in place as it is."""
    disk = MemoryDisk()
    directories, current = started(disk, A, B)
    append(current, b"a")
    copy_all(current, move(directories, B))
    append(current, b"b")
    directories.abandon()  # killed, after the controller had been told
    again = opened(disk, A, B)
    load_all(again)
    (promoted,) = promote_abandoned(again, lambda *_: directory_id(again, B), unique_names(), NOW)
    assert promoted.garbage.parent == A
    assert everything(promoted.log) == {0: b"a", 1: b"b"}
    found = again.find(ORDERS)
    assert found is not None
    assert (found.log, found.directory.path) == (promoted.log, B)


def test_a_copy_whose_log_is_on_a_disk_that_failed_is_put_in_place() -> None:
    disk = MemoryDisk()
    directories, current = started(disk, C, A, B)
    append(current, b"a")
    copy_all(current, move(directories, B))
    directories.close({})
    again = opened(disk, C, A, B, metadata=A)
    again.take_offline(C, "C is gone.")
    load_all(again)
    assert promote_abandoned(again, lambda *_: directory_id(again, B), unique_names(), NOW) == []
    found = again.find(ORDERS)
    assert found is not None
    assert everything(found.log) == {0: b"a"}
    assert found.log.directory == B / "orders-0"


def test_up_to_where_a_log_has_been_compacted_moves_along() -> None:
    disk = MemoryDisk()
    directories, current = started(disk, A, B)
    clicks = TopicPartition("clicks", 0)
    directories.online[0].create(clicks, TOPIC_ID, CONFIG, NOW)
    for number in range(20):
        append(current, b"%d" % number)
    directories.online[0].compacted.set(*ORDERS, 12)
    directories.online[0].compacted.set(*clicks, 3)
    copy_all(current, move(directories, B))
    assert finish_move(directories, ORDERS, "0a1b") is not None
    assert disk.read_file(A / "cleaner-offset-checkpoint") == b"0\n1\nclicks 0 3\n"
    assert disk.read_file(B / "cleaner-offset-checkpoint") == b"0\n1\norders 0 12\n"
    # And a log of that name would not begin where another one had been synced.
    assert disk.read_file(A / "recovery-point-offset-checkpoint") == b"0\n1\nclicks 0 0\n"


def test_two_copies_of_one_partition_are_refused() -> None:
    disk = MemoryDisk()
    opened(disk, A, B, C).close({})
    for path in (B / "orders-0.01-future", C / "orders-0.02-future"):
        disk.make_directory(path)
        disk.replace_file(path / "partition.metadata", f"version: 0\ntopic_id: {TOPIC_ID}".encode())
    directories = opened(disk, A, B, C)
    with pytest.raises(UnusableDirectories, match=r"/b/orders-0\.01-future and in /c/orders-0\.02-future"):
        directories.set_aside_strays(everywhere, unique_names())


def test_what_was_safe_stays_safe() -> None:
    """With durability=fsync an acknowledged record is synced, and has to be so in its new place."""
    disk = FaultyDisk()
    directories, current = started(disk, A, B)
    append(current, b"a")
    work = current.unsynced()
    work.sync()
    current.synced(work)
    future = move(directories, B)
    copy_all(current, future)
    disk.fail("sync")
    with pytest.raises(KafkaError):
        finish_move(directories, ORDERS, "2c3d")
    assert list(directories.offline) == [B]
    found = directories.find(ORDERS)
    assert found is not None
    assert found.log is current
    assert everything(current) == {0: b"a"}


class Killed(BaseException):
    pass


class DyingDisk(MemoryDisk):
    """Dies before one of the operations that change names."""

    def __init__(self) -> None:
        super().__init__()
        self.left: int | None = None

    def rename(self, old: Path, new: Path) -> None:
        self._live()
        super().rename(old, new)

    def sync_directory(self, directory: Path) -> None:
        self._live()
        super().sync_directory(directory)

    def _live(self) -> None:
        if self.left is not None:
            if self.left == 0:
                raise Killed
            self.left -= 1


@pytest.mark.parametrize("assigned_to_copy", [True, False])
def test_a_node_that_is_killed_while_the_copy_takes_over(assigned_to_copy: bool) -> None:
    """At every operation. Between the two renames the partition is there twice, which is refused by name, as by Kafka;
    before and after, the log is whole in one place."""
    seen = set()
    for left in range(100):
        disk = DyingDisk()
        directories, current = started(disk, A, B)
        for number in range(30):
            append(current, b"%d" % number)
        expected = everything(current)
        copy_all(current, move(directories, B))
        target = directory_id(directories, B if assigned_to_copy else A)
        disk.left = left
        try:
            finish_move(directories, ORDERS, "2c3d")
        except Killed:
            pass
        else:
            break
        disk.left = None
        directories.abandon()

        def assigned(_topic_id: Uuid, _partition: int, target: Uuid = target) -> Uuid:
            return target

        again = opened(disk, A, B)
        try:
            again.set_aside_strays(assigned, unique_names())
        except UnusableDirectories as refused:
            assert "orders-0 is in /a/orders-0 and in /b/orders-0: delete one" in str(refused)
            seen.add("twice")
            continue
        assert load_all(again)[ORDERS] == expected
        promoted = promote_abandoned(again, assigned, unique_names(), NOW)
        found = again.find(ORDERS)
        assert found is not None
        assert everything(found.log) == expected
        if promoted:
            seen.add("promoted")
            assert found.directory.path == B
            assert promoted[0].garbage.parent == A
        else:
            seen.add(f"in {found.directory.path}")
    assert left > 4
    assert seen == {"twice", "promoted" if assigned_to_copy else "in /a", "in /b"}
