"""Several log directories in use: where partitions go, what fails alone, what is set aside, and how all are left."""

from __future__ import annotations

import errno
import os
import resource
from collections import Counter
from collections.abc import Iterator
from itertools import count
from pathlib import Path

import pytest

from barnabas.protocol.directory_ids import LOST, UNASSIGNED
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import CLEAN_SHUTDOWN
from barnabas.storage.directory_errors import UnusableDirectories
from barnabas.storage.disk import Disk, File, SystemDisk
from barnabas.storage.load_plan import LoadPlan, Piece, Progress
from barnabas.storage.log_directories import LogDirectories
from barnabas.storage.log_directory import LogPlace, TopicPartition
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.topic_config import TopicConfig

from .conftest import Place
from .damaged_bytes import damaged
from .faulty_disk import FaultyDisk
from .test_log import CONFIG, NOW, append, everything
from .test_opening import opened, put, small_disk, tree  # noqa: F401 - a fixture

A, B, C = Path("/a"), Path("/b"), Path("/c")
TOPIC_ID, OTHER_ID = Uuid(range(16)), Uuid(range(1, 17))
ORDERS, CLICKS, VIEWS = (TopicPartition(name, 0) for name in ("orders", "clicks", "views"))


def unique_names() -> Iterator[str]:
    return (f"{number:032x}" for number in count(1))


def everywhere(_topic_id: Uuid, _partition: int) -> Uuid:
    return UNASSIGNED


def create(
    directories: LogDirectories, *partitions: TopicPartition, topic_id: Uuid = TOPIC_ID, is_new: bool = True
) -> list[Path]:
    return [
        directories.create(partition, topic_id, CONFIG, NOW, is_new=is_new).directory.path for partition in partitions
    ]


def load_all(directories: LogDirectories) -> dict[TopicPartition, dict[int, bytes]]:
    found = {}
    for piece in directories.plan_loading().pieces:
        log = directories.load(piece, CONFIG, NOW)
        if log is not None:
            found[piece.partition] = everything(log)
    return found


def directory_id(directories: LogDirectories, path: Path) -> Uuid:
    directory = directories.by_path(path)
    assert directory is not None
    assert directory.meta is not None
    assert directory.meta.directory_id is not None
    return directory.meta.directory_id


# Where new partitions go


def test_the_fewest_partitions_first_and_loaded_or_not() -> None:
    disk = MemoryDisk()
    directories = opened(disk, A, B, C)
    partitions = [TopicPartition("t", number) for number in range(7)]
    assert create(directories, *partitions) == [A, B, C, A, B, C, A]
    directories.close({})
    again = opened(disk, A, B, C)
    assert [each.path for each in again.candidates()] == [B, C, A]
    assert create(again, *(TopicPartition("u", number) for number in range(4))) == [B, C, A, B]


def test_cordoned_directories_get_nothing_new_unless_all_are() -> None:
    directories = opened(MemoryDisk(), A, B)
    directories.cordoned = {A}
    assert create(directories, ORDERS, CLICKS) == [B, B]
    directories.cordoned = {A, B}
    assert create(directories, VIEWS) == [A]


def test_the_metadata_and_the_operator_choose_first() -> None:
    directories = opened(MemoryDisk(), A, B)
    b = directory_id(directories, B)
    put_at = directories.create(ORDERS, TOPIC_ID, CONFIG, NOW, is_new=True, directory_id=b)
    assert put_at.directory.path == B
    directories.prefer(CLICKS, A)
    assert directories.create(CLICKS, TOPIC_ID, CONFIG, NOW, is_new=True, directory_id=b).directory.path == A
    directories.create(VIEWS, TOPIC_ID, CONFIG, NOW, is_new=True, directory_id=LOST)
    assert directories.find(VIEWS) is not None


def test_the_next_one_is_tried_where_creating_fails() -> None:
    disk = FaultyDisk()
    directories = opened(disk, A, B)
    disk.fail("make_directory")
    assert create(directories, ORDERS) == [B]
    assert list(directories.offline) == [A]
    assert directories.must_stop is not None  # it was the metadata's


