"""A message as JSON, as Kafka's own converters write it: what its tools print of the records in its logs.

Names are Kafka's own again, bytes are base64, uuids text. A field that the version does not have is left out, and a
tagged one that says nothing, as on the wire; of batches of records the size stands for them.
"""

from __future__ import annotations

import json
import re
from base64 import b64encode
from functools import cache
from typing import Any

from barnabas.protocol.schema import Field, Struct, Uuid

__all__ = ["as_json", "compact", "java_double"]

_NOT_QUITE_CAMEL = {"kraft_version": "kRaftVersion", "kraft_version_feature": "kRaftVersionFeature"}
_SMALLEST_PLAIN, _LARGEST_PLAIN = 1e-3, 1e7


def as_json(message: Struct, version: int) -> dict[str, Any]:
    found = {}
    for field in message.__fields__:
        if version not in field.versions:
            continue
        value = getattr(message, field.name)
        if field.tag is not None and _is_default(value, field):
            continue
        if field.type.name == "record_bytes" and value is not None:
            found[f"{_name(field.name)}SizeInBytes"] = len(value)
            continue
        found[_name(field.name)] = _value(value, field, version)
    return found


def compact(value: Any) -> str:
    """In one line without blanks, as Kafka's tools print it."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{_string(name)}:{compact(each)}" for name, each in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(compact, value)) + "]"
    if isinstance(value, float):
        return java_double(value)
    return _string(value) if isinstance(value, str) else json.dumps(value)


def java_double(value: float) -> str:
    """Java's Double.toString: 1.0E10 where Python says 10000000000.0."""
    if value != value or value in (float("inf"), float("-inf")):
        return '"NaN"' if value != value else f'"{"-" if value < 0 else ""}Infinity"'
    if value == 0 or _SMALLEST_PLAIN <= abs(value) < _LARGEST_PLAIN:
        return f"{float(value)!r}"
    digits, _, exponent = f"{value!r}".lower().partition("e")
    sign, digits = ("-", digits[1:]) if digits.startswith("-") else ("", digits)
    whole, _, fraction = digits.partition(".")
    power = int(exponent or 0) + len(whole) - 1
    figures = whole + fraction
    stripped = figures.lstrip("0")
    power -= len(figures) - len(stripped)
    stripped = stripped.rstrip("0") or "0"
    return f"{sign}{stripped[0]}.{stripped[1:] or '0'}E{power}"


def _string(text: str) -> str:
    return re.sub(r"\\u[0-9a-f]{4}", lambda found: "\\u" + found[0][2:].upper(), json.dumps(text, ensure_ascii=False))


@cache
def _name(name: str) -> str:
    if name in _NOT_QUITE_CAMEL:
        return _NOT_QUITE_CAMEL[name]
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


def _is_default(value: Any, field: Field) -> bool:
    if not field.fresh_default:
        return bool(value == field.default)
    return value is not None and bool(value == ([] if field.type.is_array else type(value)()))


def _value(value: Any, field: Field, version: int) -> Any:
    if value is None:
        return None
    if field.type.is_array:
        return [_value(each, field.element, version) for each in value]
    if isinstance(value, Struct):
        return as_json(value, version)
    if isinstance(value, Uuid):
        return str(value)
    if isinstance(value, bytes | bytearray | memoryview):
        return b64encode(value).decode()
    return value
