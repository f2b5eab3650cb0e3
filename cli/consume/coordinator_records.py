"""Records of Kafka's own topics as JSON: what its own formatters for offsets, groups and others print."""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.cli.consume.formatter import Formatter, Record
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.log_records import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorLog,
    UnknownRecord,
)
from barnabas.protocol.schema import Data, Field, Struct, Uuid

__all__ = ["FORMATTERS", "coordinator_formatter", "data_as_json"]


class _Kind(NamedTuple):
    log: CoordinatorLog
    types: frozenset[int] | None
    """Of records that are printed; None: all."""


FORMATTERS: Mapping[str, _Kind] = {
    "OffsetsMessageFormatter": _Kind(CONSUMER_OFFSETS, frozenset({0, 1})),
    "GroupMetadataMessageFormatter": _Kind(CONSUMER_OFFSETS, frozenset({2})),
    "ShareGroupMessageFormatter": _Kind(CONSUMER_OFFSETS, frozenset({10, 11, 12, 13, 14, 15})),
    "TransactionLogMessageFormatter": _Kind(TRANSACTION_STATE, None),
    "ShareGroupStateMessageFormatter": _Kind(SHARE_GROUP_STATE, None),
}


def coordinator_formatter(name: str, separator: bytes) -> Formatter:
    """Kafka puts nothing between the objects: `separator` is for people."""
    kind = FORMATTERS[name]

    def show(record: Record) -> bytes:
        if record.key is None:
            return b""
        try:
            key = kind.log.decode_key(record.key)
            value = None if record.value is None else kind.log.decode_value(key, record.value)
        except UnknownRecord:
            return b""
        except MalformedFrame as error:
            raise ValueError(f"it is no record of {kind.log.topic}: {error}") from None
        if kind.types is not None and key.__definition__.key not in kind.types:
            return b""
        told = {
            "key": {"type": key.__definition__.key, "data": data_as_json(key, 0)},
            "value": None if value is None else {"version": value[1], "data": data_as_json(*value)},
        }
        return json.dumps(told, ensure_ascii=False, separators=(",", ":")).encode() + separator

    return show


def data_as_json(data: Data | Struct, version: int) -> dict[str, Any]:
    """As Kafka's JSON converters write it: a tagged field only where it is not what it is anyway."""
    told = {}
    for field in type(data).__fields__:
        if version not in field.versions:
            continue
        value = getattr(data, field.name)
        if field.tag is not None and value == _default(field):
            continue
        told[_camel(field.name)] = _plain(value, version)
    return told


def _default(field: Field) -> object:
    if not field.fresh_default:
        return field.default
    return [] if field.type.is_array else None


def _plain(value: Any, version: int) -> Any:
    if isinstance(value, list):
        return [_plain(each, version) for each in value]
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return base64.b64encode(value).decode()
    if isinstance(value, Struct):
        return data_as_json(value, version)
    return value


def _camel(name: str) -> str:
    first, *rest = name.split("_")
    return sys.intern(first + "".join(word.capitalize() for word in rest))