def test_no_new_log_beside_one_that_may_lie_in_a_directory_that_is_offline() -> None:
    disk = FaultyDisk()
    directories = opened(disk, A, B)
    directories.take_offline(B, "pulled out")
    with pytest.raises(KafkaError, match="may be in /b") as refused:
        create(directories, ORDERS, is_new=False)
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert create(directories, ORDERS) == [A]


def test_a_log_is_created_once() -> None:
    disk = MemoryDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS)
    first = directories.find(ORDERS)
    assert directories.create(ORDERS, TOPIC_ID, CONFIG, NOW, is_new=True) == first
    with pytest.raises(KafkaError, match="is of topic id") as refused:
        create(directories, ORDERS, topic_id=OTHER_ID)
    assert refused.value.code is ErrorCode.INCONSISTENT_TOPIC_ID
    directories.close({})
    again = opened(disk, A, B)
    with pytest.raises(KafkaError, match="/a/orders-0 is not loaded"):
        create(again, ORDERS)


def test_a_full_disk_leaves_no_half_of_a_log_beside_the_one_elsewhere() -> None:
    """At each operation that creating takes."""
    for operations in range(1, 20):
        disk = FaultyDisk()
        directories = opened(disk, A, B)
        left = [operations]

        def full(_kind: str, path: Path, left: list[int] = left) -> None:
            if A in path.parents:
                left[0] -= 1
                if left[0] == 0:
                    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

        disk.before = full
        (path,) = create(directories, ORDERS)
        disk.before = None
        assert not directories.offline
        directories.close({})
        again = opened(disk, A, B)
        assert again.set_aside_strays(everywhere, unique_names()) == []
        assert list(load_all(again)) == [ORDERS]
        if path == A:
            break
        assert not disk.exists(A / "orders-0")
    assert operations > 5


# One directory fails


def test_one_directory_fails_and_the_others_go_on() -> None:
    disk = FaultyDisk()
    lines: list[str] = []
    directories = opened(disk, A, B, lines=lines)
    create(directories, ORDERS, CLICKS)
    orders, clicks = directories.find(ORDERS), directories.find(CLICKS)
    assert orders is not None
    assert clicks is not None
    assert clicks.directory.path == B
    append(clicks.log, b"a")
    lines.clear()
    disk.fail("write")
    with pytest.raises(KafkaError) as refused, directories.watching(clicks.directory):
        append(clicks.log, b"b")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert directories.find(CLICKS) is None
    assert directories.find(ORDERS) == orders
    assert directories.by_id(Uuid(bytes([2]) * 16)) is None
    (line,) = lines
    assert line == f"log directory /b is offline: {directories.offline[B]}"
    assert "its disk fails (input/output error)" in directories.offline[B]
    assert directories.must_stop is None
    # Whoever comes late with the same news changes nothing.
    with pytest.raises(KafkaError), directories.watching(clicks.directory):
        raise OSError(errno.EIO, "again")
    assert len(lines) == 1
    append(orders.log, b"c")
    directories.write_checkpoints({ORDERS: 1, CLICKS: 1})
    assert B / ".lock" in disk._locks
    directories.close({ORDERS: 1, CLICKS: 1})
    assert not disk._locks
    assert disk.exists(A / CLEAN_SHUTDOWN)
    assert not disk.exists(B / CLEAN_SHUTDOWN)

    again = opened(disk, A, B)
    assert [each.was_clean for each in again.online] == [True, False]
    assert load_all(again) == {ORDERS: {0: b"c"}, CLICKS: {0: b"a"}}
    first, second = again.online
    assert (first.high_watermarks, second.high_watermarks) == ({ORDERS: 1}, {})


def test_a_full_disk_has_not_failed() -> None:
    disk = FaultyDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS)
    found = directories.find(CLICKS)
    assert found is not None
    append(found.log, b"a")
    disk.capacity = disk.used
    with pytest.raises(KafkaError) as refused, directories.watching(found.directory):
        append(found.log, b"b")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert not directories.offline
    assert everything(found.log) == {0: b"a"}
    disk.capacity = None
    append(found.log, b"c")
    assert everything(found.log) == {0: b"a", 1: b"c"}


