"""Every message and record that Kafka 4.3.1 has classes for, read and written again by those very classes."""

from __future__ import annotations

from base64 import b64decode
from typing import Any

import pytest
from hypothesis import given

from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import decode, encode
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.generate import snake_case
from barnabas.protocol.schema import Data, Field, Struct
from tests.kafka.java_oracle import MessageOracle

from .generated import declared, every_version, examples, messages

pytestmark = pytest.mark.java


CASES = list(every_version())


def test_no_message_is_missing_and_the_versions_are_kafkas(message_oracle: MessageOracle) -> None:
    ours = {cls.__name__: tuple(cls.__definition__.versions) for cls in declared()}
    kafkas = {each["name"]: (each["lowest"], each["highest"]) for each in message_oracle.schemas()}
    assert {kafkas_name(name): versions for name, versions in ours.items()} == kafkas


def kafkas_name(name: str) -> str:
    """Kafka ends the name of each class with Data, which the oracle leaves away; two schemas end so themselves."""
    return name.removesuffix("Data")


@pytest.mark.parametrize(("cls", "version"), CASES, ids=lambda value: getattr(value, "__name__", f"v{value}"))
def test_kafka_reads_what_we_write(message_oracle: MessageOracle, cls: type[Data], version: int) -> None:
    @examples(15, 2_000)
    @given(message=messages(cls, version, unknown_tags=True))
    def check(message: Data) -> None:
        data = encode(message, version)
        theirs = message_oracle.parse(kafkas_name(cls.__name__), version, data)
        assert (theirs.encoded, theirs.leftover) == (data, 0)
        if theirs.json is not None:
            assert_same(message, theirs.json, version)
        assert decode(cls, version, data) == message

    check()


@pytest.mark.parametrize(("cls", "version"), CASES, ids=lambda value: getattr(value, "__name__", f"v{value}"))
def test_our_defaults_are_kafkas(message_oracle: MessageOracle, cls: type[Data], version: int) -> None:
    ours = encode(cls(), version)
    assert ours == message_oracle.default(kafkas_name(cls.__name__), version)
    assert decode(cls, version, ours) == cls()


def assert_same(ours: Any, theirs: Any, version: int) -> None:
    """Our message and Kafka's JSON of it have the same names and the same values."""
    their_values = {snake_case(name): value for name, value in theirs.items()}
    travelling = {field.name: field for field in ours.__fields__ if version in field.versions}
    for name, field in travelling.items():
        if name in their_values:
            assert_same_value(getattr(ours, name), their_values.pop(name), version)
        elif field.type.name == "record_bytes":
            size = their_values.pop(f"{name}_size_in_bytes")
            assert size == len(getattr(ours, name) or b"")
        else:
            assert field.tag is not None, f"Kafka has no {name}"
            assert is_default(ours, field), f"Kafka takes {name} for its default"
    assert not their_values


def is_default(ours: Struct, field: Field) -> bool:
    return bool(getattr(ours, field.name) == getattr(type(ours)(), field.name))


def assert_same_value(ours: Any, theirs: Any, version: int) -> None:
    if isinstance(ours, Struct):
        assert_same(ours, theirs, version)
    elif isinstance(ours, list):
        assert len(ours) == len(theirs)
        for our, their in zip(ours, theirs, strict=True):
            assert_same_value(our, their, version)
    elif type(ours) is bytes:
        assert ours == b64decode(theirs)
    elif isinstance(ours, bytes):
        assert str(ours) == theirs
    elif isinstance(ours, float):
        assert ours == float(theirs)  # Kafka writes infinity as a string
    else:
        assert ours == theirs


def test_the_errors_are_kafkas(message_oracle: MessageOracle) -> None:
    ours = {(code.value, code.name, code.retriable) for code in ErrorCode}
    assert ours == {(each["code"], each["name"], each["retriable"]) for each in message_oracle.errors()}


def test_the_apis_are_kafkas(message_oracle: MessageOracle) -> None:
    kafkas = message_oracle.apis()
    for theirs in kafkas:
        if theirs["id"] not in APIS:
            assert theirs["id"] in (4, 5, 6, 7)  # ZooKeeper's; Kafka keeps their keys and speaks no version
            continue
        api = APIS[theirs["id"]]
        assert (api.first, api.last_stable, api.last) == (theirs["oldest"], theirs["latestStable"], theirs["latest"])
        assert set(api.listeners) == set(theirs["listeners"])
        versions = range(api.first, api.last + 1)
        assert theirs["requestHeader"] == {str(v): api.request_header_version(v) for v in versions}
        assert theirs["responseHeader"] == {str(v): api.response_header_version(v) for v in versions}
    assert {theirs["id"] for theirs in kafkas} >= APIS.keys()
