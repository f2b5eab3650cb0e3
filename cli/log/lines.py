"""What kafka-dump-log.sh prints of a batch and of a record, letter for letter: scripts cut it up."""

from __future__ import annotations

import zlib
from collections.abc import Mapping
from functools import cache
from struct import Struct as FixedWidth
from typing import Any

from barnabas.cli.log.files import check_batch
from barnabas.protocol.batches import LOG_OVERHEAD_BYTES, MAX_SEQUENCE, NO_SEQUENCE, Attributes, Batch, TimestampType
from barnabas.protocol.codec import decode
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, control_record_type, read_end_transaction_marker
from barnabas.protocol.errors import MalformedFrame
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


@cache
def _attributes(attributes: int) -> tuple[str, str, str]:
    """What the attributes of a batch of magic 2 say: they are the same for most batches of a log."""
    kind = "LogAppendTime" if attributes & Attributes.LOG_APPEND_TIME else "CreateTime"
    number = attributes & Attributes.COMPRESSION
    if number not in set(Compression):
        raise MalformedFrame(f"a record batch has the unknown compression {number}")
    transactional = _BOOLEANS[bool(attributes & Attributes.TRANSACTIONAL)]
    control = _BOOLEANS[bool(attributes & Attributes.CONTROL)]
    return f"isTransactional: {transactional} isControl: {control}", kind, Compression(number).name.lower()


def batch_line(batch: Batch, position: int) -> str:
    valid = _BOOLEANS[check_batch(batch)]
    if batch.magic < 2:
        return (
            f"offset: {batch.last_offset} position: {position} {_TIMESTAMP_TYPES[batch.timestamp_type]}: "
            f"{batch.max_timestamp} size: {batch.size} magic: {batch.magic} "
            f"compresscodec: {batch.compression.name.lower()} crc: {batch.crc} isvalid: {valid}"
        )
    flags, kind, codec = _attributes(batch.attributes)
    horizon = batch.delete_horizon_ms
    return (
        f"baseOffset: {batch.base_offset} lastOffset: {batch.base_offset + batch.last_offset_delta} "
        f"count: {batch.record_count} baseSequence: {batch.base_sequence} lastSequence: {batch.last_sequence} "
        f"producerId: {batch.producer_id} producerEpoch: {batch.producer_epoch} "
        f"partitionLeaderEpoch: {batch.partition_leader_epoch} {flags} "
        f"deleteHorizonMs: {'OptionalLong.empty' if horizon is None else f'OptionalLong[{horizon}]'} "
        f"position: {position} {kind}: {batch.max_timestamp} size: {LOG_OVERHEAD_BYTES + batch.length} magic: 2 "
        f"compresscodec: {codec} crc: {batch.crc} isvalid: {valid}"
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
