"""What a start asks of the disk, counted for many partitions: a sync is waited for, and each needs its reason."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import CLEAN_SHUTDOWN
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.topic_config import TopicConfig

from .counting_disk import CountingDisk
from .test_log import NOW, append

TOPIC_ID = Uuid(range(16))
PARTITIONS = [TopicPartition("many", number) for number in range(50)]
CONFIG = TopicConfig.load({"internal.segment.bytes": "700", "index.interval.bytes": "100"})


class Node:
    """From its start on; its disk counts from there."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.disk = CountingDisk()
        self.directory = LogDirectory(self.disk, path, holder="this node", report=lambda _: None)
        for partition in list(self.directory.waiting):
            self.directory.load(partition, CONFIG, NOW)
        self.logs = self.directory.logs

    def append(self, count: int) -> None:
        for log in self.logs.values():
            for _ in range(count):
                append(log, b"a record")

    def stopped(self) -> Node:
        """The next one, after a clean stop."""
        self.directory.close({})
        return Node(self.path)

    def killed(self) -> Node:
        self.directory.abandon()
        return Node(self.path)


@pytest.fixture
def node(tmp_path: Path) -> Node:
    node = Node(tmp_path)
    for partition in PARTITIONS:
        node.directory.create(partition, TOPIC_ID, CONFIG, NOW)
    return node


def test_a_first_record_waits_for_no_sync_and_writes_the_log_alone(node: Node) -> None:
    for log in node.logs.values():
        log.begin_epoch(0)
    node.disk.forget()
    node.append(1)
    assert not node.disk.syncs
    assert node.disk.changes == {".log": len(PARTITIONS)}


def test_new_logs_wait_for_no_sync_and_share_that_of_their_parent(node: Node) -> None:
    """The metadata has them: they are safe as soon as something in them has to be."""
    assert not node.disk.syncs
    node.append(1)
    node.disk.forget()
    logs = list(node.logs.values())
    for log in logs[:9]:
        work = log.unsynced_records()
        work.sync()
        log.records_synced(work)
        metadata = log.directory / "partition.metadata"
        assert {log.active.path(".log"), log.directory, metadata} <= set(node.disk.syncs)
    assert node.disk.syncs.count(node.path) == 1
    node.disk.forget()
    logs[0].unsynced_records().sync()
    assert node.disk.syncs == [logs[0].active.path(".log")]


def test_a_new_log_that_is_prepared_asks_the_disk_for_nothing_more(tmp_path: Path) -> None:
    node = Node(tmp_path)
    for partition in PARTITIONS[::2]:
        node.directory.prepare(partition, TOPIC_ID, CONFIG, NOW)
    assert not node.logs
    assert node.directory.partition_count == len(PARTITIONS) // 2
    assert node.disk.changes[".log"] == len(PARTITIONS) // 2
    node.disk.forget()
    for partition in PARTITIONS[::2]:
        node.directory.create(partition, TOPIC_ID, CONFIG, NOW)
    assert not node.disk.changes
    assert node.directory.partition_count == len(node.logs) == len(PARTITIONS) // 2
    # What could not be prepared, or is of another topic by now, is made as ever.
    node.directory.prepare(PARTITIONS[1], Uuid(range(1, 17)), CONFIG, NOW)
    node.directory.create(PARTITIONS[1], TOPIC_ID, CONFIG, NOW)
    node.append(1)
    again = node.killed()
    assert set(again.directory.topic_ids.values()) == {TOPIC_ID}
    assert {log.end_offset for log in again.logs.values()} == {1}


def test_a_new_log_that_was_killed_is_still_to_be_made_safe(node: Node) -> None:
    node.append(1)
    again = node.killed()
    log = again.logs[PARTITIONS[7]]
    log.unsynced().sync()
    assert {again.path, log.directory, log.directory / "partition.metadata"} <= set(again.disk.syncs)
    safe = again.stopped().killed()
    assert all(log.birth is None for log in safe.logs.values())


def test_a_start_after_a_clean_stop_touches_no_log(node: Node) -> None:
    node.append(5)
    again = node.stopped()
    assert again.disk.syncs == [node.path]  # the marker of the clean stop is gone
    assert again.disk.changes == {CLEAN_SHUTDOWN: 1}
    assert all(log.end_offset == log.recovery_point == 5 for log in again.logs.values())


