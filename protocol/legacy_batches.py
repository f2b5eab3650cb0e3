"""Message sets of magic 0 and 1, as brokers before 0.11 wrote them: read, never written.

Each message stands alone, or is a wrapper whose value is a packed message set. The offset of a wrapper is
that of its last message. Inside a wrapper of magic 0 offsets are absolute; in one of magic 1 they count from
0, except that compaction leaves gaps. Magic 1 added the timestamp. The checksum is zlib's CRC-32, of all that
follows it.
"""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.batches import (
    LOG_OVERHEAD_BYTES,
    MAGIC_AT,
    NO_PARTITION_LEADER_EPOCH,
    NO_PRODUCER_EPOCH,
    NO_PRODUCER_ID,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Attributes,
    Batch,
    TimestampType,
)
from barnabas.protocol.compression import MAX_DECOMPRESSED_BYTES, Compression, decompress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record
from barnabas.protocol.varint import Bytes

__all__ = ["UNKNOWN_COUNT", "LegacyBatch", "read_legacy_records"]

UNKNOWN_COUNT = -1
"""The record count of a wrapper, which says nowhere how many messages it holds."""

_HEADER = struct.Struct(">qiIbb")
_OFFSET_AND_LENGTH = struct.Struct(">qi")
_CRC_AND_MAGIC = struct.Struct(">IbB")
_INT32 = struct.Struct(">i")
_INT64 = struct.Struct(">q")
_CRC_BYTES = 4
_MIN_LENGTHS = (14, 22)  # by magic: a message without key and value


class LegacyBatch(Batch):
    """A message or a wrapper of magic 0 or 1 as a batch without producer, sequence and leader epoch.

    `base_offset` is the last offset too: for a wrapper, only its messages say where it begins.
    """

    __slots__ = ()

    def __init__(self, buffer: Bytes, position: int = 0) -> None:
        self.buffer = buffer
        self.position = position
        try:
            self.base_offset, self.length, self.crc, self.magic, self.attributes = _HEADER.unpack_from(buffer, position)
            if self.magic not in (0, 1):
                raise MalformedFrame(f"a message has magic {self.magic} instead of 0 or 1")
            if self.length < _MIN_LENGTHS[self.magic]:
                raise MalformedFrame(f"a message has length {self.length}, less than its header")
            timestamp = NO_TIMESTAMP
            if self.magic == 1:
                (timestamp,) = _INT64.unpack_from(buffer, position + _HEADER.size)
        except struct.error:
            raise MalformedFrame("the header of a message ends early") from None
        self.base_timestamp = self.max_timestamp = timestamp
        self.partition_leader_epoch = NO_PARTITION_LEADER_EPOCH
        self.producer_id = NO_PRODUCER_ID
        self.producer_epoch = NO_PRODUCER_EPOCH
        self.base_sequence = NO_SEQUENCE
        self.last_offset_delta = 0
        self.record_count = UNKNOWN_COUNT if self.attributes & Attributes.COMPRESSION else 1

    @property
    def timestamp_type(self) -> TimestampType:
        return TimestampType.NO_TIMESTAMP_TYPE if self.magic == 0 else super().timestamp_type

    @property
    def transactional(self) -> bool:
        return False

    @property
    def control(self) -> bool:
        return False

    @property
    def delete_horizon_ms(self) -> int | None:
        return None

    @property
    def records(self) -> memoryview:
        """The message, from its checksum on."""
        return self._bytes_from(LOG_OVERHEAD_BYTES)

    def compute_crc(self) -> int:
        return zlib.crc32(self._bytes_from(MAGIC_AT))


class _Message(NamedTuple):
    magic: int
    attributes: int
    timestamp: int
    key: bytes | None
    value: bytes | None


def read_legacy_records(batch: LegacyBatch, max_bytes: int = MAX_DECOMPRESSED_BYTES) -> Iterator[Record]:
    """The message, or those in the wrapper with their own checksums verified; `check` is for the outer one."""
    message = _read_message(bytes(batch.records))
    if batch.compression is Compression.NONE:
        yield Record(message.key, message.value, (), message.timestamp, batch.last_offset)
        return
    inner = _read_wrapper(batch, message.value, max_bytes)
    base_offset = 0
    # Some versions of librdkafka produced wrappers with offset 0, whatever was inside.
    if batch.magic == 1 and batch.last_offset != 0:
        base_offset = batch.last_offset - inner[-1][0]
        if base_offset < 0:
            raise MalformedFrame(f"a wrapper has offset {batch.last_offset}, its last message {inner[-1][0]}")
    appended = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
    for offset, found in inner:
        timestamp = batch.max_timestamp if appended and found.magic == 1 else found.timestamp
        yield Record(found.key, found.value, (), timestamp, base_offset + offset)


def _read_wrapper(batch: LegacyBatch, value: bytes | None, max_bytes: int) -> list[tuple[int, _Message]]:
    """The messages of a wrapper with their offsets as they stand there. A torn last one is passed over,
    as in Kafka.
    """
    if batch.compression is Compression.ZSTD or value is None:
        raise MalformedFrame("a wrapper of magic 0 or 1 has no value, or zstd's, which is younger")
    data = decompress(batch.compression, value, max_bytes, broken_lz4_header=batch.magic == 0)
    inner: list[tuple[int, _Message]] = []
    position = 0
    while position + LOG_OVERHEAD_BYTES <= len(data):
        offset, length = _OFFSET_AND_LENGTH.unpack_from(data, position)
        if length < _MIN_LENGTHS[0]:
            raise MalformedFrame(f"a message has length {length}, less than its header")
        position += LOG_OVERHEAD_BYTES
        if position + length > len(data):
            break
        message_bytes = data[position : position + length]
        if zlib.crc32(message_bytes[_CRC_BYTES:]) != int.from_bytes(message_bytes[:_CRC_BYTES], "big"):
            raise MalformedFrame("a message in a wrapper has a wrong crc")
        message = _read_message(message_bytes)
        if message.attributes & Attributes.COMPRESSION:
            raise MalformedFrame("a wrapper is in a wrapper")
        inner.append((offset, message))
        position += length
    if not inner:
        raise MalformedFrame("a wrapper holds no message")
    return inner


def _read_message(data: bytes) -> _Message:
    """A message from its checksum on."""
    try:
        _, magic, attributes = _CRC_AND_MAGIC.unpack_from(data)
        if magic not in (0, 1):
            raise MalformedFrame(f"a message has magic {magic} instead of 0 or 1")
        position = _CRC_AND_MAGIC.size
        timestamp = NO_TIMESTAMP
        if magic == 1:
            (timestamp,) = _INT64.unpack_from(data, position)
            position += 8
        key, position = _read_field(data, position)
        value, position = _read_field(data, position)
    except struct.error:
        raise MalformedFrame("a message ends early") from None
    if position != len(data):
        raise MalformedFrame(f"a message of {len(data)} bytes has fields of {position}")
    return _Message(magic, attributes, timestamp, key, value)


def _read_field(data: bytes, position: int) -> tuple[bytes | None, int]:
    (size,) = _INT32.unpack_from(data, position)
    position += 4
    if size < 0:
        return None, position
    return data[position : position + size], position + size
