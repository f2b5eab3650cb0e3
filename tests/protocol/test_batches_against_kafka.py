"""Apache Kafka reads what we write, and we read what it writes; not packed, the bytes are equal."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batch_rules import check_batch, check_records, produced_batch
from barnabas.protocol.batches import (
    Batch,
    TimestampType,
    iterate_batches,
    set_append_time,
    set_max_timestamp,
    stamp,
)
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import (
    ControlRecordType,
    build_control_batch,
    build_end_transaction_marker,
    control_key,
    control_record_type,
    read_end_transaction_marker,
)
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.record import Header, Record, read_records
from tests.kafka.java_oracle import JavaOracle

pytestmark = [pytest.mark.java, pytest.mark.slow]

NOW = 1_700_000_000_000
FOREVER = 2**63 - 1
CODECS = list(Compression)

PLAIN = [
    Record(b"key", b"value", (), NOW, 0),
    Record(None, b"", (), NOW + 5, 1),
    Record(b"", None, (), NOW - 70_000, 2),
    Record(b"k" * 300, b"v" * 100_000, (), NOW + 1, 3),
]
WITH_HEADERS = [
    Record(b"a", b"1", [("trace", b"\x00\xff"), ("none", None), ("trace", b""), ("", b"x")], NOW, 0),
    Record(None, None, [("schlüssel-鍵-🔑", b"v" * 200)], -1, 4),
]


class Kafka:
    """Kafka's batches by the lines of BatchOracle.java."""

    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def ask(self, *fields: object) -> str:
        answer, _, rest = self._java.ask(" ".join(str(field) for field in fields)).partition(" ")
        assert answer == "OK", rest
        return rest

    def ask_bytes(self, *fields: object) -> bytes:
        return bytes.fromhex(self.ask(*fields).removeprefix("-"))

    def write(
        self,
        records: list[Record],
        *,
        magic: int = 2,
        compression: Compression = Compression.NONE,
        timestamp_type: str = "CreateTime",
        base_offset: int = 0,
        append_time_ms: int = -1,
        producer_id: int = -1,
        producer_epoch: int = -1,
        base_sequence: int = -1,
        transactional: bool = False,
        control: bool = False,
        leader_epoch: int = -1,
        delete_horizon_ms: int = -1,
    ) -> bytes:
        flags = [str(transactional).lower(), str(control).lower()]
        return self.ask_bytes(
            *("WRITE", magic, compression.name, timestamp_type, base_offset, append_time_ms, producer_id),
            *(producer_epoch, base_sequence, *flags, leader_epoch, delete_horizon_ms),
            ";".join(map(as_text, records)),
        )

    def read(self, data: bytes) -> list[tuple[list[str], list[Record]]]:
        parts = self.ask("READ", data.hex()).split(" ")
        batches = zip(parts[::2], parts[1::2], strict=True)
        return [(header.split(","), as_records(text)) for header, text in batches]

    def produce(self, data: bytes, **settings: Any) -> bytes | str:
        """The bytes that the leader would append, or the name of the error that it would answer."""
        chosen = {
            "version": 12,
            "compacted": False,
            "timestamp_type": "CreateTime",
            "before": FOREVER,
            "after": 3_600_000,
        }
        chosen |= settings
        chosen["compacted"] = str(chosen["compacted"]).lower()
        answer = self._java.ask(
            f"PRODUCE {chosen['version']} {chosen['compacted']} {chosen['timestamp_type']} {NOW}"
            f" {chosen['before']} {chosen['after']} 500 7 {data.hex() or '-'}"
        ).split(" ")
        return answer[1] if answer[0] == "ERR" else bytes.fromhex(answer[1])


def as_hex(data: bytes | None) -> str:
    return "null" if data is None else data.hex() or "-"


def as_bytes(text: str) -> bytes | None:
    return None if text == "null" else bytes.fromhex(text.removeprefix("-"))


def as_text(record: Record) -> str:
    headers = [f"{as_hex(name.encode())}:{as_hex(value)}" for name, value in record.headers]
    return ",".join([str(record.offset), str(record.timestamp), as_hex(record.key), as_hex(record.value), *headers])


def as_records(text: str) -> list[Record]:
    records = []
    for one in text.split(";") if text != "-" else []:
        offset, timestamp, key, value, *rest = one.split(",")
        headers: list[Header] = []
        for header in rest:
            name, _, header_value = header.partition(":")
            headers.append(((as_bytes(name) or b"").decode(), as_bytes(header_value)))
        records.append(Record(as_bytes(key), as_bytes(value), headers or (), int(timestamp), int(offset)))
    return records


