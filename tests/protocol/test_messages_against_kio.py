"""Every API at every version and in both directions: our bytes are kio's, and so are our values.

kio is somebody else's codec, generated from the same schemas by other means.
"""

from __future__ import annotations

import io
import sys
from dataclasses import fields
from datetime import datetime, timedelta
from enum import IntEnum
from functools import cache
from typing import Any
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st
from kio.index import load_request_schema, load_response_schema
from kio.schema.errors import ErrorCode as KioErrorCode
from kio.serial import entity_reader, entity_writer

from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.schema import Field, Message, Struct

from .generated import Values, examples, messages

LATEST_TIME_MS = 253_402_300_799_000  # kio keeps times as datetime, which ends with the year 9999

LONGEST_TIME_MS = 1 << 51  # kio writes longer timedeltas through a float, which loses their last digits


def kio_class(message: type[Message], version: int) -> type[Any]:
    load = load_request_schema if message.__name__.endswith("Request") else load_response_schema
    return load(message.__definition__.key, version)


def kio_name(name: str) -> str:
    """kio's timedeltas lose the unit from their name; and it spells two words otherwise."""
    return "id_" if name == "id" else name.removesuffix("_ms").replace("kraft_", "k_raft_")


@cache
def kio_types(entity: type[Any]) -> dict[str, Any]:
    return {each.name: each.metadata.get("kafka_type") for each in fields(entity)}


def wishes(entity: type[Any]) -> Values:
    """Some of our integers are enumerations or times for kio, with fewer values."""
    types: dict[tuple[str, str], str] = {}

    def collect(of: type[Any]) -> None:
        for each in fields(of):
            inner = [each.type, *getattr(each.type, "__args__", ())]
            for part in inner:
                if hasattr(part, "__type__"):
                    collect(part)
            types[of.__name__, each.name] = each.metadata.get("kafka_type", "")

    collect(entity)

    def wish(cls: type[Struct], field: Field) -> st.SearchStrategy[Any] | None:
        name = cls.__name__.removeprefix("Request").removeprefix("Response")
        kind = types.get((cls.__name__, kio_name(field.name))) or types.get((name, kio_name(field.name)))
        if kind == "error_code":
            return st.sampled_from([int(code) for code in KioErrorCode])
        if kind == "datetime_i64":
            return st.integers(0, LATEST_TIME_MS)
        if kind == "timedelta_i64":
            return st.integers(-LONGEST_TIME_MS, LONGEST_TIME_MS)
        return None

    return wish


def assert_same(ours: Any, theirs: Any) -> None:
    """Our value and kio's mean the same, down to every field."""
    if isinstance(ours, Struct):
        names = [field.name for field in fields(theirs)]
        assert names == [kio_name(f.name) for f in ours.__fields__ if kio_name(f.name) in names]
        for field in ours.__fields__:
            if kio_name(field.name) in names:
                our, their = getattr(ours, field.name), getattr(theirs, kio_name(field.name))
                if our is None and their is not None:
                    # An absent tagged struct, for which kio has an object of defaults.
                    our = getattr(sys.modules[type(ours).__module__], field.type.name)()
                assert_same(our, their)
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same(our, their)
    elif isinstance(theirs, timedelta):
        assert ours == theirs // timedelta(milliseconds=1)
    elif isinstance(theirs, datetime):
        assert ours == round(theirs.timestamp() * 1000)
    elif isinstance(theirs, UUID):
        assert ours == theirs.bytes
    elif isinstance(theirs, IntEnum):
        assert ours == int(theirs)
    elif theirs is None:
        assert ours in (None, bytes(16), -1)  # null, the zero uuid, and "no time"
    else:
        assert ours == theirs


CASES = [
    (cls, version)
    for api in APIS.values()
    for cls in (api.request, api.response)
    for version in range(api.first, api.last + 1)
]


def test_the_cases_are_all_there_are() -> None:
    assert len({cls for cls, _ in CASES}) == 2 * len(APIS) == 178
    assert len(CASES) == 604


@pytest.mark.parametrize(("cls", "version"), CASES, ids=lambda value: getattr(value, "__name__", f"v{value}"))
def test_equal_to_kio(cls: type[Message], version: int) -> None:
    entity = kio_class(cls, version)
    read, write = entity_reader(entity), entity_writer(entity)

    @examples(30, 2_000)
    @given(message=messages(cls, version, wishes(entity)))
    def check(message: Message) -> None:
        data = encode(message, version)
        theirs, size = read(data, 0)
        assert size == len(data)
        assert_same(message, theirs)
        written = io.BytesIO()
        write(written, theirs)
        assert data == written.getvalue()
        assert decode(cls, version, data) == message

    check()
