"""What tests of compaction share: short ways to append, to compact, and to read what is left."""

from __future__ import annotations

import pickle
from collections.abc import Iterator, Sequence
from pathlib import Path

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.record import Record, read_records
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_job import DEDUPE_BUFFER_BYTES, CompactionJob, compaction_job
from barnabas.storage.compaction_plan import CompactionPlan, gather_facts, plan_compaction
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

NOW = 1_000_000

Entry = tuple[bytes | None, bytes | None]


def config_of(**overrides: str) -> TopicConfig:
    settings = {"cleanup.policy": "compact", "index.interval.bytes": "200", "internal.segment.bytes": "100000"}
    return TopicConfig.load(settings | {name.replace("_", "."): value for name, value in overrides.items()})


def new_log(disk: Disk, directory: Path, **overrides: str) -> Log:
    return open_log(disk, directory / "orders-0", config_of(**overrides), now_ms=NOW, clean=True)


def reopened(log: Log, *, disk: Disk | None = None, clean: bool = False) -> Log:
    return open_log(
        disk or log.disk,
        log.directory,
        log.config,
        now_ms=NOW,
        clean=clean,
        recovery_point=log.recovery_point,
        start_offset=log.start_offset,
    )


def append(
    log: Log,
    *entries: Entry,
    timestamp: int = NOW,
    compression: Compression = Compression.NONE,
    **more: int | bool,
) -> int:
    """One batch; its first offset."""
    records = [Record(key, value, timestamp=timestamp + number) for number, (key, value) in enumerate(entries)]
    batch = Batch(build_batch(records, compression=compression, **more))  # type: ignore[arg-type]
    return log.append_as_leader([batch], 0, NOW).first_offset


def end_transaction(
    log: Log, kind: ControlRecordType, producer_id: int, *, epoch: int = 0, timestamp: int = NOW
) -> int:
    data = build_end_transaction_marker(
        kind, producer_id=producer_id, producer_epoch=epoch, coordinator_epoch=0, timestamp=timestamp
    )
    return log.append_as_leader(
        [Batch(data)], 0, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=1
    ).first_offset


def planned(log: Log, *, clean: int | None = None, now_ms: int = NOW, stable: int | None = None) -> CompactionPlan:
    return plan_compaction(gather_facts(log, log.end_offset if stable is None else stable, clean), now_ms)


def job_for(
    log: Log, *, clean: int | None = None, now_ms: int = NOW, map_bytes: int = DEDUPE_BUFFER_BYTES, roll: bool = True
) -> CompactionJob:
    """As a worker process would get it."""
    if roll and log.active.size:
        log.roll(NOW)
    job: CompactionJob = pickle.loads(
        pickle.dumps(compaction_job(log, planned(log, clean=clean, now_ms=now_ms), now_ms, map_bytes=map_bytes))
    )
    return job


def compact_now(
    log: Log, *, clean: int | None = None, now_ms: int = NOW, map_bytes: int = DEDUPE_BUFFER_BYTES, roll: bool = True
) -> int:
    """All that is closed, after closing the last segment; up to where the log is clean then."""
    job = job_for(log, clean=clean, now_ms=now_ms, map_bytes=map_bytes, roll=roll)
    offset = job.first_dirty_offset
    for cleaned in compact(job, log.disk):
        swap_in(log, job, pickle.loads(pickle.dumps(cleaned)))
        offset = cleaned.clean_offset
    check(log)
    return offset


def batches(log: Log) -> Iterator[Batch]:
    offset = log.segments[0].base_offset
    for segment in log.segments:
        for batch in iterate_batches(segment.file.read(0, segment.size)):
            batch.check()
            assert batch.base_offset >= offset, "offsets go back"
            offset = batch.next_offset
            yield batch


def left(log: Log) -> dict[int, Entry]:
    """What consumers find, markers aside, by its offset."""
    return {
        record.offset: (record.key, record.value)
        for batch in batches(log)
        if not batch.control
        for record in read_records(batch)
    }


def check(log: Log) -> None:
    """Nothing is left over, and the indexes are right."""
    names = log.disk.names(log.directory)
    assert not [name for name in names if name.endswith((".cleaned", ".swap"))]
    for segment in log.segments[:-1]:
        segment.check_indexes()
        for batch in iterate_batches(segment.file.read(0, segment.size)):
            place = segment.find(batch.last_offset)
            assert place is not None
            assert place.batch.base_offset == batch.base_offset


def latest(entries: Sequence[tuple[int, bytes, bytes | None]]) -> dict[bytes, tuple[int, bytes | None]]:
    return {key: (offset, value) for offset, key, value in entries}
