"""Where the records of a batch lie in its unpacked bytes, with what a compaction asks of them and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.varint import read_varint

__all__ = ["Span", "record_spans"]

# The signed values of varints of one byte.
_SMALL = tuple((byte >> 1) ^ -(byte & 1) for byte in range(0x80))


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
        length, attributes = _signed(data, position)
        end = attributes + length
        if length < 0 or end > size:
            raise MalformedFrame(f"a record of {length} bytes exceeds its batch")
        byte = data[attributes + 1]
        if byte < 0x80:
            timestamp_delta, rest = _SMALL[byte], attributes + 2
        else:
            timestamp_delta, rest = read_varint(data, attributes + 1, 64)
        byte = data[rest]
        if byte < 0x80:
            offset_delta, position = _SMALL[byte], rest + 1
        else:
            offset_delta, position = read_varint(data, rest)
        byte = data[position]
        if byte < 0x80:
            key_size, position = _SMALL[byte], position + 1
        else:
            key_size, position = read_varint(data, position)
        key = None
        if key_size >= 0:
            key = data[position : position + key_size]
            position += key_size
        byte = data[position]
        if byte < 0x80:
            value_size, position = _SMALL[byte], position + 1
        else:
            value_size, position = _signed(data, position)
        if position + max(value_size, 0) >= end:
            raise MalformedFrame(f"a record of {length} bytes is shorter than its fields")
        yield Span(start, end, attributes, rest, timestamp_delta, offset_delta, key, value_size >= 0)
        position = end
    if position != size:
        raise MalformedFrame(f"{size - position} bytes follow the records of a batch")


def _signed(data: bytes, position: int) -> tuple[int, int]:
    byte = data[position]
    if byte < 0x80:
        return _SMALL[byte], position + 1
    second = data[position + 1]
    if second < 0x80:
        raw = byte & 0x7F | second << 7
        return (raw >> 1) ^ -(raw & 1), position + 2
    return read_varint(data, position)
