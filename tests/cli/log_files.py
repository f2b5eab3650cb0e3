"""A log directory with something of everything, for the tests of tools over files: no broker is needed to make it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.disk import SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.meta_properties import MetaProperties, write_meta_properties
from barnabas.storage.partition_metadata import write_partition_metadata
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig

NOW_MS = 1_700_000_000_000
TOPIC_ID = Uuid(bytes(range(16)))
SMALL = {"index.interval.bytes": "60", "internal.segment.bytes": "1200", "retention.ms": "-1"}


def append(
    log: Log,
    *records: Record,
    epoch: int = 0,
    compression: Compression = Compression.NONE,
    producer: tuple[int, int] | None = None,
    transactional: bool = False,
) -> int:
    """One batch; `producer` is an id and the sequence of the first record."""
    producer_id, sequence = producer or (-1, -1)
    data = build_batch(
        records,
        compression=compression,
        producer_id=producer_id,
        producer_epoch=0 if producer else -1,
        base_sequence=sequence,
        transactional=transactional,
    )
    return log.append_as_leader([Batch(data)], epoch, NOW_MS).first_offset


def record(number: int, *, size: int = 40) -> Record:
    return Record(f"key-{number}".encode(), b"v" * size, timestamp=NOW_MS + number)


def end(log: Log, kind: ControlRecordType, producer_id: int) -> None:
    data = build_end_transaction_marker(
        kind, producer_id=producer_id, producer_epoch=0, coordinator_epoch=3, timestamp=NOW_MS
    )
    log.append_as_leader([Batch(data)], 0, NOW_MS, origin=AppendOrigin.COORDINATOR, transaction_version=1)


def fill(log: Log) -> None:
    """Every codec, headers, nulls, letters of all kinds, transactions that end well, badly and not at all."""
    for number, compression in enumerate(Compression):
        append(log, record(number), record(number + 1), compression=compression)
    append(log, Record(None, None, timestamp=NOW_MS + 50), Record("Grüße\t☃".encode(), b"", timestamp=NOW_MS + 51))
    append(log, Record(b"\xff\xfe", b"x", (("first", b"1"), ("ü", None)), timestamp=NOW_MS + 60))
    append(log, *map(record, range(70, 75)), producer=(1000, 0))
    append(log, record(80), producer=(1001, 0), transactional=True)
    append(log, record(81), producer=(1002, 2**31 - 1), transactional=True)
    end(log, ControlRecordType.ABORT, 1001)
    end(log, ControlRecordType.COMMIT, 1002)
    for number in range(90, 110):
        append(log, record(number), epoch=1)
    append(log, record(111), producer=(1003, 5), transactional=True, epoch=1)


def make_partition(root: Path, name: str = "orders-0", **configs: str) -> Log:
    """An open log in its directory."""
    disk = SystemDisk()
    config = TopicConfig.load(SMALL | {key.replace("_", "."): value for key, value in configs.items()})
    log = open_log(disk, root / name, config, now_ms=NOW_MS, clean=True)
    write_partition_metadata(disk, root / name, TOPIC_ID)
    return log


def finish(root: Path, logs: Iterable[Log], *, clean: bool = True) -> None:
    """Everything as a clean stop leaves it; or, not `clean`, as a kill does."""
    disk = SystemDisk()
    found = {}
    starts = {}
    for log in logs:
        topic, _, number = log.directory.name.rpartition("-")
        if clean:
            log.close()
            found[topic, int(number)] = log.end_offset
        if log.start_offset > log.segments[0].base_offset:
            starts[topic, int(number)] = log.start_offset
    write_meta_properties(disk, root, MetaProperties.fresh("KclusterOfFilesOnly000", 1, Uuid(b"K" + bytes(15))))
    write_offsets(disk, root / RECOVERY_POINT_OFFSET_CHECKPOINT, found)
    write_offsets(disk, root / REPLICATION_OFFSET_CHECKPOINT, found)
    write_offsets(disk, root / LOG_START_OFFSET_CHECKPOINT, starts)
    if clean:
        write_clean_shutdown(disk, root)


def make_directory(root: Path) -> Path:
    log = make_partition(root)
    fill(log)
    finish(root, [log])
    return root