def header_of(batch: Batch) -> list[str]:
    """What BatchOracle says of a batch, said by us."""
    values = [
        *(batch.magic, batch.base_offset, batch.last_offset, batch.next_offset, batch.size),
        *(batch.partition_leader_epoch, batch.crc, batch.compression.name, batch.timestamp_type.name),
        *(batch.max_timestamp, batch.producer_id, batch.producer_epoch, batch.base_sequence),
        *(batch.last_sequence, str(batch.transactional).lower(), str(batch.control).lower()),
        "null" if batch.delete_horizon_ms is None else batch.delete_horizon_ms,
        "null" if batch.magic < 2 else batch.record_count,
    ]
    return [str(value) for value in values]


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> Kafka:
    return Kafka(java_oracle(Path(__file__).with_name("BatchOracle.java")))


def both_read_the_same(kafka: Kafka, data: bytes) -> list[list[Record]]:
    """The records of each batch, after Kafka has confirmed every one of them, and every header."""
    ours = []
    for batch in iterate_batches(data):
        batch.check()
        ours.append((header_of(batch), list(read_records(batch))))
    assert kafka.read(data) == ours
    return [records for _, records in ours]


VARIETIES: list[dict[str, Any]] = [
    {},
    {"base_offset": 0, "leader_epoch": 9},
    {"producer_id": 77, "producer_epoch": 3, "base_sequence": 2**31 - 2},
    {"producer_id": 2**62, "producer_epoch": 32767, "base_sequence": 0, "transactional": True},
    {"delete_horizon_ms": NOW + 9},
]


@pytest.mark.parametrize("compression", CODECS)
@pytest.mark.parametrize("records", [PLAIN, WITH_HEADERS], ids=["plain", "headers"])
@pytest.mark.parametrize("variety", VARIETIES, ids=["bare", "epoch", "idempotent", "transactional", "horizon"])
def test_batches_of_magic_2(
    kafka: Kafka, compression: Compression, records: list[Record], variety: dict[str, Any]
) -> None:
    theirs = kafka.write(records, compression=compression, **variety)
    assert both_read_the_same(kafka, theirs) == [records]

    ours = build_batch(records, compression=compression, **variety)
    assert both_read_the_same(kafka, ours) == [records]
    if compression is Compression.NONE:
        assert ours == theirs


@pytest.mark.parametrize("compression", CODECS)
def test_log_append_time(kafka: Kafka, compression: Compression) -> None:
    theirs = kafka.write(PLAIN, compression=compression, timestamp_type="LogAppendTime", append_time_ms=NOW + 99)
    ours = build_batch(
        PLAIN,
        compression=compression,
        timestamp_type=TimestampType.LOG_APPEND_TIME,
        append_time_ms=NOW + 99,
    )
    for data in (theirs, ours):
        (records,) = both_read_the_same(kafka, data)
        assert [record.timestamp for record in records] == [NOW + 99] * len(PLAIN)
    if compression is Compression.NONE:
        assert ours == theirs


@pytest.mark.parametrize("magic", [0, 1])
@pytest.mark.parametrize("compression", [codec for codec in CODECS if codec is not Compression.ZSTD])
@pytest.mark.parametrize("timestamp_type", ["CreateTime", "LogAppendTime"])
def test_old_message_sets(kafka: Kafka, magic: int, compression: Compression, timestamp_type: str) -> None:
    records = [Record(r.key, r.value, (), r.timestamp, 100 + r.offset) for r in PLAIN]
    data = kafka.write(
        records,
        magic=magic,
        compression=compression,
        timestamp_type="NoTimestampType" if magic == 0 else timestamp_type,
        base_offset=100,
        append_time_ms=NOW + 99,
    )
    batches = list(iterate_batches(data))
    assert len(batches) == (len(records) if compression is Compression.NONE else 1)
    found = [record for batch in both_read_the_same(kafka, data) for record in batch]
    assert [(r.key, r.value, r.offset) for r in found] == [(r.key, r.value, r.offset) for r in records]
    if magic == 0:
        assert {r.timestamp for r in found} == {-1}


