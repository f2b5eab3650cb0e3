"""A log directory over starts and stops, and beside a Kafka."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import DiskLocked, SystemDisk
from barnabas.storage.log_directory import LogDirectory, TopicPartition, UnknownDirectory, parse_directory
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.meta_properties import MetaProperties
from tests.kafka.broker import KafkaBroker

from .conftest import Place
from .faulty_disk import FaultyDisk, nothing
from .test_log import CONFIG, NOW, append, everything

TOPIC_ID = Uuid(range(16))
CHECKPOINTS = [
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
]
ORDERS, CLICKS = TopicPartition("orders", 0), TopicPartition("clicks-2026", 3)


def unheard(_line: str) -> None:
    """For tests in which nothing is reported."""


def opened(place: Place, lines: list[str] | None = None) -> LogDirectory:
    report = lines.append if lines is not None else unheard
    return LogDirectory(place.disk, place.directory / "data", holder="pid 1", report=report)


def test_a_power_cut_does_not_take_the_directory_itself() -> None:
    disk, path = FaultyDisk(), Path("/mounted/kafka/data")
    disk.make_directory(Path("/mounted"))
    disk.sync_directory(Path("/"))
    directory = LogDirectory(disk, path, holder="pid 1", report=unheard)
    directory.format(MetaProperties.fresh("cluster", 1, Uuid(range(1, 17))))
    found = LogDirectory(disk.crashed(nothing), path, holder="pid 2", report=unheard)
    assert found.meta == directory.meta


def test_a_clean_stop_is_a_clean_start(place: Place) -> None:
    directory = opened(place)
    assert directory.is_empty
    directory.format(MetaProperties.fresh("cluster", 1, Uuid(range(1, 17))))
    log = directory.create(ORDERS, TOPIC_ID, CONFIG, NOW)
    for number in range(10):
        append(log, b"v%d" % number)
    log.advance_start(4)
    directory.close({ORDERS: 9}, broker_epoch=77)

    again = opened(place)
    assert not again.is_empty
    assert (again.was_clean, again.previous_broker_epoch) == (True, 77)
    assert again.meta == directory.meta
    assert again.high_watermarks == {ORDERS: 9}
    assert list(again.waiting) == [ORDERS]
    loaded = again.load(ORDERS, CONFIG, NOW)
    assert (loaded.start_offset, loaded.end_offset, loaded.recovery_point) == (4, 10, 10)
    assert again.topic_ids == {ORDERS: TOPIC_ID}
    assert everything(loaded) == {number: b"v%d" % number for number in range(4, 10)}
    again.abandon()
    assert not opened(place).was_clean


def test_after_a_crash_the_log_is_read_from_its_checkpoint_on(place: Place) -> None:
    directory = opened(place)
    log = directory.create(ORDERS, TOPIC_ID, CONFIG, NOW)
    append(log, b"a")
    work = log.unsynced()
    work.sync()
    log.synced(work)
    directory.write_checkpoints({ORDERS: 1})
    append(log, b"b")
    log.active.file.write(log.active.size, [b"torn"])
    directory.abandon()
    lines: list[str] = []
    again = opened(place, lines)
    assert everything(again.load(ORDERS, CONFIG, NOW)) == {0: b"a", 1: b"b"}
    assert len(lines) == 1
    assert "4 bytes from byte" in lines[0]


def test_two_owners_are_told_apart(place: Place) -> None:
    directory = opened(place)
    with pytest.raises(DiskLocked, match="held by"):
        opened(place)
    directory.abandon()
    opened(place).abandon()


def test_a_partition_that_was_not_loaded_keeps_its_checkpoints(place: Place) -> None:
    directory = opened(place)
    for partition in (ORDERS, CLICKS):
        append(directory.create(partition, TOPIC_ID, CONFIG, NOW), b"a")
    directory.close({ORDERS: 1, CLICKS: 1})
    second = opened(place)
    second.load(ORDERS, CONFIG, NOW)
    second.close({ORDERS: 1})
    third = opened(place)
    assert third.was_clean
    assert third.high_watermarks == {ORDERS: 1, CLICKS: 1}
    assert third.load(CLICKS, CONFIG, NOW).recovery_point == 1


def test_no_marker_while_a_crash_has_not_been_looked_into(place: Place) -> None:
    directory = opened(place)
    append(directory.create(ORDERS, TOPIC_ID, CONFIG, NOW), b"a")
    directory.abandon()
    opened(place).close({})
    assert not opened(place).was_clean


def test_deleted_and_stray_partitions_go_out_of_the_way(place: Place) -> None:
    directory = opened(place)
    for partition in (ORDERS, CLICKS):
        append(directory.create(partition, TOPIC_ID, CONFIG, NOW), b"a")
    doomed = directory.delete(ORDERS, "0a1b")
    aside = directory.set_aside(CLICKS, "0a1b")
    assert (doomed.name, aside.name) == ("orders-0.0a1b-delete", "clicks-2026-3.0a1b-stray")
    assert not directory.logs
    directory.create(ORDERS, TOPIC_ID, CONFIG, NOW)
    directory.close({ORDERS: 0})
    again = opened(place)
    assert (again.doomed, again.strays, list(again.waiting)) == ([doomed], [aside], [ORDERS])
    place.disk.remove_tree(doomed)
    assert not place.disk.exists(doomed)
    again.abandon()


def test_the_longest_topic_can_be_deleted(tmp_path: Path) -> None:
    directory = LogDirectory(SystemDisk(), tmp_path / "data", holder="", report=unheard)
    longest = TopicPartition("t" * 249, 12)
    directory.create(longest, TOPIC_ID, CONFIG, NOW)
    path = directory.delete(longest, "f" * 32)
    assert len(path.name) == 255
    assert parse_directory(path) == (TopicPartition("t" * 212, 12), "delete")
    directory.abandon()


@pytest.mark.parametrize(
    "name", ["photos", "-0", "orders-", "orders-x", "orders-0.-delete", ".x-1-delete", "orders-2147483648"]
)
def test_what_is_no_partition_is_refused_with_what_to_do(place: Place, name: str) -> None:
    place.disk.make_directory(place.directory / "data" / name)
    with pytest.raises(UnknownDirectory, match="move it elsewhere"):
        opened(place)


GARBAGE = [b"nonsense", b"\xff\xfe", b"0\n1\norders x 3\n", b"0\n2\norders 0 3\n", b"1\n0\n"]


@pytest.mark.parametrize("content", GARBAGE)
@pytest.mark.parametrize("name", CHECKPOINTS)
def test_a_checkpoint_that_cannot_be_read_is_named_with_what_to_do(place: Place, name: str, content: bytes) -> None:
    """Kafka takes the directory offline (test_garbage_against_kafka.py), and when the file is mended the last stop was
    as clean as it was."""
    directory = opened(place)
    append(directory.create(ORDERS, TOPIC_ID, CONFIG, NOW), b"a")
    directory.close({ORDERS: 1})
    place.disk.replace_file(directory.path / name, content)
    with pytest.raises(MalformedFile, match=f"{name}.*; delete the file, and "):
        opened(place)
    place.disk.remove(directory.path / name)
    again = opened(place)
    assert again.was_clean
    assert everything(again.load(ORDERS, CONFIG, NOW)) == {0: b"a"}
    again.abandon()


@pytest.mark.parametrize("content", [b"", b"\xff\x00 nonsense", b'{"version":0,"brokerEpoch":"x"}', b"[" * 100_000])
def test_a_marker_of_a_clean_stop_is_one_whatever_it_holds(place: Place, content: bytes) -> None:
    directory = opened(place)
    append(directory.create(ORDERS, TOPIC_ID, CONFIG, NOW), b"a")
    directory.close({ORDERS: 1})
    place.disk.replace_file(directory.path / ".kafka_cleanshutdown", content)
    again = opened(place)
    assert (again.was_clean, again.previous_broker_epoch) == (True, None)
    assert everything(again.load(ORDERS, CONFIG, NOW)) == {0: b"a"}
    again.abandon()


def test_a_log_that_was_not_touched_keeps_the_marker(place: Place) -> None:
    """A start that is refused after the directories have been looked at must not cost the next one a recovery."""
    directory = opened(place)
    append(directory.create(ORDERS, TOPIC_ID, CONFIG, NOW), b"a")
    directory.close({ORDERS: 1})
    opened(place).abandon()
    assert opened(place).was_clean


def test_a_new_log_does_not_inherit_the_recovery_point_of_its_name(place: Place) -> None:
    directory = opened(place)
    log = directory.create(ORDERS, TOPIC_ID, CONFIG, NOW)
    for number in range(50):
        append(log, b"old %d" % number)
    directory.close({ORDERS: 50})
    second = opened(place)
    second.delete(ORDERS, "0a1b")
    again = second.create(ORDERS, TOPIC_ID, CONFIG, NOW)
    for number in range(50):
        append(again, b"new %d" % number)
    second.abandon()  # killed
    third = opened(place)
    assert third.place(ORDERS).recovery_point == 0
    third.abandon()


@pytest.mark.java
@pytest.mark.slow
def test_kafka_and_we_take_turns_with_one_directory(kafka_classpath: str) -> None:
    """Kafka makes it, we open and close all of it, Kafka starts on it again."""
    with KafkaBroker(kafka_classpath) as broker:
        broker.stop()
        lines: list[str] = []
        directory = LogDirectory(SystemDisk(), broker.data_directory, holder="pid 1", report=lines.append)
        assert directory.was_clean
        assert directory.meta is not None
        assert (directory.meta.cluster_id, directory.meta.node_id) == (broker.cluster_id, broker.node_id)
        log = directory.create(ORDERS, TOPIC_ID, CONFIG, NOW)
        append(log, b"a")
        directory.delete(ORDERS, "0" * 32)
        directory.close({})
        broker.start()
        broker.stop()
        assert "orrupt" not in broker.log_file.read_text()
        assert lines == []
        with pytest.raises(DiskLocked):
            broker.start()
            LogDirectory(SystemDisk(), broker.data_directory, holder="pid 1", report=lines.append)
        broker.stop()


@pytest.mark.parametrize("name", ["lost+found", "remote-log-index-cache"])
def test_what_others_keep_in_a_log_directory_is_left_alone(place: Place, name: str) -> None:
    place.disk.make_directory(place.directory / "data" / name)
    directory = opened(place)
    assert not directory.waiting
    assert directory.is_empty == (name == "lost+found")
    directory.abandon()


def test_the_memory_disk_has_locks_too() -> None:
    disk = MemoryDisk()
    first = LogDirectory(disk, Path("/data"), holder="pid 7", report=unheard)
    with pytest.raises(DiskLocked, match="held by pid 7"):
        LogDirectory(disk, Path("/data"), holder="pid 8", report=unheard)
    first.abandon()
