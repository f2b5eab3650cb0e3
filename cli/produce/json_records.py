"""A record as a line of JSON, in the form in which `barnabas consume --json` writes them.

    {"key": "alice", "value": {"id": 3}, "headers": [{"key": "trace", "value": "7"}], "partition": 0, "timestamp": 1}

A key or value that is no text is sent as it is written there, to the letter; `key_base64` and `value_base64` are for
bytes.
"""

from __future__ import annotations

import base64
import binascii
from collections.abc import Mapping
from typing import Any

import msgspec

from barnabas.cli.produce.lines import BadLine, Parsed

__all__ = ["parse_record"]

_OF_THE_LOG = {"offset", "timestamp_type", "topic", "leader_epoch"}
"""What consume writes too and only a broker gives."""
_FIELDS = {"key", "key_base64", "value", "value_base64", "headers", "partition", "timestamp"}
_HEADER_FIELDS = {"key", "value", "value_base64"}
_INT32, _INT64 = 1 << 31, 1 << 63


def parse_record(line: bytes, number: int) -> Parsed:
    """BadLine says what is wrong on which line."""
    found = _object(line, number)
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


_NO_OBJECT = 'is no JSON object: write {"value": ...}'
_NO_HEADER = 'has a header that is not {"key": ..., "value": ...}'


def _object(text: bytes, number: int, otherwise: str = _NO_OBJECT) -> dict[str, msgspec.Raw]:
    """Its members as they are written."""
    try:
        return msgspec.json.decode(text, type=dict[str, msgspec.Raw])
    except msgspec.ValidationError:
        raise BadLine(f"Line {number} {otherwise}.") from None
    except (ValueError, RecursionError) as error:
        raise BadLine(f"Line {number} is no JSON ({error}).") from None


def _bytes(found: Mapping[str, msgspec.Raw], name: str, number: int) -> bytes | None:
    value = _own_bytes(found.get(name), number)
    coded = _plain(found.get(f"{name}_base64"), number)
    if coded is None:
        return value
    if value is not None:
        raise BadLine(f"Line {number} has both {name} and {name}_base64.")
    try:
        return base64.b64decode(coded, validate=True)
    except (binascii.Error, TypeError, ValueError):
        raise BadLine(f"Line {number} has a {name}_base64 that is no base64.") from None


def _own_bytes(raw: msgspec.Raw | None, number: int) -> bytes | None:
    """A text's, or those that are written there; msgspec has looked whether they are JSON."""
    written = b"null" if raw is None else bytes(raw)
    if written == b"null":
        return None
    return str(_plain(raw, number)).encode() if written.startswith(b'"') else written


def _plain(raw: msgspec.Raw | None, number: int) -> Any:
    if raw is None:
        return None
    try:
        return msgspec.json.decode(raw)
    except (ValueError, RecursionError) as error:
        raise BadLine(f"Line {number} is no JSON ({error}).") from None


def _headers(raw: msgspec.Raw | None, number: int) -> list[tuple[str, bytes | None]]:
    """A list, since names may come again; or an object, for people."""
    found = _plain(raw, number)
    if found is None:
        return []
    assert raw is not None
    if isinstance(found, dict):
        own = _object(bytes(raw), number)
        return [(name, _bytes({"value": value}, "value", number)) for name, value in own.items()]
    if not isinstance(found, list):
        raise BadLine(f'Line {number} has headers that are neither an object nor a list of {{"key", "value"}}.')
    headers = []
    for header in msgspec.json.decode(raw, type=list[msgspec.Raw]):
        own = _object(bytes(header), number, _NO_HEADER)
        name = _plain(own.get("key"), number)
        if not isinstance(name, str) or set(own) - _HEADER_FIELDS:
            raise BadLine(f"Line {number} {_NO_HEADER}.")
        headers.append((name, _bytes(own, "value", number)))
    return headers


def _integer(found: Mapping[str, msgspec.Raw], name: str, number: int, limit: int) -> int | None:
    value = _plain(found.get(name), number)
    if value is None:
        return None
    if not isinstance(value, int) or isinstance(value, bool) or not 0 <= value < limit:
        raise BadLine(f"Line {number} has a {name} that is no number from 0 on.")
    return value
