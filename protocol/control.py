"""Control batches: records that brokers write into a partition for each other, and that consumers skip.

The key of a control record is a version and a type. Readers take a version they do not know as the newest
they do, and skip a type they do not know: so Kafka can add some. The values are declared in records/control.py; only
the end of a transaction, which every consumer meets, is read and written as a whole here.
"""

from __future__ import annotations

import struct
from dataclasses import dataclass
from enum import IntEnum

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import NO_PARTITION_LEADER_EPOCH
from barnabas.protocol.codec import decode_from, encode
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record
from barnabas.protocol.records.control import EndTxnMarker

__all__ = [
    "ControlRecordType",
    "EndTransactionMarker",
    "build_control_batch",
    "build_end_transaction_marker",
    "control_key",
    "control_record_type",
    "read_end_transaction_marker",
]

_KEY = struct.Struct(">hh")
_VALUE_VERSION = struct.Struct(">h")
_VERSION = 0  # of keys and of end-of-transaction markers; there is no other yet


class ControlRecordType(IntEnum):
    UNKNOWN = -1
    ABORT = 0
    COMMIT = 1
    LEADER_CHANGE = 2
    SNAPSHOT_HEADER = 3
    SNAPSHOT_FOOTER = 4
    KRAFT_VERSION = 5
    KRAFT_VOTERS = 6

    @classmethod
    def _missing_(cls, value: object) -> ControlRecordType:  # noqa: ARG003 - whatever it is
        return cls.UNKNOWN


_END_TRANSACTION_TYPES = (ControlRecordType.ABORT, ControlRecordType.COMMIT)


@dataclass(frozen=True, slots=True)
class EndTransactionMarker:
    """How a producer's transaction ended; the epoch is there to refuse a deposed coordinator's markers."""

    type: ControlRecordType
    coordinator_epoch: int


def control_key(record_type: ControlRecordType) -> bytes:
    """The key of a control record of this type."""
    if record_type is ControlRecordType.UNKNOWN:
        raise ValueError("there is no control record of unknown type")
    return _KEY.pack(_VERSION, record_type)


def control_record_type(key: bytes | None) -> ControlRecordType:
    """The type that the key of a control record names; UNKNOWN for types of the future, to be skipped."""
    if key is None or len(key) < _KEY.size:
        raise MalformedFrame("the key of a control record ends early")
    version, number = _KEY.unpack_from(key)
    if version < 0:
        raise MalformedFrame(f"the key of a control record has version {version}")
    return ControlRecordType(number)


def read_end_transaction_marker(record: Record) -> EndTransactionMarker:
    """The marker that a control record of type ABORT or COMMIT is."""
    record_type = control_record_type(record.key)
    if record_type not in _END_TRANSACTION_TYPES:
        raise MalformedFrame(f"a control record of type {record_type.name} ends no transaction")
    if record.value is None or len(record.value) < _VALUE_VERSION.size:
        raise MalformedFrame("an end-of-transaction marker ends early")
    (version,) = _VALUE_VERSION.unpack_from(record.value)
    if version < 0:
        raise MalformedFrame(f"an end-of-transaction marker has version {version}")
    marker, _ = decode_from(EndTxnMarker, min(version, _VERSION), record.value, _VALUE_VERSION.size)
    return EndTransactionMarker(record_type, marker.coordinator_epoch)


def build_end_transaction_marker(
    record_type: ControlRecordType,
    *,
    producer_id: int,
    producer_epoch: int,
    coordinator_epoch: int,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """The batch that ends a producer's transaction in one partition; it takes no sequence number."""
    if record_type not in _END_TRANSACTION_TYPES:
        raise ValueError(f"{record_type.name} ends no transaction")
    value = _VALUE_VERSION.pack(_VERSION) + encode(EndTxnMarker(coordinator_epoch=coordinator_epoch), _VERSION)
    return build_batch(
        [Record(control_key(record_type), value, timestamp=timestamp)],
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=producer_epoch,
        transactional=True,
        control=True,
        leader_epoch=leader_epoch,
    )


def build_control_batch(
    record_type: ControlRecordType,
    value: bytes,
    *,
    timestamp: int,
    base_offset: int = 0,
    leader_epoch: int = NO_PARTITION_LEADER_EPOCH,
) -> bytes:
    """A batch of one control record of the quorum, which belongs to no producer."""
    return build_batch(
        [Record(control_key(record_type), value, timestamp=timestamp)],
        base_offset=base_offset,
        control=True,
        leader_epoch=leader_epoch,
    )
