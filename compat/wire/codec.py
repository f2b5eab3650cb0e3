"""Messages as bytes and as plain values: dictionaries by Kafka's names of fields, lists, numbers, text, bytes, UUIDs.

A request names what it wants to say. What it leaves out has the schema's default, and what its version cannot say is
left out, so that one request serves every version.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from compat.wire.schemas import Field, Message

__all__ = ["MalformedAnswerError", "Reader", "decode", "encode", "with_length"]

NUMBERS = {
    "bool": struct.Struct(">?"),
    "int8": struct.Struct(">b"),
    "int16": struct.Struct(">h"),
    "uint16": struct.Struct(">H"),
    "int32": struct.Struct(">i"),
    "int64": struct.Struct(">q"),
    "float64": struct.Struct(">d"),
}
ABSENT, PRESENT = b"\xff", b"\x01"
"""Of a struct that may be null."""


class MalformedAnswerError(Exception):
    """A broker answered what its version's schema does not allow."""


def encode(message: Message, version: int, values: Mapping[str, Any]) -> bytes:
    out = bytearray()
    _write_struct(out, message.name, message.fields, version, version in message.flexible, values)
    return bytes(out)


def decode(message: Message, version: int, data: bytes) -> dict[str, Any]:
    reader = Reader(data)
    values = _read_struct(reader, message.fields, version, version in message.flexible)
    if reader.position != len(data):
        raise MalformedAnswerError(f"{len(data) - reader.position} bytes follow {message.name} v{version}: {values}")
    return values


def with_length(data: bytes) -> bytes:
    return struct.pack(">i", len(data)) + data


# Writing


def _write_struct(
    out: bytearray, name: str, fields: Sequence[Field], version: int, flexible: bool, values: Mapping[str, Any]
) -> None:
    unknown = values.keys() - {field.name for field in fields}
    if unknown:
        known = ", ".join(field.name for field in fields)
        raise KeyError(f"{name} has no {', '.join(sorted(unknown))}; it has {known}")
    tagged: list[tuple[int, bytes]] = []
    for field in fields:
        if version not in field.versions:
            continue
        value = values.get(field.name, field.default)
        if version not in field.tagged:
            _write_field(out, field, version, flexible, value)
        elif value != field.default:
            inner = bytearray()
            _write_field(inner, field, version, flexible, value)
            tagged.append((field.tag, bytes(inner)))
    if flexible:
        _write_varint(out, len(tagged))
        for tag, data in sorted(tagged):
            _write_varint(out, tag)
            _write_varint(out, len(data))
            out += data


def _write_field(out: bytearray, field: Field, version: int, flexible: bool, value: Any) -> None:
    nullable = version in field.nullable
    if field.is_array:
        _write_length(out, None if value is None else len(value), flexible, short=False)
        for each in value or ():
            _write_value(out, field, version, flexible, each)
    elif field.is_struct and nullable:
        out += ABSENT if value is None else PRESENT
        if value is not None:
            _write_value(out, field, version, flexible, value)
    else:
        _write_value(out, field, version, flexible, value)


def _write_value(out: bytearray, field: Field, version: int, flexible: bool, value: Any) -> None:
    if field.is_struct:
        _write_struct(out, field.type, field.fields, version, flexible, value)
    elif field.type == "uuid":
        out += value.bytes
    elif field.type in ("string", "bytes", "records"):
        data = value.encode() if isinstance(value, str) else value
        _write_length(out, None if data is None else len(data), flexible, short=field.type == "string")
        out += data or b""
    else:
        out += NUMBERS[field.type].pack(value)


def _write_length(out: bytearray, length: int | None, flexible: bool, *, short: bool) -> None:
    if flexible:
        _write_varint(out, 0 if length is None else length + 1)
    else:
        out += NUMBERS["int16" if short else "int32"].pack(-1 if length is None else length)


def _write_varint(out: bytearray, value: int) -> None:
    while value > 0x7F:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


# Reading


class Reader:
    def __init__(self, data: bytes) -> None:
        self.data = data
        self.position = 0

    def take(self, count: int) -> bytes:
        begin, self.position = self.position, self.position + count
        if self.position > len(self.data):
            raise MalformedAnswerError(f"{count} bytes wanted at {begin}, and there are {len(self.data)} in all")
        return self.data[begin : self.position]

    def number(self, kind: str) -> Any:
        form = NUMBERS[kind]
        return form.unpack(self.take(form.size))[0]

    def varint(self) -> int:
        value = shift = 0
        while True:
            byte = self.take(1)[0]
            value |= (byte & 0x7F) << shift
            if byte < 0x80:
                return value
            shift += 7

    def length(self, flexible: bool, *, short: bool) -> int:
        """-1 for null."""
        if flexible:
            return self.varint() - 1
        length: int = self.number("int16" if short else "int32")
        return length

    def skip_tags(self) -> None:
        for _ in range(self.varint()):
            self.varint()
            self.take(self.varint())


def _read_struct(reader: Reader, fields: Sequence[Field], version: int, flexible: bool) -> dict[str, Any]:
    here = [field for field in fields if version in field.versions]
    values = {
        field.name: field.default if version in field.tagged else _read_field(reader, field, version, flexible)
        for field in here
    }
    if flexible:
        tagged = {field.tag: field for field in here if version in field.tagged}
        for _ in range(reader.varint()):
            tag, data = reader.varint(), reader.take(reader.varint())
            if tag in tagged:
                values[tagged[tag].name] = _read_field(Reader(data), tagged[tag], version, flexible)
            else:
                values[f"unknown tag {tag}"] = data
    return values


def _read_field(reader: Reader, field: Field, version: int, flexible: bool) -> Any:
    if field.is_array:
        length = reader.length(flexible, short=False)
        return None if length < 0 else [_read_value(reader, field, version, flexible) for _ in range(length)]
    if field.is_struct and version in field.nullable and reader.take(1) == ABSENT:
        return None
    return _read_value(reader, field, version, flexible)


def _read_value(reader: Reader, field: Field, version: int, flexible: bool) -> Any:
    if field.is_struct:
        return _read_struct(reader, field.fields, version, flexible)
    if field.type == "uuid":
        return UUID(bytes=reader.take(16))
    if field.type in ("string", "bytes", "records"):
        length = reader.length(flexible, short=field.type == "string")
        data = None if length < 0 else reader.take(length)
        return data.decode() if data is not None and field.type == "string" else data
    return reader.number(field.type)
