"""A record as a line of JSON, in the form in which `barnabas consume --json` writes them.

    {"key": "alice", "value": {"id": 3}, "headers": [{"key": "trace", "value": "7"}], "partition": 0, "timestamp": 1}

A value that is no text is written as compact JSON; `key_base64` and `value_base64` are for bytes.
"""

from __future__ import annotations

import base64
import binascii
import json
from typing import Any

from barnabas.cli.produce.lines import BadLine, Parsed

__all__ = ["parse_record"]

_OF_THE_LOG = {"offset", "timestamp_type", "topic", "leader_epoch"}
"""What consume writes too and only a broker gives."""
_FIELDS = {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp"}
_HEADER_FIELDS = {"key", "value", "value_base64"}
_INT32, _INT64 = 1 << 31, 1 << 63


def parse_record(line: bytes, number: int) -> Parsed:
    """BadLine says what is wrong on which line."""
    try:
        found = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"Line {number} is no JSON ({error}).") from None
    if not isinstance(found, dict):
        raise BadLine(f'Line {number} is no JSON object: write {{"value": ...}}.')
    unknown = sorted(set(found) - _FIELDS - _OF_THE_LOG)
    if unknown:
        raise BadLine(
            f"Line {number} has {unknown[0]}, which is none of {', '.join(sorted(_FIELDS))}: is it a part of the "
            "value? Without --format json each line is a value."
        )
    return Parsed(
        _bytes(found, "key", number),
        _bytes(found, "value", number),
        _headers(found.get("headers"), number),
        _integer(found, "partition", number, _INT32),
        _integer(found, "timestamp", number, _INT64),
    )


def _bytes(found: dict[str, Any], name: str, number: int) -> bytes | None:
    coded = found.get(f"{name}_base64")
    if coded is not None:
        if found.get(name) is not None:
            raise BadLine(f"Line {number} has both {name} and {name}_base64.")
        try:
            return base64.b64decode(coded, validate=True)
        except (binascii.Error, TypeError, ValueError):
            raise BadLine(f"Line {number} has a {name}_base64 that is no base64.") from None
    value = found.get(name)
    if value is None:
        return None
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False, separators=(",", ":"))
    try:
        return text.encode()
    except UnicodeEncodeError:
        raise BadLine(f"Line {number} has half of a surrogate pair in its {name}: that is no text.") from None


def _headers(found: Any, number: int) -> list[tuple[str, bytes | None]]:
    """A list, since names may come again; or an object, for people."""
    if found is None:
        return []
    if isinstance(found, dict):
        found = [{"key": name, "value": value} for name, value in found.items()]
    if not isinstance(found, list):
        raise BadLine(f'Line {number} has headers that are neither an object nor a list of {{"key", "value"}}.')
    headers = []
    for header in found:
        if not isinstance(header, dict) or not isinstance(header.get("key"), str) or set(header) - _HEADER_FIELDS:
            raise BadLine(f'Line {number} has a header that is not {{"key": ..., "value": ...}}.')
        headers.append((header["key"], _bytes(header, "value", number)))
    return headers


def _integer(found: dict[str, Any], name: str, number: int, limit: int) -> int | None:
    value = found.get(name)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise BadLine(f"Line {number} has a {name} that is no number from 0 on.")
    return value
