"""Records as people read them, and as programs do.

For people: where a record stands, its time, key and headers, and below them its value: JSON indented, text as it is,
and bytes that are neither in hexadecimal. What would move the cursor of a terminal or colour it is escaped.
"""

from __future__ import annotations

import base64
import json
import os
from collections.abc import Iterator
from typing import Any, TextIO

from barnabas.cli.consume.formatter import Record
from barnabas.cli.moments import show_moment

__all__ = ["Pretty", "as_object", "json_line"]

_TIMESTAMP_TYPES = {0: "CreateTime", 1: "LogAppendTime"}
_ROW = 16
_ROWS = 16
_SCHEMA_ID = slice(1, 5)
_PLAIN, _DIM, _NAME, _TEXT, _NUMBER, _WORD = "\x1b[0m", "\x1b[2m", "\x1b[36m", "\x1b[32m", "\x1b[33m", "\x1b[35m"


def json_line(record: Record) -> bytes:
    return json.dumps(as_object(record), ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def as_object(record: Record) -> dict[str, Any]:
    """`barnabas produce --format json` takes it back."""
    return {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": _TIMESTAMP_TYPES.get(record.timestamp_type, "NoTimestampType"),
        **_text_or_base64("key", record.key),
        **_text_or_base64("value", record.value),
        "headers": [{"key": name, **_text_or_base64("value", value)} for name, value in record.headers],
    }


def _text_or_base64(name: str, data: bytes | None) -> dict[str, str | None]:
    if data is None:
        return {name: None}
    try:
        return {name: data.decode()}
    except UnicodeDecodeError:
        return {f"{name}_base64": base64.b64encode(data).decode()}


class _Literal(str):
    """A number as it was written: 1.10 stays 1.10."""

    __slots__ = ()


class _Members(list[tuple[str, Any]]):
    """Of an object, in their order, those of the same name too."""


class Pretty:
    def __init__(self, stream: TextIO) -> None:
        self._colours = stream.isatty() and "NO_COLOR" not in os.environ

    def __call__(self, record: Record) -> bytes:
        place = f"{record.topic}-{record.partition} @ {record.offset}"
        parts = [self._coloured(_DIM, f"{place}  {show_moment(record.timestamp)}")]
        if record.key is not None:
            parts.append(f"{self._coloured(_DIM, 'key')} {_one_line(record.key)}")
        for name, value in record.headers:
            shown = "null" if value is None else _one_line(value)
            parts.append(f"{self._coloured(_NAME, _escaped(name))}={shown}")
        return f"{'  '.join(parts)}\n{self._value(record.value)}\n".encode("utf-8", "replace")

    def _value(self, data: bytes | None) -> str:
        if data is None:
            return self._coloured(_WORD, "null")
        try:
            text = data.decode()
        except UnicodeDecodeError:
            return _hexadecimal(data)
        if text[:1] in ("{", "["):
            try:
                found = json.loads(text, parse_float=_Literal, parse_int=_Literal, object_pairs_hook=_Members)
                return "".join(self._json(found, "\n"))
            except (ValueError, RecursionError):
                pass
        return _hexadecimal(data) if _is_binary(text) else _escaped(text, keep="\n\t")

    def _json(self, value: Any, newline: str) -> Iterator[str]:
        if isinstance(value, _Members | list) and not value:
            yield "{}" if isinstance(value, _Members) else "[]"
        elif isinstance(value, _Members):
            for at, (name, member) in enumerate(value):
                yield ("," if at else "{") + newline + "  "
                yield self._coloured(_NAME, _quoted(name)) + ": "
                yield from self._json(member, newline + "  ")
            yield newline + "}"
        elif isinstance(value, list):
            for at, member in enumerate(value):
                yield ("," if at else "[") + newline + "  "
                yield from self._json(member, newline + "  ")
            yield newline + "]"
        elif isinstance(value, _Literal):
            yield self._coloured(_NUMBER, value)
        elif isinstance(value, str):
            yield self._coloured(_TEXT, _quoted(value))
        else:
            yield self._coloured(_WORD, json.dumps(value))

    def _coloured(self, colour: str, text: str) -> str:
        return f"{colour}{text}{_PLAIN}" if self._colours else text


def _quoted(text: str) -> str:
    return _escaped(json.dumps(text, ensure_ascii=False))


def _one_line(data: bytes) -> str:
    try:
        return _escaped(data.decode())
    except UnicodeDecodeError:
        return "0x" + data.hex()


def _escaped(text: str, keep: str = "") -> str:
    return "".join(letter if letter.isprintable() or letter in keep else ascii(letter)[1:-1] for letter in text)


def _is_binary(text: str) -> bool:
    """Text of control characters is text by chance."""
    odd = sum(not letter.isprintable() and not letter.isspace() for letter in text)
    return odd > len(text) // 4 or "\0" in text


def _hexadecimal(data: bytes) -> str:
    lines = []
    if data[:1] == b"\0" and len(data) > _SCHEMA_ID.stop:
        # What Confluent's serializers put before Avro, Protobuf and JSON Schema.
        schema = int.from_bytes(data[_SCHEMA_ID], "big")
        lines.append(f"{len(data)} bytes, perhaps of schema {schema} of a schema registry")
    else:
        lines.append(f"{len(data)} bytes")
    for start in range(0, min(len(data), _ROW * _ROWS), _ROW):
        row = data[start : start + _ROW]
        letters = "".join(chr(byte) if 32 <= byte < 127 else "." for byte in row)
        lines.append(f"{start:08x}  {row.hex(' '):<{3 * _ROW}} |{letters}|")
    if len(data) > _ROW * _ROWS:
        lines.append(f"... and {len(data) - _ROW * _ROWS} more")
    return "\n".join(lines)