def test_a_full_disk_is_no_end_in_reality_either(tmp_path: Path, small_disk: Path) -> None:  # noqa: F811
    directories = opened(SystemDisk(), tmp_path / "a", small_disk / "b")
    create(directories, ORDERS, CLICKS)
    found = directories.find(CLICKS)
    assert found is not None
    filling = small_disk / "filling"
    with pytest.raises(OSError, match="No space"), filling.open("wb", buffering=0) as file:
        while True:
            file.write(bytes(4096))
    with pytest.raises(KafkaError, match="No space left"), directories.watching(found.directory):
        for _ in range(10):
            append(found.log, bytes(900))
    assert not directories.offline
    filling.unlink()
    append(found.log, b"b")
    directories.close({})


def test_an_error_of_a_real_disk(tmp_path: Path) -> None:
    """The system refuses what makes a file larger than this process may have them."""
    directories = opened(SystemDisk(), tmp_path / "a", tmp_path / "b")
    large = TopicConfig.load({"segment.bytes": "1048576"})
    for partition in (ORDERS, CLICKS):
        directories.create(partition, TOPIC_ID, large, NOW, is_new=True)
    orders, clicks = directories.find(ORDERS), directories.find(CLICKS)
    assert orders is not None
    assert clicks is not None
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, hard))
    written = 0
    try:
        with pytest.raises(KafkaError, match="File too large"), directories.watching(clicks.directory):
            while written < 100:
                append(clicks.log, bytes(1_000))
                written += 1
        append(orders.log, b"a")
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert 40 < written < 100
    assert directories.offline == {tmp_path / "b": f"{tmp_path / 'b'} cannot be used: File too large."}
    directories.close({})
    again = opened(SystemDisk(), tmp_path / "a", tmp_path / "b")
    found = load_all(again)
    assert found[ORDERS] == {0: b"a"}
    assert len(found[CLICKS]) == written
    again.abandon()


def test_a_failing_metadata_directory_ends_the_node() -> None:
    directories = opened(MemoryDisk(), A, B)
    directories.take_offline(A, "A is gone.")
    assert directories.must_stop == "the directory of the metadata log has failed: A is gone."


def test_a_metadata_directory_that_holds_no_partitions() -> None:
    directories = opened(MemoryDisk(), A, B, metadata=C)
    assert create(directories, ORDERS, CLICKS, VIEWS) == [A, B, A]
    assert directories.metadata.path == C
    for path in (A, B):
        directories.take_offline(path, f"{path} is gone.")
    assert directories.must_stop == "no log directory is left: /a is gone. /b is gone."


def test_a_log_that_cannot_be_loaded_takes_its_directory_offline() -> None:
    class RottenDisk(MemoryDisk):
        rotten = False

        def open(self, path: Path, *, create: bool = True) -> File:
            if self.rotten and path.name.endswith(".log") and B in path.parents:
                raise OSError(errno.EIO, os.strerror(errno.EIO), str(path))
            return super().open(path, create=create)

    disk = RottenDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS)
    for partition in (ORDERS, CLICKS):
        found = directories.find(partition)
        assert found is not None
        append(found.log, b"a")
    directories.close({})
    disk.rotten = True
    again = opened(disk, A, B)
    assert load_all(again) == {ORDERS: {0: b"a"}}
    assert "/b/clicks-0/00000000000000000000.log" in again.offline[B]
    again.close({})
    # It was clean, and has not been written to since; but a log of it had been begun to be loaded.
    assert [disk.exists(path / CLEAN_SHUTDOWN) for path in (A, B)] == [True, False]


# Strays, duplicates, garbage