def test_several_batches_of_all_ages(kafka: Kafka) -> None:
    data = b"".join(
        kafka.write([Record(b"k", bytes([magic]), (), NOW, 0)], magic=magic, timestamp_type=timestamp_type)
        for magic, timestamp_type in ((2, "CreateTime"), (0, "NoTimestampType"), (1, "CreateTime"))
    )
    assert len(both_read_the_same(kafka, data)) == 3


@pytest.mark.parametrize("ended", [ControlRecordType.ABORT, ControlRecordType.COMMIT])
def test_end_transaction_markers(kafka: Kafka, ended: ControlRecordType) -> None:
    theirs = kafka.ask_bytes("MARKER", ended.name, 4711, 3, 12, NOW, 55, 8)
    ours = build_end_transaction_marker(
        ended,
        producer_id=4711,
        producer_epoch=3,
        coordinator_epoch=12,
        timestamp=NOW,
        base_offset=55,
        leader_epoch=8,
    )
    assert ours == theirs
    ((record,),) = both_read_the_same(kafka, ours)
    marker = read_end_transaction_marker(record)
    assert (marker.type, marker.coordinator_epoch) == (ended, 12)


@pytest.mark.parametrize("record_type", [kind for kind in ControlRecordType if kind >= 2])
def test_control_batches_of_the_quorum(kafka: Kafka, record_type: ControlRecordType) -> None:
    theirs = kafka.ask_bytes("CONTROL", record_type.name, NOW, 33, 4)
    ((record,),) = both_read_the_same(kafka, theirs)
    assert control_record_type(record.key) is record_type
    assert record.value is not None
    ours = build_control_batch(record_type, record.value, timestamp=NOW, base_offset=33, leader_epoch=4)
    assert ours == theirs


def test_a_control_batch_written_by_kafkas_builder(kafka: Kafka) -> None:
    records = [Record(control_key(ControlRecordType.COMMIT), b"\x00\x00\x00\x00\x00\x01", (), NOW, 0)]
    producer = {"producer_id": 5, "producer_epoch": 0, "transactional": True, "control": True}
    assert kafka.write(records, **producer) == build_batch(records, **producer)  # type: ignore[arg-type]


def test_batches_without_records(kafka: Kafka) -> None:
    theirs = kafka.ask_bytes("EMPTY", 10, 19, NOW, 8, 2, 30, 6)
    ours = build_empty_batch(
        base_offset=10,
        last_offset=19,
        max_timestamp=NOW,
        producer_id=8,
        producer_epoch=2,
        base_sequence=30,
        transactional=True,
        leader_epoch=6,
    )
    assert ours == theirs
    assert both_read_the_same(kafka, ours) == [[]]


@pytest.mark.parametrize("timestamp_type", [TimestampType.CREATE_TIME, TimestampType.LOG_APPEND_TIME])
@pytest.mark.parametrize("attributes", [0, 0x7F & ~7, 0xFF78])
def test_new_timestamps_in_place(kafka: Kafka, timestamp_type: TimestampType, attributes: int) -> None:
    """With bits in the attributes that mean nothing, too, and when nothing changes."""
    name = "CreateTime" if timestamp_type is TimestampType.CREATE_TIME else "LogAppendTime"
    original = bytearray(build_batch(PLAIN))
    original[21:23] = attributes.to_bytes(2, "big")
    for timestamp in (NOW + 1000, NOW + 5):
        mine = bytearray(original)
        set_max_timestamp(mine, 0, timestamp_type, timestamp)
        assert bytes(mine) == kafka.ask_bytes("RETIME", name, timestamp, original.hex())


def batch_with(**fields: Any) -> bytes:
    """A batch of two records with fields of its header set to nonsense, under a right checksum."""
    places = {"last_offset_delta": (23, 4), "record_count": (57, 4), "base_sequence": (53, 4), "attributes": (21, 2)}
    compression = fields.pop("compression", Compression.NONE)
    data = bytearray(build_batch(fields.pop("records", PLAIN[:2]), compression=compression, **fields.pop("build", {})))
    for name, value in fields.items():
        start, size = places[name]
        data[start : start + size] = value.to_bytes(size, "big", signed=value < 0)
    data[17:21] = Batch(data).compute_crc().to_bytes(4, "big")
    return bytes(data)


GAPS = [Record(b"a", b"1", (), NOW, 0), Record(b"b", b"2", (), NOW, 5)]
PRODUCER = {"producer_id": 5, "producer_epoch": 0, "base_sequence": 3}

