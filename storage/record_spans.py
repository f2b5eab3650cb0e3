"""Where the records of a batch lie in its unpacked bytes, with what a compaction asks of them and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.varint import ONE_BYTE_SIGNED, read_varint

__all__ = ["Span", "record_spans"]


class Span(NamedTuple):
    start: int
    end: int
    attributes: int
    """Where the record begins behind its length."""
    rest: int
    """Where the offset and all that follows it begin, behind the timestamp."""
    timestamp_delta: int
    offset_delta: int
    key: bytes | None
    has_value: bool


def record_spans(data: bytes, count: int) -> Iterator[Span]:
    """The records in turn. Their headers are not looked at; MalformedFrame if anything else is out of bounds."""
    try:
        yield from _spans(data, count)
    except IndexError:
        raise MalformedFrame("a record ends early") from None


def _spans(data: bytes, count: int) -> Iterator[Span]:
    """Varints of one byte or two are read in place: a call for each would double the time of a compaction."""
    position = 0
    size = len(data)
    for _ in range(count):
        start = position
        length, attributes = read_varint(data, position)
        end = attributes + length
        if length < 0 or end > size:
            raise MalformedFrame(f"a record of {length} bytes exceeds its batch")
        byte = data[attributes + 1]
        if byte < 0x80:
            timestamp_delta, rest = ONE_BYTE_SIGNED[byte], attributes + 2
        else:
            timestamp_delta, rest = read_varint(data, attributes + 1, 64)
        byte = data[rest]
        if byte < 0x80:
            offset_delta, position = ONE_BYTE_SIGNED[byte], rest + 1
        else:
            offset_delta, position = read_varint(data, rest)
        byte = data[position]
        if byte < 0x80:
            key_size, position = ONE_BYTE_SIGNED[byte], position + 1
        else:
            key_size, position = read_varint(data, position)
        key = None
        if key_size >= 0:
            key = data[position : position + key_size]
            position += key_size
        byte = data[position]
        if byte < 0x80:
            value_size, position = ONE_BYTE_SIGNED[byte], position + 1
        else:
            value_size, position = read_varint(data, position)
        if position + max(value_size, 0) >= end:
            raise MalformedFrame(f"a record of {length} bytes is shorter than its fields")
        yield Span(start, end, attributes, rest, timestamp_delta, offset_delta, key, value_size >= 0)
        position = end
    if position != size:
        raise MalformedFrame(f"{size - position} bytes follow the records of a batch")