def test_what_the_metadata_does_not_want_is_set_aside() -> None:
    disk = MemoryDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS)
    create(directories, VIEWS, topic_id=OTHER_ID)
    create(directories, TopicPartition("orders", 1))
    directories.close({})
    disk.remove(B / "clicks-0" / "partition.metadata")
    lines: list[str] = []
    again = opened(disk, A, B, lines=lines)

    def assigned(topic_id: Uuid, partition: int) -> Uuid | None:
        return UNASSIGNED if (topic_id, partition) == (TOPIC_ID, 0) else None

    aside = again.set_aside_strays(assigned, unique_names())
    assert [path.name[: -len(".00000000000000000000000000000001-stray")] for path in aside] == [
        "views-0",
        "clicks-0",
        "orders-1",
    ]
    assert all(path.name.endswith("-stray") and disk.exists(path / "00000000000000000000.log") for path in aside)
    assert len(lines) == 3
    assert list(load_all(again)) == [ORDERS]
    assert create(again, VIEWS) == [B]
    again.close({})
    third = opened(disk, A, B)
    assert sorted(path for each in third.online for path in each.strays) == sorted(aside)


def test_one_partition_in_two_directories_is_refused_by_name() -> None:
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS)
    first.close({})
    disk.make_directory(B / "orders-0")
    put(disk, B / "orders-0" / "partition.metadata", disk.read_file(A / "orders-0" / "partition.metadata"))
    directories = opened(disk, A, B)
    with pytest.raises(UnusableDirectories) as refused:
        directories.set_aside_strays(everywhere, unique_names())
    (problem,) = refused.value.problems
    assert problem == (
        "orders-0 is in /a/orders-0 and in /b/orders-0: delete one of the two directories; if one of these disks has "
        "failed lately, the one that lies there is older."
    )
    directories.abandon()
    # It is none where one of them is of a topic that had the name before.
    put(disk, B / "orders-0" / "partition.metadata", f"version: 0\ntopic_id: {OTHER_ID}".encode())
    directories = opened(disk, A, B)
    aside = directories.set_aside_strays(
        lambda topic_id, _: UNASSIGNED if topic_id == TOPIC_ID else None, unique_names()
    )
    assert [path.parent for path in aside] == [B]
    assert list(load_all(directories)) == [ORDERS]


@pytest.mark.parametrize("torn", [b"", bytes(43), b"version: 0\n", b"version: 0\ntopic_id: AAECAwQFBgcICQoLDA0O"])
def test_a_topic_id_that_a_power_cut_has_torn(torn: bytes) -> None:
    """Nobody waited for it: nothing was promised of that log, which is made again where the metadata has it."""
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS, CLICKS)
    first.abandon()
    put(disk, B / "clicks-0" / "partition.metadata", torn)
    directories = opened(disk, A, B)
    assert len(directories.set_aside_strays(everywhere, unique_names())) == 1
    assert list(load_all(directories)) == [ORDERS]
    assert not directories.offline


def test_a_topic_id_that_was_safe_is_not_taken_for_a_torn_one() -> None:
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS, CLICKS)
    append(first.online[1].logs[CLICKS], b"a record")
    first.close({})
    opened(disk, A, B).abandon()
    disk.remove(B / ".kafka_cleanshutdown")
    put(disk, B / "clicks-0" / "partition.metadata", b"")
    directories = opened(disk, A, B)
    assert directories.set_aside_strays(everywhere, unique_names()) == []
    assert "write its two lines again" in directories.offline[B]


def test_an_empty_log_that_is_torn_after_a_clean_stop_is_made_again() -> None:
    """The stop did not wait for it."""
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS, CLICKS)
    first.close({})
    put(disk, B / "clicks-0" / "partition.metadata", b"")
    directories = opened(disk, A, B)
    assert len(directories.set_aside_strays(everywhere, unique_names())) == 1
    assert list(load_all(directories)) == [ORDERS]
    assert not directories.offline


@pytest.mark.parametrize("content", [b"", b"nonsense", b"version: 0\ntopic_id: xx\n", b"version: 0\n", b"\xff\xfe"])
@pytest.mark.parametrize("strays_first", [True, False])
def test_a_topic_id_that_cannot_be_read(content: bytes, strays_first: bool) -> None:
    """Kafka takes the directory offline, or by some of these is ended itself."""
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS, CLICKS)
    append(first.online[1].logs[CLICKS], b"a record")
    first.close({})
    put(disk, B / "clicks-0" / "partition.metadata", content)
    directories = opened(disk, A, B)
    if strays_first:
        assert directories.set_aside_strays(everywhere, unique_names()) == []
    assert list(load_all(directories)) == [ORDERS]
    assert "/b/clicks-0/partition.metadata, line 1" in directories.offline[B] or b"0\n" in content
    assert "write its two lines again" in directories.offline[B]


