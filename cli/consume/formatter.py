"""What Kafka's own formatters print of a record, byte for byte."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from barnabas.cli.consume.deserializers import Deserializer, deserializer

__all__ = ["DefaultFormatter", "Formatter", "Record", "nothing"]


class Record(Protocol):
    """As kafka-python has it."""

    @property
    def topic(self) -> str: ...
    @property
    def partition(self) -> int: ...
    @property
    def offset(self) -> int: ...
    @property
    def timestamp(self) -> int: ...
    @property
    def timestamp_type(self) -> int: ...
    @property
    def key(self) -> bytes | None: ...
    @property
    def value(self) -> bytes | None: ...
    @property
    def headers(self) -> Sequence[tuple[str, bytes | None]]: ...


Formatter = Callable[[Record], bytes]
"""What is written for a record; ValueError for one that it cannot read."""

_TIMESTAMP_TYPES = {0: b"CreateTime:", 1: b"LogAppendTime:"}
_KNOWN = {
    "headers.deserializer",
    "headers.separator",
    "key.deserializer",
    "key.separator",
    "line.separator",
    "null.literal",
    "print.delivery",
    "print.epoch",
    "print.headers",
    "print.key",
    "print.offset",
    "print.partition",
    "print.timestamp",
    "print.value",
    "value.deserializer",
}


def nothing(_: Record) -> bytes:
    """NoOpMessageFormatter."""
    return b""


class DefaultFormatter:
    def __init__(self, properties: Mapping[str, str]) -> None:
        """WrongUsage for a deserializer that is not there."""

        def is_true(name: str, default: bool = False) -> bool:
            return properties[name].strip().lower() == "true" if name in properties else default

        def literal(name: str, default: str) -> bytes:
            return properties.get(name, default).encode("utf-8", "surrogateescape")

        self._value = is_true("print.value", default=True)
        self._key = is_true("print.key")
        self._key_separator = literal("key.separator", "\t")
        self._line_separator = literal("line.separator", "\n")
        self._headers_separator = literal("headers.separator", ",")
        self._null = literal("null.literal", "null")
        self._deserializers = {
            name: _own_deserializer(properties, f"{name}.deserializer") for name in ("key", "value", "headers")
        }
        columns: list[tuple[bool, Formatter]] = [
            (is_true("print.timestamp"), _timestamp),
            (is_true("print.partition"), lambda record: b"Partition:%d" % record.partition),
            (is_true("print.offset"), lambda record: b"Offset:%d" % record.offset),
            # Kafka's tool hands its formatter a copy of the record that has lost both.
            (is_true("print.delivery"), lambda _: b"Delivery:NOT_PRESENT"),
            (is_true("print.epoch"), lambda _: b"Epoch:NOT_PRESENT"),
            (is_true("print.headers"), self._headers),
            (self._key, lambda record: self._shown("key", record.key)),
            (self._value, lambda record: self._shown("value", record.value)),
        ]
        self._columns = [column for wanted, column in columns if wanted]
        self.is_plain_value = self._columns == [columns[-1][1]] and self._deserializers["value"] is None

    @staticmethod
    def unknown(properties: Mapping[str, str]) -> list[str]:
        prefixes = ("key.deserializer.", "value.deserializer.", "headers.deserializer.")
        return sorted(name for name in properties if name not in _KNOWN and not name.startswith(prefixes))

    def __call__(self, record: Record) -> bytes:
        if not self._columns:
            return b""
        return self._key_separator.join(column(record) for column in self._columns) + self._line_separator

    def _shown(self, what: str, data: bytes | None) -> bytes:
        """Kafka hands a deserializer the null literal where there is nothing."""
        read = self._deserializers[what]
        present = self._null if data is None else data
        return present if read is None else read(present).encode("utf-8", "replace")

    def _headers(self, record: Record) -> bytes:
        if not record.headers:
            return b"NO_HEADERS"
        return self._headers_separator.join(
            f"{name}:".encode("utf-8", "replace") + self._shown("headers", value) for name, value in record.headers
        )


def _timestamp(record: Record) -> bytes:
    kind = _TIMESTAMP_TYPES.get(record.timestamp_type)
    return b"NO_TIMESTAMP" if kind is None else kind + b"%d" % record.timestamp


def _own_deserializer(properties: Mapping[str, str], name: str) -> Deserializer | None:
    if not properties.get(name):
        return None
    own = {key.removeprefix(f"{name}."): value for key, value in properties.items() if key.startswith(f"{name}.")}
    return deserializer(properties[name], own, is_key=name.startswith("key."))
