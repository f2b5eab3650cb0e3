"""What kafka-dump-log.sh prints of a batch and of a record, letter for letter: scripts cut it up."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from struct import Struct as FixedWidth
from typing import Any

from barnabas.cli.log.files import check_batch
from barnabas.protocol.batches import MAX_SEQUENCE, NO_SEQUENCE, Attributes, Batch, TimestampType
from barnabas.protocol.codec import decode
from barnabas.protocol.control import ControlRecordType, control_record_type, read_end_transaction_marker
from barnabas.protocol.kafka_json import as_json, compact
from barnabas.protocol.record import Record
from barnabas.protocol.records.control import (
    KRaftVersionRecord,
    LeaderChangeMessage,
    SnapshotFooterRecord,
    SnapshotHeaderRecord,
    VotersRecord,
)
from barnabas.protocol.schema import Data

__all__ = ["batch_line", "control_json", "control_text", "record_line"]

_TIMESTAMP_TYPES: Mapping[TimestampType, str] = {
    TimestampType.NO_TIMESTAMP_TYPE: "NoTimestampType",
    TimestampType.CREATE_TIME: "CreateTime",
    TimestampType.LOG_APPEND_TIME: "LogAppendTime",
}
_CONTROL_MESSAGES: Mapping[ControlRecordType, tuple[str, type[Data]]] = {
    ControlRecordType.LEADER_CHANGE: ("LeaderChange:", LeaderChangeMessage),
    ControlRecordType.SNAPSHOT_HEADER: ("SnapshotHeader", SnapshotHeaderRecord),
    ControlRecordType.SNAPSHOT_FOOTER: ("SnapshotFooter", SnapshotFooterRecord),
    ControlRecordType.KRAFT_VERSION: ("KRaftVersion", KRaftVersionRecord),
    ControlRecordType.KRAFT_VOTERS: ("KRaftVoters", VotersRecord),
}
_INT16 = FixedWidth(">h")
_INT32 = FixedWidth(">i")
_INT64 = FixedWidth(">q")
_KEY = FixedWidth(">hh")
_BOOLEANS = ("false", "true")


def batch_line(batch: Batch, position: int) -> str:
    horizon = batch.delete_horizon_ms
    head = (
        (
            f"baseOffset: {batch.base_offset} lastOffset: {batch.last_offset} count: {batch.record_count} "
            f"baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
            f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
            f"partitionLeaderEpoch: {batch.partition_leader_epoch} "
            f"isTransactional: {_BOOLEANS[batch.transactional]} isControl: {_BOOLEANS[batch.control]} "
            f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'}"
        )
        if batch.magic >= 2
        else f"offset: {batch.last_offset}"
    )
    return (
        f"{head} position: {position} {_TIMESTAMP_TYPES[batch.timestamp_type]}: {batch.max_timestamp} "
        f"size: {batch.size} magic: {batch.magic} compresscodec: {batch.compression.name.lower()} "
        f"crc: {batch.crc} isvalid: {_BOOLEANS[check_batch(batch)]}"
    )


def record_line(batch: Batch, record: Record) -> str:
    """Without key and value, which a decoder adds."""
    line = (
        f"| offset: {record.offset} {_TIMESTAMP_TYPES[batch.timestamp_type]}: {record.timestamp} "
        f"keySize: {_size(record.key)} valueSize: {_size(record.value)}"
    )
    if batch.magic >= 2:
        keys = ",".join(name for name, _ in record.headers)
        line += f" sequence: {sequence_of(batch, record)} headerKeys: [{keys}]"
    else:
        valid = not batch.attributes & Attributes.COMPRESSION and check_batch(batch)
        line += f" isValid: {_BOOLEANS[valid]} crc: {batch.crc}" if valid else _packed(batch, record)
    return line + (control_text(record) if batch.control else "")


def sequence_of(batch: Batch, record: Record) -> int:
    if batch.base_sequence == NO_SEQUENCE:
        return NO_SEQUENCE
    following = batch.base_sequence + record.offset - batch.base_offset
    return following if following <= MAX_SEQUENCE else following - MAX_SEQUENCE - 1


def control_text(record: Record) -> str:
    kind = control_record_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return f" endTxnMarker: {kind.name} coordinatorEpoch: {read_end_transaction_marker(record).coordinator_epoch}"
    if kind not in _CONTROL_MESSAGES:
        return f" controlType: {kind.name}({_KEY.unpack_from(record.key or b'')[1]})"
    label, _ = _CONTROL_MESSAGES[kind]
    return f" {label} {compact(_control_message(kind, record))}"


def control_json(record: Record) -> dict[str, Any]:
    kind = control_record_type(record.key)
    if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
        return {"type": kind.name, "coordinatorEpoch": read_end_transaction_marker(record).coordinator_epoch}
    return {"type": kind.name, **(_control_message(kind, record) if kind in _CONTROL_MESSAGES else {})}


def _control_message(kind: ControlRecordType, record: Record) -> dict[str, Any]:
    """Each begins with its version, which is a field of it too."""
    cls = _CONTROL_MESSAGES[kind][1]
    value = record.value or b""
    version = min(_INT16.unpack_from(value)[0], cls.__definition__.versions.last) if len(value) >= _INT16.size else 0
    return as_json(decode(cls, version, value), version)


def _packed(batch: Batch, record: Record) -> str:
    """A message in a wrapper, whose own checksum was right, or it could not have been read."""
    if not batch.attributes & Attributes.COMPRESSION:
        return f" isValid: false crc: {batch.crc}"
    data = bytes([batch.magic, 0]) + (_INT64.pack(record.timestamp) if batch.magic else b"")
    for part in (record.key, record.value):
        data += _INT32.pack(_size(part)) + (part or b"")
    return f" isValid: true crc: {zlib.crc32(data)}"


def _size(value: bytes | None) -> int:
    return -1 if value is None else len(value)
