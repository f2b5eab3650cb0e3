"""Records that wait for the disk at the same time share one sync, and are safe after it."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.record import Record
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.topic_config import TopicConfig

from .faulty_disk import FaultyDisk, nothing

NOW = 1_700_000_000_000
PARTITION = Path("/data/orders-0")
CONFIG = TopicConfig.load({"internal.segment.bytes": "2000"})


def new_log() -> tuple[FaultyDisk, Log]:
    disk = FaultyDisk()
    disk.make_directory(PARTITION)
    disk.sync_directory(PARTITION.parent)
    disk.sync_directory(Path("/"))
    return disk, open_log(disk, PARTITION, CONFIG, now_ms=NOW, clean=True)


def append(log: Log, count: int, size: int = 50) -> None:
    for _ in range(count):
        log.append_as_leader([Batch(build_batch([Record(value=bytes(size), timestamp=NOW)]))], 0, NOW)


def syncs_of(disk: FaultyDisk, log: Log) -> Counter[str]:
    """Sync what was appended, and say what was asked of the disk for it."""
    asked: Counter[str] = Counter()
    disk.before = lambda kind, _path: asked.update([kind])
    work = log.unsynced_records()
    work.sync()
    log.records_synced(work)
    disk.before = None
    return asked


def after_a_power_cut(disk: FaultyDisk) -> Log:
    return open_log(disk.crashed(nothing), PARTITION, CONFIG, now_ms=NOW, clean=False)


def test_many_appends_share_one_sync() -> None:
    disk, log = new_log()
    append(log, 1)
    assert syncs_of(disk, log) == {"sync": 1, "sync_directory": 1}  # the file's name is new
    append(log, 10)
    assert after_a_power_cut(disk).end_offset == 1
    assert syncs_of(disk, log) == {"sync": 1}
    assert log.synced_offset == 11
    assert log.recovery_point == 0  # the indexes are not safe
    assert after_a_power_cut(disk).end_offset == 11


def test_what_was_appended_to_several_segments_is_safe_together() -> None:
    disk, log = new_log()
    append(log, 60)
    assert len(log.segments) > 2
    assert syncs_of(disk, log) == {"sync": len(log.segments), "sync_directory": 1}
    again = after_a_power_cut(disk)
    assert (again.end_offset, len(again.segments)) == (60, len(log.segments))


def test_what_was_synced_before_a_truncation_says_nothing_of_what_came_after() -> None:
    _, log = new_log()
    append(log, 10)
    work = log.unsynced_records()
    work.sync()
    log.truncate_to(4, NOW)
    append(log, 10, size=60)
    log.records_synced(work)
    assert log.synced_offset <= 4
    log.synced(work)
    assert log.recovery_point <= 4


def test_records_that_are_appended_during_a_sync_wait_for_the_next() -> None:
    _, log = new_log()
    append(log, 3)
    work = log.unsynced_records()
    append(log, 3)
    work.sync()
    log.records_synced(work)
    assert log.synced_offset == 3