PRODUCED: list[tuple[bytes, dict[str, Any]]] = [
    (b"", {}),
    (build_batch(PLAIN), {}),
    (build_batch(PLAIN), {"timestamp_type": "LogAppendTime"}),
    (build_batch(PLAIN)[:-1], {}),
    (build_batch(PLAIN) * 2, {}),
    (build_batch(PLAIN) + build_batch(PLAIN)[:-1], {}),
    (build_batch(PLAIN) + bytes(12), {}),
    (build_batch(PLAIN) + bytes(11), {}),
    (build_batch(PLAIN)[:-1] + b"?", {}),
    (build_batch(PLAIN)[:16] + b"\x03" + build_batch(PLAIN)[17:], {}),
    (build_batch(PLAIN)[:16] + b"\x01" + build_batch(PLAIN)[17:], {}),
    (build_batch(PLAIN, compression=Compression.ZSTD), {"version": 6}),
    (build_batch(PLAIN, compression=Compression.ZSTD), {"version": 7}),
    (build_batch(PLAIN, compression=Compression.SNAPPY), {"timestamp_type": "LogAppendTime"}),
    (build_batch(WITH_HEADERS[:1], compression=Compression.LZ4), {"compacted": True}),
    (build_batch(PLAIN), {"compacted": True}),
    (build_batch(PLAIN, compression=Compression.GZIP), {"compacted": True}),
    (build_batch(PLAIN), {"before": 69_999}),
    (build_batch(PLAIN), {"before": 70_000}),
    (build_batch(PLAIN), {"after": 4}),
    (build_batch(PLAIN), {"after": 5}),
    (build_batch(PLAIN), {"after": 4, "compacted": True}),
    (build_batch(PLAIN, compression=Compression.GZIP), {"after": 4}),
    (batch_with(last_offset_delta=-1), {}),
    (batch_with(last_offset_delta=2), {}),
    (batch_with(record_count=0), {}),
    (batch_with(record_count=-1), {}),
    (batch_with(record_count=0, last_offset_delta=-1), {}),
    (batch_with(record_count=3, last_offset_delta=2), {}),
    (batch_with(record_count=1, last_offset_delta=0), {}),
    (batch_with(record_count=1, last_offset_delta=0, compression=Compression.SNAPPY), {}),
    (batch_with(attributes=0x20), {}),
    (batch_with(attributes=0x10), {}),
    (batch_with(attributes=0x05), {}),
    (batch_with(attributes=0x08), {}),
    (batch_with(attributes=0x08), {"timestamp_type": "LogAppendTime"}),
    (batch_with(attributes=0x08, build={"timestamp_type": TimestampType.LOG_APPEND_TIME}), {}),
    (batch_with(build=PRODUCER), {}),
    (batch_with(build=PRODUCER, base_sequence=-1), {}),
    (batch_with(records=GAPS), {}),
    (batch_with(records=GAPS, record_count=2, last_offset_delta=1), {}),
    (batch_with(records=GAPS, record_count=2, last_offset_delta=1, compression=Compression.SNAPPY), {}),
]


@pytest.mark.parametrize("case", range(len(PRODUCED)))
def test_what_a_leader_makes_of_a_produced_batch(kafka: Kafka, case: int) -> None:
    """The same refusal, or the same bytes in the log."""
    data, settings = PRODUCED[case]
    log_append_time = settings.get("timestamp_type") == "LogAppendTime"
    timestamp_type = TimestampType.LOG_APPEND_TIME if log_append_time else TimestampType.CREATE_TIME
    ours: bytes | str
    try:
        batch = produced_batch(data, settings.get("version", 12))
        check_batch(batch, max_batch_bytes=1 << 20)
        summary = check_records(
            batch,
            read_records(batch),
            compacted=settings.get("compacted", False),
            timestamp_type=timestamp_type,
            now_ms=NOW,
            before_max_ms=settings.get("before", FOREVER),
            after_max_ms=settings.get("after", 3_600_000),
        )
    except KafkaError as error:
        ours = error.code.name
    else:
        stamped = bytearray(data[: batch.size])
        stamp(stamped, 0, 500, 7)
        if log_append_time:
            set_append_time(stamped, 0, NOW)
        else:
            set_max_timestamp(stamped, 0, timestamp_type, summary.max_timestamp)
        ours = bytes(stamped)
    theirs = kafka.produce(data, **settings)
    if isinstance(theirs, bytes):
        theirs = theirs[: Batch(theirs).size]  # Kafka's log trims what follows before it validates
    assert ours == theirs
