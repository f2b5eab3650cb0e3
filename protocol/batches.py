"""The header of a record batch, read and stamped where it lies, without touching the records.

A batch of magic 2, the only kind that Kafka 4 accepts from a producer, is 61 bytes of header and then its
records, packed or not. The checksum covers everything behind itself. Base offset and leader epoch lie before
it, so that a broker stamps them into the bytes it received and computes nothing. Batches of magic 0 and 1,
which only old files hold, appear as `LegacyBatch`, a Batch whose missing fields say so.
"""

from __future__ import annotations

import struct
from enum import IntEnum
from typing import Final, NoReturn

from barnabas.protocol import checksum
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.varint import Bytes

__all__ = [
    "HEADER_BYTES",
    "LOG_OVERHEAD_BYTES",
    "MAX_SEQUENCE",
    "NO_PARTITION_LEADER_EPOCH",
    "NO_PRODUCER_EPOCH",
    "NO_PRODUCER_ID",
    "NO_SEQUENCE",
    "NO_TIMESTAMP",
    "Attributes",
    "Batch",
    "BatchIterator",
    "TimestampType",
    "batch_at",
    "increment_sequence",
    "iterate_batches",
    "set_append_time",
    "set_max_timestamp",
    "set_producer",
    "stamp",
]

NO_TIMESTAMP = -1
NO_PRODUCER_ID = -1
NO_PRODUCER_EPOCH = -1
NO_SEQUENCE = -1
NO_PARTITION_LEADER_EPOCH = -1
MAX_SEQUENCE = 2**31 - 1

HEADER = struct.Struct(">qiibIhiqqqhii")
HEADER_BYTES = HEADER.size
LOG_OVERHEAD_BYTES = 12
"""Base offset and length: what the length does not count."""

# Where the fields that are written one by one begin.
LEADER_EPOCH_AT = 12
MAGIC_AT = 16
CRC_AT = 17
ATTRIBUTES_AT = 21
PRODUCER_AT = 43

_MIN_LENGTH = HEADER_BYTES - LOG_OVERHEAD_BYTES
_MIN_LEGACY_LENGTH = 14  # a message of magic 0 without key and value
_INT16 = struct.Struct(">h")
_INT32 = struct.Struct(">i")
_UINT32 = struct.Struct(">I")
_INT64 = struct.Struct(">q")
_PRODUCER = struct.Struct(">qhi")
_ATTRIBUTES_TO_MAX_TIMESTAMP = struct.Struct(">hiqq")


class Attributes:
    """The bits of a batch's attributes. Kafka gives the others no meaning."""

    COMPRESSION: Final = 0x07
    LOG_APPEND_TIME: Final = 0x08
    TRANSACTIONAL: Final = 0x10
    CONTROL: Final = 0x20
    DELETE_HORIZON: Final = 0x40
    KNOWN: Final = 0x7F


_COMPRESSIONS = tuple(Compression)
"""By their numbers: to ask the enum itself takes as long as to read the header."""


class TimestampType(IntEnum):
    """Who sets the timestamps of records. Messages of magic 0 have none."""

    NO_TIMESTAMP_TYPE = -1
    CREATE_TIME = 0
    LOG_APPEND_TIME = 1