@pytest.mark.parametrize(
    "name",
    [
        "meta.properties",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
        ".kafka_cleanshutdown",
        "clicks-0/partition.metadata",
        "clicks-0/leader-epoch-checkpoint",
    ],
)
def test_any_damage_to_a_small_file_has_an_outcome(name: str) -> None:
    """Refused, offline or tolerated, and never an error that nobody has thought of. The other directory is there, and
    the next start finds the same."""
    disk = MemoryDisk()
    first = opened(disk, A, B)
    create(first, ORDERS, CLICKS)
    for partition in (ORDERS, CLICKS):
        found = first.find(partition)
        assert found is not None
        for number in range(3):
            append(found.log, b"%d" % number, epoch=number)
        found.log.advance_start(1)
    first.close({ORDERS: 3, CLICKS: 3}, broker_epoch=7)
    put(disk, B / "cleaner-offset-checkpoint", b"0\n1\nclicks 0 1\n")
    whole = {path: data for path, data in tree(disk).items() if B in path.parents}
    outcomes = Counter[str]()
    for content in damaged(whole[B / name], (0x01, 0x10, 0x80)):
        disk.remove_tree(B)
        for path, data in whole.items():
            put(disk, path, data)
        put(disk, B / name, content)
        try:
            directories = opened(disk, A, B)
        except UnusableDirectories as refused:
            outcomes["refused"] += 1
            assert name == "meta.properties"
            assert all("/b/" in problem for problem in refused.problems)
            continue
        directories.set_aside_strays(everywhere, unique_names())
        found_here = load_all(directories)
        assert found_here[ORDERS] == {1: b"1", 2: b"2"}
        outcomes["offline" if directories.offline else "tolerated"] += 1
        assert directories.offline or found_here[CLICKS].items() >= {1: b"1", 2: b"2"}.items() or "start" in name
        assert all(str(B / name) in why for why in directories.offline.values())
        offline = dict(directories.offline)
        directories.close({ORDERS: 3, CLICKS: 3})
        again = opened(disk, A, B)
        again.set_aside_strays(everywhere, unique_names())
        assert load_all(again) == found_here
        assert again.offline == offline
        again.close({ORDERS: 3, CLICKS: 3})
    assert outcomes["tolerated"]
    assert outcomes["offline"] or name in (".kafka_cleanshutdown", "clicks-0/leader-epoch-checkpoint")


# Checkpoints and the end


def test_each_directory_gets_its_own_checkpoints() -> None:
    disk = MemoryDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS)
    directories.write_checkpoints({ORDERS: 3, CLICKS: 4})
    assert disk.read_file(A / "replication-offset-checkpoint") == b"0\n1\norders 0 3\n"
    assert disk.read_file(B / "replication-offset-checkpoint") == b"0\n1\nclicks 0 4\n"
    assert disk.read_file(A / "recovery-point-offset-checkpoint") == b"0\n1\norders 0 0\n"


def test_a_checkpoint_that_cannot_be_written_takes_its_directory_offline() -> None:
    disk = FaultyDisk()
    directories = opened(disk, A, B, metadata=C)
    create(directories, ORDERS, CLICKS)
    disk.fail("rename")
    directories.write_checkpoints({ORDERS: 3, CLICKS: 4})
    assert list(directories.offline) == [A]
    assert disk.read_file(B / "replication-offset-checkpoint") == b"0\n1\nclicks 0 4\n"


def test_the_end_of_one_directory_is_not_that_of_the_others() -> None:
    """The sync of a closing log fails: no marker there, and the other directory is left as after any clean stop."""
    disk = FaultyDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS)
    for partition in (ORDERS, CLICKS):
        found = directories.find(partition)
        assert found is not None
        append(found.log, b"a")
    disk.fail("sync")
    directories.close({ORDERS: 1, CLICKS: 1}, broker_epoch=5)
    assert [disk.exists(path / CLEAN_SHUTDOWN) for path in (A, B)] == [False, True]
    assert not disk._locks
    again = opened(disk, A, B)
    assert again.previous_broker_epoch is None
    assert load_all(again) == {ORDERS: {0: b"a"}, CLICKS: {0: b"a"}}


