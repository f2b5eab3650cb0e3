"""The bytes of a snapshot: `NNNNNNNNNNNNNNNNNNNN-EEEEEEEEEE.checkpoint`, and bootstrap.checkpoint, which is one too.

A control batch opens it (the header; from kraft.version 1 on also that version and the voters), batches of records
follow, a control batch closes it. Without that last one the file was cut short. The offsets in it are its own; those of
the log stand in its name.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice
from typing import NamedTuple, TypeVar

from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.cluster.records import MetadataRecord, encode_record
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import HEADER_BYTES, Batch, iterate_batches
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.control import ControlRecordType, control_key, control_record_type
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.records.control import (
    KRaftVersionRecord,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from barnabas.protocol.schema import Data

__all__ = ["BOOTSTRAP_SNAPSHOT", "Snapshot", "SnapshotId", "decode_snapshot", "encode_snapshot"]

MAX_BATCH_BYTES = 8 << 20
_RECORDS_A_TURN = 1024
"""Kafka hands over so many records at a time, and never spreads them over two batches."""
_LARGEST_RECORD_OVERHEAD = 32
"""Lengths, deltas and attributes of a record: no more than this."""

_NAME = re.compile(r"(\d{20})-(\d{10})\.checkpoint")

D = TypeVar("D", bound=Data)


class SnapshotId(NamedTuple):
    end_offset: int
    """The first offset of the log that the snapshot does not contain."""
    epoch: int

    @property
    def file_name(self) -> str:
        return f"{self.end_offset:020d}-{self.epoch:010d}.checkpoint"

    @classmethod
    def parse(cls, file_name: str) -> SnapshotId | None:
        """None for files that are no finished snapshots: .part ones, deleted ones, others."""
        found = _NAME.fullmatch(file_name)
        return None if found is None else cls(int(found[1]), int(found[2]))


BOOTSTRAP_SNAPSHOT = SnapshotId(0, 0)
"""Holds no records, only who votes: a quorum that can change starts with it."""


@dataclass(frozen=True, slots=True)
class Snapshot:
    last_log_timestamp_ms: int
    kraft_version: int
    voters: VotersRecord | None
    records: tuple[MetadataRecord, ...]


def encode_snapshot(
    records: Iterable[MetadataRecord],
    *,
    epoch: int,
    last_log_timestamp_ms: int,
    now_ms: int,
    kraft_version: int = 0,
    voters: VotersRecord | None = None,
) -> bytes:
    opening = [(ControlRecordType.SNAPSHOT_HEADER, _header(last_log_timestamp_ms))]
    if kraft_version >= 1:
        opening.append((ControlRecordType.KRAFT_VERSION, encode(KRaftVersionRecord(kraft_version=kraft_version), 0)))
        if voters is not None:
            opening.append((ControlRecordType.KRAFT_VOTERS, encode(voters, 0)))
    elif voters is not None:
        raise ValueError("voters are kept in control records from kraft.version 1 on")
    chunks = [_control_batch(opening, 0, epoch, now_ms)]
    offset = len(opening)
    for batch in _batches(records):
        values = (Record(value=value, timestamp=now_ms) for value in batch)
        chunks.append(build_batch(values, base_offset=offset, leader_epoch=epoch))
        offset += len(batch)
    footer = encode(SnapshotFooterRecord(version=0), 0)
    chunks.append(_control_batch([(ControlRecordType.SNAPSHOT_FOOTER, footer)], offset, epoch, now_ms))
    return b"".join(chunks)


def decode_snapshot(data: bytes) -> Snapshot:
    """MalformedFrame for a file that is damaged, or that does not begin and end as a snapshot does."""
    batches = iterate_batches(data)
    header: SnapshotHeaderRecord | None = None
    kraft_version = 0
    voters: VotersRecord | None = None
    records: list[MetadataRecord] = []
    finished = False
    for batch in batches:
        batch.check()
        if finished:
            raise MalformedFrame("records follow the footer of a snapshot")
        if not batch.control:
            _require_header(header)
            records += read_metadata_batch(batch)
            continue
        for record_type, value in _control_records(batch):
            if record_type is ControlRecordType.SNAPSHOT_HEADER:
                header = decode(SnapshotHeaderRecord, 0, value)
                continue
            _require_header(header)
            if record_type is ControlRecordType.KRAFT_VERSION:
                kraft_version = decode(KRaftVersionRecord, 0, value).kraft_version
            elif record_type is ControlRecordType.KRAFT_VOTERS:
                voters = decode(VotersRecord, 0, value)
            elif record_type is ControlRecordType.SNAPSHOT_FOOTER:
                finished = True
    if header is None or not finished or batches.torn:
        raise MalformedFrame("a snapshot ends before its footer")
    return Snapshot(header.last_contained_log_timestamp, kraft_version, voters, tuple(records))


def _require_header(header: SnapshotHeaderRecord | None) -> None:
    if header is None:
        raise MalformedFrame("a snapshot does not begin with its header")


def _header(last_log_timestamp_ms: int) -> bytes:
    return encode(SnapshotHeaderRecord(version=0, last_contained_log_timestamp=last_log_timestamp_ms), 0)


def _control_batch(controls: list[tuple[ControlRecordType, bytes]], base_offset: int, epoch: int, now_ms: int) -> bytes:
    records = (Record(control_key(record_type), value, timestamp=now_ms) for record_type, value in controls)
    return build_batch(records, base_offset=base_offset, control=True, leader_epoch=epoch)


def _control_records(batch: Batch) -> Iterator[tuple[ControlRecordType, bytes]]:
    for record in read_records(batch):
        if record.value is None:
            raise MalformedFrame("a control record of a snapshot has no value")
        yield control_record_type(record.key), record.value


def _batches(records: Iterable[MetadataRecord]) -> Iterator[list[bytes]]:
    """The records' bytes, as many to a batch as fit."""
    batch: list[bytes] = []
    size = HEADER_BYTES
    for together in _turns(records):
        together_size = _size(together)
        if batch and size + together_size > MAX_BATCH_BYTES:
            yield batch
            batch, size = [], HEADER_BYTES
        batch += together
        size += together_size
    if batch:
        yield batch


def _turns(records: Iterable[MetadataRecord]) -> Iterator[list[bytes]]:
    """What goes into one batch together; Kafka cannot write at all what is too much for one, here it goes singly."""
    values = map(encode_record, records)
    while turn := list(islice(values, _RECORDS_A_TURN)):
        if HEADER_BYTES + _size(turn) <= MAX_BATCH_BYTES:
            yield turn
        else:
            yield from ([value] for value in turn)


def _size(values: list[bytes]) -> int:
    return sum(len(value) + _LARGEST_RECORD_OVERHEAD for value in values)