class Batch:
    """The header of the batch at `position` of `buffer`, whose bytes it does not copy.

    Only the header has to be there; the records, if they are not, are missed when they are asked for.
    """

    __slots__ = (
        "attributes",
        "base_offset",
        "base_sequence",
        "base_timestamp",
        "buffer",
        "crc",
        "last_offset_delta",
        "length",
        "magic",
        "max_timestamp",
        "partition_leader_epoch",
        "position",
        "producer_epoch",
        "producer_id",
        "record_count",
    )

    base_offset: int
    length: int
    partition_leader_epoch: int
    magic: int
    crc: int
    attributes: int
    last_offset_delta: int
    base_timestamp: int
    max_timestamp: int
    producer_id: int
    producer_epoch: int
    base_sequence: int
    record_count: int

    def __init__(self, buffer: Bytes, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position
        try:
            (
                self.base_offset,
                self.length,
                self.partition_leader_epoch,
                self.magic,
                self.crc,
                self.attributes,
                self.last_offset_delta,
                self.base_timestamp,
                self.max_timestamp,
                self.producer_id,
                self.producer_epoch,
                self.base_sequence,
                self.record_count,
            ) = HEADER.unpack_from(buffer, position)
        except struct.error:
            raise MalformedFrame("the header of a record batch ends early") from None
        if self.magic != 2:
            raise MalformedFrame(f"a record batch has magic {self.magic} instead of 2")
        if self.length < _MIN_LENGTH:
            raise MalformedFrame(f"a record batch has length {self.length}, less than its header")

    @property
    def size(self) -> int:
        """The bytes of the whole batch."""
        return LOG_OVERHEAD_BYTES + self.length

    @property
    def end(self) -> int:
        """The position behind the batch."""
        return self.position + LOG_OVERHEAD_BYTES + self.length

    @property
    def last_offset(self) -> int:
        return self.base_offset + self.last_offset_delta

    @property
    def next_offset(self) -> int:
        return self.base_offset + self.last_offset_delta + 1

    @property
    def last_sequence(self) -> int:
        if self.base_sequence == NO_SEQUENCE:
            return NO_SEQUENCE
        return increment_sequence(self.base_sequence, self.last_offset_delta)

    @property
    def compression(self) -> Compression:
        number = self.attributes & Attributes.COMPRESSION
        try:
            return _COMPRESSIONS[number]
        except IndexError:
            raise MalformedFrame(f"a record batch has the unknown compression {number}") from None

    @property
    def timestamp_type(self) -> TimestampType:
        if self.attributes & Attributes.LOG_APPEND_TIME:
            return TimestampType.LOG_APPEND_TIME
        return TimestampType.CREATE_TIME

    @property
    def transactional(self) -> bool:
        return bool(self.attributes & Attributes.TRANSACTIONAL)

    @property
    def control(self) -> bool:
        return bool(self.attributes & Attributes.CONTROL)

    @property
    def delete_horizon_ms(self) -> int | None:
        """When the cleaner may drop the batch's tombstones; it keeps this where the base timestamp was."""
        return self.base_timestamp if self.attributes & Attributes.DELETE_HORIZON else None

    @property
    def records(self) -> memoryview:
        """The records as they lie there, packed or not."""
        return self._bytes_from(HEADER_BYTES)

    def compute_crc(self) -> int:
        """The checksum that the bytes should have."""
        return checksum.crc32c(self._bytes_from(ATTRIBUTES_AT))

    def crc_matches(self) -> bool:
        return self.compute_crc() == self.crc

    def check(self) -> None:
        """Raise MalformedFrame unless the batch is there as a whole and its checksum is right."""
        computed = self.compute_crc()
        if computed != self.crc:
            raise MalformedFrame(f"a record batch has crc {self.crc:#010x}, its bytes have {computed:#010x}")

    def _bytes_from(self, start: int) -> memoryview:
        end = self.position + LOG_OVERHEAD_BYTES + self.length
        if end > len(self.buffer):
            raise MalformedFrame(f"a record batch of {self.size} bytes ends early")
        return memoryview(self.buffer)[self.position + start : end]

    def __repr__(self) -> str:
        return (
            f"<{type(self).__name__} magic={self.magic} offsets={self.base_offset}..{self.last_offset}"
            f" records={self.record_count} size={self.size} attributes={self.attributes:#x}"
            f" producer={self.producer_id}:{self.producer_epoch} sequence={self.base_sequence}>"
        )


def increment_sequence(sequence: int, increment: int) -> int:
    """The sequence number `increment` further on; behind 2^31-1 comes 0."""
    following = sequence + increment
    return following if following <= MAX_SEQUENCE else following - MAX_SEQUENCE - 1


class BatchIterator:
    """The batches of `buffer` from `position` on, whole ones only.

    A Fetch answer may legally end within a batch, and so may a file after a crash. Iteration stops before
    such a rest; `position` is then where it begins, and `torn` says that there is one.
    """

    __slots__ = ("buffer", "position")

    def __init__(self, buffer: Bytes, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position

    def __iter__(self) -> BatchIterator:
        return self

    def __next__(self) -> Batch:
        batch = batch_at(self.buffer, self.position)
        if batch is None:
            raise StopIteration
        self.position += LOG_OVERHEAD_BYTES + batch.length
        return batch

    @property
    def torn(self) -> bool:
        """Whether bytes are left behind the last batch given out; of meaning once the iteration has ended."""
        return self.position < len(self.buffer)


def iterate_batches(buffer: Bytes, position: int = 0) -> BatchIterator:
    """The whole batches of a Produce or Fetch request's records, or of a file's bytes.

    A size or magic that no batch can have raises MalformedFrame: where it stands, there is no way to go on.
    """
    return BatchIterator(buffer, position)


def batch_at(buffer: Bytes, position: int = 0) -> Batch | None:
    """The batch that begins at `position`, or None when the bytes end before it does."""
    remaining = len(buffer) - position
    if remaining >= HEADER_BYTES and buffer[position + MAGIC_AT] == 2:
        batch = Batch(buffer, position)
    else:
        found = _legacy_batch_at(buffer, position, remaining)
        if found is None:
            return None
        batch = found
    return batch if LOG_OVERHEAD_BYTES + batch.length <= remaining else None


def _legacy_batch_at(buffer: Bytes, position: int, remaining: int) -> Batch | None:
    """What is not simply a whole header of magic 2: an old batch, the first bytes of one, or nonsense."""
    if remaining < LOG_OVERHEAD_BYTES:
        return None
    (length,) = _INT32.unpack_from(buffer, position + 8)
    if length < _MIN_LEGACY_LENGTH:
        _refuse_length(length)
    if remaining <= MAGIC_AT:
        return None
    magic = buffer[position + MAGIC_AT]
    if magic > 2:
        raise MalformedFrame(f"a record batch has the unknown magic {magic}")
    if magic == 2:
        if length < _MIN_LENGTH:
            _refuse_length(length)
        return None
    if remaining < LOG_OVERHEAD_BYTES + length:
        return None
    from barnabas.protocol.legacy_batches import LegacyBatch

    return LegacyBatch(buffer, position)


def _refuse_length(length: int) -> NoReturn:
    raise MalformedFrame(f"a record batch has length {length}, less than its header")


def stamp(buffer: bytearray | memoryview, position: int, base_offset: int, leader_epoch: int) -> None:
    """Write what the partition's leader decides into the batch at `position`; its checksum stays right."""
    _INT64.pack_into(buffer, position, base_offset)
    _INT32.pack_into(buffer, position + LEADER_EPOCH_AT, leader_epoch)


def set_producer(
    buffer: bytearray | memoryview, position: int, producer_id: int, producer_epoch: int, base_sequence: int
) -> None:
    """Make the batch one that this producer sends, outside of transactions, whoever wrote it; its checksum is new."""
    batch = Batch(buffer, position)
    stamp(buffer, position, 0, NO_PARTITION_LEADER_EPOCH)
    attributes = batch.attributes & Attributes.KNOWN & ~Attributes.TRANSACTIONAL
    _INT16.pack_into(buffer, position + ATTRIBUTES_AT, attributes)
    _PRODUCER.pack_into(buffer, position + PRODUCER_AT, producer_id, producer_epoch, base_sequence)
    _UINT32.pack_into(buffer, position + CRC_AT, batch.compute_crc())


def set_append_time(buffer: bytearray | memoryview, position: int, now_ms: int) -> None:
    """Make `now_ms` the timestamp of every record of the batch, as topics with LogAppendTime want it."""
    set_max_timestamp(buffer, position, TimestampType.LOG_APPEND_TIME, now_ms)


def set_max_timestamp(
    buffer: bytearray | memoryview, position: int, timestamp_type: TimestampType, max_timestamp: int
) -> None:
    """Write the timestamp type and the highest timestamp, and the new checksum, unless they are so already.

    Like Kafka's, this writes only attributes that have a meaning; unused bits become zero.
    """
    batch = Batch(buffer, position)
    if batch.timestamp_type is timestamp_type and batch.max_timestamp == max_timestamp:
        return
    batch.attributes &= Attributes.KNOWN & ~Attributes.LOG_APPEND_TIME
    if timestamp_type is TimestampType.LOG_APPEND_TIME:
        batch.attributes |= Attributes.LOG_APPEND_TIME
    _ATTRIBUTES_TO_MAX_TIMESTAMP.pack_into(
        buffer,
        position + ATTRIBUTES_AT,
        batch.attributes,
        batch.last_offset_delta,
        batch.base_timestamp,
        max_timestamp,
    )
    _UINT32.pack_into(buffer, position + CRC_AT, batch.compute_crc())