def test_a_stop_writes_no_epoch_that_has_written_nothing(node: Node) -> None:
    node.append(5)
    again = node.stopped()
    for log in again.logs.values():
        log.begin_epoch(1)
    again.disk.forget()
    once_more = again.stopped()
    # Three checkpoints and the marker; and each log's active segment is sealed and synced.
    assert [path for path in again.disk.syncs if path.is_dir()].count(node.path) == 4
    assert "leader-epoch-checkpoint" not in again.disk.changes
    assert {log.epochs.latest_epoch for log in once_more.logs.values()} == {0}


def test_a_start_after_a_kill_touches_no_log_that_is_as_it_was(node: Node) -> None:
    node.append(5)
    again = node.stopped().killed()
    assert not again.disk.syncs
    assert not again.disk.changes
    assert all(log.end_offset == log.recovery_point == 5 for log in again.logs.values())


def test_a_start_after_a_kill_touches_no_new_and_empty_log(node: Node) -> None:
    again = node.killed()
    assert len(again.logs) == len(PARTITIONS)
    assert not again.disk.syncs
    assert not again.disk.changes


def test_a_start_after_a_kill_syncs_nothing_of_what_was_appended_since(node: Node) -> None:
    """It lies behind the recovery point: it is recovered again until that has moved, for which all of it is synced."""
    node.append(5)
    again = node.killed()
    assert not again.disk.syncs
    assert not again.disk.changes  # rows of an index are written as they come, and are there
    assert all(log.end_offset == 5 and log.recovery_point == 0 for log in again.logs.values())


def test_a_start_after_a_kill_syncs_what_it_cuts_off(node: Node) -> None:
    node.append(5)
    log = node.logs[PARTITIONS[7]]
    whole = log.active.size
    log.active.file.write(whole, [b"torn" * 9])
    again = node.killed()
    path = log.active.path(".log")
    assert path.stat().st_size == whole
    assert [each for each in again.disk.syncs if each.suffix == ".log"] == [path]
    assert {each if each.is_dir() else each.parent for each in again.disk.syncs} == {log.directory}


def test_an_index_that_is_wrong_is_written_again_and_on_disk_before_it_counts(node: Node) -> None:
    """Where the log ends at the recovery point no later start will look into the index again."""
    node.append(5)
    again = node.stopped()
    index = again.logs[PARTITIONS[7]].active.path(".index")
    right = index.read_bytes()
    again.directory.abandon()
    index.write_bytes(b"\7" * len(right))
    once_more = Node(node.path)
    assert index.read_bytes() == right
    assert [path.name for path in once_more.disk.syncs] == [index.name + ".tmp", index.parent.name]
    assert len(right) >= 16


def test_a_stop_waits_for_no_log_that_nobody_has_written_to(node: Node) -> None:
    written, empty = PARTITIONS[:3], PARTITIONS[3:]
    for partition in written:
        append(node.logs[partition], b"a record")
    node.disk.forget()
    again = node.stopped()
    directories = [{node.path / str(partition) for partition in some} for some in (written, empty)]
    assert directories[0] <= set(node.disk.syncs)
    assert not [path for path in node.disk.syncs if path in directories[1] or path.parent in directories[1]]
    # Kafka, too, finds all its files.
    assert all(log.active.path(".index").exists() for log in again.logs.values())
    assert {log.end_offset for log in again.logs.values()} == {0, 1}


def test_a_stop_makes_no_file_for_a_log_that_nobody_has_written_to(node: Node) -> None:
    """They are looked for where many have been removed lately, and that took most of a stop with many."""

    def files() -> set[Path]:
        return {path for partition in PARTITIONS for path in (node.path / str(partition)).iterdir()}

    before = files()
    again = node.stopped()
    assert files() == before
    assert {path.suffix for path in before} == {".log", ".index", ".metadata"}
    for log in again.logs.values():
        append(log, b"a record")
    again.stopped()
    assert {path.suffix for path in files() - before} == {".timeindex", ".snapshot", ""}


def test_a_stop_makes_the_index_that_a_kill_has_prevented(node: Node) -> None:
    path = node.logs[PARTITIONS[7]].active.path(".index")
    path.unlink()
    again = node.killed()
    assert not path.exists()
    again.stopped()
    assert path.exists()
