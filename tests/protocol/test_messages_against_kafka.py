"""Every message and record that Kafka 4.3.1 has classes for, read and written again by those very classes."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given

from barnabas.protocol.apis import APIS
from barnabas.protocol.codec import decode, decode_from, encode
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.kafka_json import as_json, compact
from barnabas.protocol.messages.metadata import MetadataRequest
from barnabas.protocol.schema import Data
from tests.kafka.java_oracle import MessageOracle

from .generated import declared, every_version, examples, messages
from .kafka_json import assert_same

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
    @examples(15, 500)
    @given(message=messages(cls, version, unknown_tags=True))
    def check(message: Data) -> None:
        data = encode(message, version)
        theirs = message_oracle.parse(kafkas_name(cls.__name__), version, data)
        assert (theirs.encoded, theirs.leftover) == (data, 0)
        if theirs.json is not None:
            assert_same(message, theirs.json, version)
            assert json.loads(compact(as_json(message, version))) == theirs.json
        assert decode(cls, version, data) == message

    check()


@pytest.mark.parametrize(("cls", "version"), CASES, ids=lambda value: getattr(value, "__name__", f"v{value}"))
def test_our_defaults_are_kafkas(message_oracle: MessageOracle, cls: type[Data], version: int) -> None:
    ours = encode(cls(), version)
    assert ours == message_oracle.default(kafkas_name(cls.__name__), version)
    assert decode(cls, version, ours) == cls()


@pytest.mark.parametrize(
    ("data", "topics"),
    [("ffffffff0f000000", None), ("ffffffff7f000000", None), ("010000ffffffff0f", []), ("0100000000", [])],
)
def test_varints_overflow_as_in_kafka(message_oracle: MessageOracle, data: str, topics: list[Any] | None) -> None:
    assert message_oracle.parse("MetadataRequest", 12, bytes.fromhex(data)).json["topics"] == topics
    assert decode_from(MetadataRequest, 12, bytes.fromhex(data))[0].topics == topics


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
