"""Control records: keys, types of the future, and markers."""

from __future__ import annotations

import pytest

from barnabas.protocol.batches import Batch
from barnabas.protocol.control import (
    ControlRecordType,
    EndTransactionMarker,
    build_control_batch,
    build_end_transaction_marker,
    control_key,
    control_record_type,
    read_end_transaction_marker,
)
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records

KNOWN = [kind for kind in ControlRecordType if kind is not ControlRecordType.UNKNOWN]


@pytest.mark.parametrize("kind", KNOWN)
def test_keys(kind: ControlRecordType) -> None:
    assert control_key(kind) == bytes([0, 0, 0, kind])
    assert control_record_type(control_key(kind)) is kind


def test_the_future_is_unknown_and_not_an_error() -> None:
    assert control_record_type(b"\x00\x00\x00\x07") is ControlRecordType.UNKNOWN
    assert control_record_type(b"\x00\x00\xff\xff") is ControlRecordType.UNKNOWN
    assert control_record_type(b"\x00\x09\x00\x01and more") is ControlRecordType.COMMIT
    with pytest.raises(ValueError, match="unknown"):
        control_key(ControlRecordType.UNKNOWN)


@pytest.mark.parametrize("key", [None, b"", b"\x00\x00\x00", b"\xff\xff\x00\x01"])
def test_keys_that_are_none(key: bytes | None) -> None:
    with pytest.raises(MalformedFrame, match="key of a control record"):
        control_record_type(key)


@pytest.mark.parametrize("kind", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_markers(kind: ControlRecordType) -> None:
    data = build_end_transaction_marker(
        kind, producer_id=8, producer_epoch=3, coordinator_epoch=12, timestamp=99, base_offset=5, leader_epoch=6
    )
    batch = Batch(data)
    batch.check()
    assert (batch.control, batch.transactional, batch.record_count) == (True, True, 1)
    assert (batch.producer_id, batch.producer_epoch, batch.base_sequence) == (8, 3, -1)
    assert (batch.base_offset, batch.partition_leader_epoch, batch.max_timestamp) == (5, 6, 99)
    (record,) = read_records(batch)
    assert read_end_transaction_marker(record) == EndTransactionMarker(kind, 12)


@pytest.mark.parametrize("kind", [kind for kind in ControlRecordType if kind not in (0, 1)])
def test_nothing_else_ends_a_transaction(kind: ControlRecordType) -> None:
    with pytest.raises(ValueError, match="ends no transaction"):
        build_end_transaction_marker(kind, producer_id=8, producer_epoch=3, coordinator_epoch=12, timestamp=99)
    key = b"\x00\x00" + kind.to_bytes(2, "big", signed=True)
    with pytest.raises(MalformedFrame, match="ends no transaction"):
        read_end_transaction_marker(Record(key, b"\x00\x00\x00\x00\x00\x01"))


@pytest.mark.parametrize("value", [None, b"", b"\x00\x00\x00\x00\x00", b"\xff\xff\x00\x00\x00\x01"])
def test_marker_values_that_are_none(value: bytes | None) -> None:
    with pytest.raises(MalformedFrame, match=r"end-of-transaction marker|EndTxnMarker"):
        read_end_transaction_marker(Record(control_key(ControlRecordType.COMMIT), value))


def test_a_marker_of_the_future() -> None:
    record = Record(control_key(ControlRecordType.ABORT), b"\x00\x05\x00\x00\x00\x01more")
    assert read_end_transaction_marker(record) == EndTransactionMarker(ControlRecordType.ABORT, 1)


def test_a_marker_needs_its_producer() -> None:
    with pytest.raises(ValueError, match="producer id"):
        build_end_transaction_marker(
            ControlRecordType.COMMIT, producer_id=-1, producer_epoch=0, coordinator_epoch=0, timestamp=0
        )


def test_control_batches_of_the_quorum() -> None:
    batch = Batch(build_control_batch(ControlRecordType.LEADER_CHANGE, b"value", timestamp=7, leader_epoch=2))
    assert (batch.control, batch.transactional, batch.producer_id) == (True, False, -1)
    (record,) = read_records(batch)
    assert (control_record_type(record.key), record.value) == (ControlRecordType.LEADER_CHANGE, b"value")