def test_the_broker_epoch_of_a_clean_stop(place: Place) -> None:
    paths = [place.directory / "a", place.directory / "b"]
    directories = opened(place.disk, *paths)
    assert directories.previous_broker_epoch is None
    directories.close({}, broker_epoch=77)
    again = opened(place.disk, *paths)
    assert again.previous_broker_epoch == 77
    again.close({}, broker_epoch=78)
    more = opened(place.disk, *paths, place.directory / "c")
    assert more.previous_broker_epoch is None
    more.abandon()


# Loading


def test_the_plan_counts_what_has_to_be_read_and_begins_with_the_largest() -> None:
    disk = MemoryDisk()
    directories = opened(disk, A, B)
    create(directories, ORDERS, CLICKS, VIEWS)
    sizes = {}
    for partition, records in ((ORDERS, 2), (CLICKS, 40), (VIEWS, 9)):
        found = directories.find(partition)
        assert found is not None
        for number in range(records):
            append(found.log, b"v%d" % number)
        sizes[partition] = found.log.size
    clicks = directories.find(CLICKS)
    assert clicks is not None
    work = clicks.log.unsynced()
    work.sync()
    clicks.log.synced(work._replace(offset=clicks.log.segments[2].base_offset))
    sizes[CLICKS] -= clicks.log.segments[0].size
    synced = clicks.log.segments[1].size  # it was sealed since, so that its indexes are read and nothing is cut off
    directories.write_checkpoints({})
    directories.abandon()  # killed
    again = opened(disk, A, B)
    plan = again.plan_loading()
    assert [(piece.partition, piece.bytes_to_recover) for piece in plan.pieces] == sorted(
        sizes.items(), key=lambda item: -item[1]
    )
    assert plan.bytes_to_recover == sum(sizes.values())
    assert plan.bytes_to_recover == sum(viewed(disk, again)) + synced
    again.close({})
    after = opened(disk, A, B).plan_loading()
    assert (len(after.pieces), after.bytes_to_recover) == (3, 0)


def viewed(disk: Disk, directories: LogDirectories) -> list[int]:
    """How many bytes of segments recovery reads while all are loaded."""
    lengths = []
    original = File.read_into

    def counting(self: File, position: int, buffer: memoryview) -> int:
        lengths.append(original(self, position, buffer))
        return lengths[-1]

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(type(disk.open(A / "meta.properties")), "read_into", counting)
        load_all(directories)
    return lengths


def test_progress_is_told_in_one_line_and_not_too_often() -> None:
    mebibyte = 1 << 20
    pieces = [
        Piece(A, TopicPartition("t", number), False, LogPlace(A / f"t-{number}", 0, 0), size)
        for number, size in enumerate([6 * mebibyte, 3 * mebibyte, mebibyte, 0])
    ]
    progress = Progress(LoadPlan(pieces, 10 * mebibyte), 1_000, every_ms=500)
    assert progress.line(1_400) is None
    progress.advance(pieces[0], 2 * mebibyte)
    progress.advance(pieces[0], mebibyte)
    assert progress.line(2_500) == (
        "loaded 0 of 4 partitions, read 3.0 MiB of 10.0 MiB that a crash left unchecked; about 4 s left"
    )
    progress.advance(pieces[0], 2 * mebibyte)
    progress.note(pieces[0])
    assert progress.line(4_000) == (
        "loaded 1 of 4 partitions, read 6.0 MiB of 10.0 MiB that a crash left unchecked; about 2 s left"
    )
    progress.note(pieces[1])
    assert progress.line(4_499) is None
    for piece in pieces[2:]:
        progress.note(piece)
    assert progress.finished
    assert progress.line(6_000) == "loaded 4 of 4 partitions, read 10.0 MiB of 10.0 MiB that a crash left unchecked"
    clean = Progress(LoadPlan(pieces[3:], 0), 0)
    assert clean.line(1_000) == "loaded 0 of 1 partitions"
