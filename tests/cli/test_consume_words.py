"""What consume makes of a record without any broker: conditions, deserializers, Kafka's formatter, and the display."""

from __future__ import annotations

import io
import json
from typing import NamedTuple

import pytest

from barnabas.cli.consume.deserializers import deserializer
from barnabas.cli.consume.display import Pretty, as_object, json_line
from barnabas.cli.consume.formatter import DefaultFormatter
from barnabas.cli.consume.where import condition
from barnabas.cli.failures import WrongUsage
from barnabas.cli.produce.json_records import parse_record


class Record(NamedTuple):
    topic: str = "orders"
    partition: int = 1
    offset: int = 7
    timestamp: int = 1_700_000_000_123
    timestamp_type: int = 0
    key: bytes | None = b"alice"
    value: bytes | None = b'{"user": {"id": 3, "from": null}, "tags": ["a", "b"]}'
    headers: list[tuple[str, bytes | None]] = [("region", b"EU"), ("region", b"US"), ("n", None)]  # noqa: RUF012


@pytest.mark.parametrize(
    "text",
    [
        "value.user.id == 3",
        "2 < value.user.id <= 3",
        'value["user"]["id"] in [1, 2, 3]',
        "value.tags[0] == 'a' and value.tags[-1] == 'b'",
        "'a' in value.tags and 'c' not in value.tags",
        'value.user["from"] == null',
        "value.nothing.at.all == null",
        "value.nothing is None",
        "not value.nothing",
        "value.tags[9] == null",
        "'x' not in value.nothing",
        'key == "alice" or false',
        'key != null and topic == "orders" and partition == 1 and offset == 7 and size > 10',
        'headers.region == "US" and headers.n == null and "region" in headers and "x" not in headers',
        'timestamp == "2023-11-14T22:13:20.123" and timestamp > 5 and timestamp < "now"',
        'starts(key, "al") and ends(key, "ce") and matches(key, "^a.*e$") and len(value.tags) == 2',
        'lower(headers.region) == "us"',
        "'\"id\": 3' in text",
        "value.user.id > -1",
        "len(value.nothing) == null",
    ],
)
def test_a_condition_holds(text: str) -> None:
    assert condition(text)(Record())


@pytest.mark.parametrize(
    "text",
    [
        "value.user.id == '3'",
        "value.user.id < 'a'",
        "value.user > 3",
        "3 in value.user.id",
        "value.user.id.deeper",
        "matches(value.user.id, '3')",
        "starts(key, 3)",
        "key == 'bob'",
        "().__class__",
        "value.__class__",
        "false",
    ],
)
def test_a_condition_does_not_hold(text: str) -> None:
    assert not condition(text)(Record())


def test_a_condition_on_what_is_no_json_sees_text() -> None:
    assert condition("value == 'plain'")(Record(value=b"plain"))
    assert condition("value == null and text == null and key == null")(Record(value=None, key=None))
    assert condition("value == 3 and text == '3'")(Record(value=b"3"))
    assert not condition("value.a == 1")(Record(value=b"[" * 100_000))


@pytest.mark.parametrize(
    "text",
    [
        "",
        "value.user.id = 3",
        "import os",
        "__import__('os')",
        "value.__class__.__mro__()",
        "(lambda: 1)()",
        "[x for x in value]",
        "value if key else 1",
        "value[key]",
        "value[1:2]",
        "f'{key}'",
        "value + 1 == 2",
        "2 ** 9999999",
        "(x := 1)",
        "unknown == 1",
        "len()",
        "len(value, key)",
        "starts(*value)",
        "matches(key, '(')",
        "matches(key, key)",
        "b'x' == key",
        "timestamp > 'soon'",
        "not " * 3000 + "key",
        "(" * 300 + "key" + ")" * 300,
        "key == '" + "x" * 5000 + "'",
        "value.from == 1",
        "key == \0",
    ],
)
def test_what_is_no_condition_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(WrongUsage):
        condition(text)


def test_what_is_refused_says_what_there_is() -> None:
    with pytest.raises(WrongUsage, match="does not understand value \\+ 1: there are headers, key, offset"):
        condition("value + 1 == 2")


@pytest.mark.parametrize(
    ("name", "data", "expected"),
    [
        ("IntegerDeserializer", b"\xff\xff\xff\xfe", "-2"),
        ("LongDeserializer", b"\0\0\0\0\0\0\0\x07", "7"),
        ("ShortDeserializer", b"\0\x07", "7"),
        ("DoubleDeserializer", b"\x3f\xf8\0\0\0\0\0\0", "1.5"),
        ("BooleanDeserializer", b"\1", "true"),
        ("UUIDDeserializer", b"123e4567-e89b-12d3-a456-426614174000", "123e4567-e89b-12d3-a456-426614174000"),
        ("BytesDeserializer", b"a\x00\\\xff~", "a\\x00\\x5C\\xFF~"),
        ("StringDeserializer", b"\xc3\xa9", "é"),
    ],
)
def test_a_deserializer_reads_bytes(name: str, data: bytes, expected: str) -> None:
    for whole in (name, f"org.apache.kafka.common.serialization.{name}"):
        read = deserializer(whole, {})
        assert read is not None
        assert read(data) == expected


@pytest.mark.parametrize(
    "name", ["IntegerDeserializer", "DoubleDeserializer", "BooleanDeserializer", "UUIDDeserializer"]
)
def test_a_deserializer_says_what_it_cannot_read(name: str) -> None:
    read = deserializer(name, {})
    assert read is not None
    with pytest.raises(ValueError):
        read(b"12345")


def test_other_deserializers_and_encodings_are_refused() -> None:
    with pytest.raises(WrongUsage, match=r"io\.confluent\.X is a class of Java's"):
        deserializer("io.confluent.X", {})
    with pytest.raises(WrongUsage, match="there is no encoding klingon"):
        deserializer("StringDeserializer", {"deserializer.encoding": "klingon"})
    read = deserializer("StringDeserializer", {"key.deserializer.encoding": "latin-1"}, is_key=True)
    assert read is not None
    assert read(b"\xe9") == "é"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ("", b"v\n"),
        ("print.value=false", b""),
        ("print.key=true", b"k\tv\n"),
        ("print.key=TRUE print.value=false", b"k\n"),
        ("print.timestamp=true print.partition=true", b"CreateTime:1700000000123\tPartition:1\tv\n"),
        (
            "print.offset=true print.delivery=true print.epoch=true",
            b"Offset:7\tDelivery:NOT_PRESENT\tEpoch:NOT_PRESENT\tv\n",
        ),
        ("print.headers=true null.literal=NIL headers.separator=;", b"region:EU;region:US;n:NIL\tv\n"),
        ("print.key=true key.separator=| line.separator=/", b"k|v/"),
    ],
)
def test_kafkas_formatter(given: str, expected: bytes) -> None:
    formatter = DefaultFormatter(dict(pair.split("=", 1) for pair in given.split()))
    assert formatter(Record(key=b"k", value=b"v")) == expected


def test_kafkas_formatter_where_nothing_is() -> None:
    formatter = DefaultFormatter({"print.headers": "true", "print.key": "true", "print.timestamp": "true"})
    record = Record(key=None, value=None, headers=[], timestamp_type=-1)
    assert formatter(record) == b"NO_TIMESTAMP\tNO_HEADERS\tnull\tnull\n"
    assert DefaultFormatter.unknown({"print.keys": "true", "key.deserializer.x": "1"}) == ["print.keys"]


def test_a_line_of_json_is_what_produce_takes() -> None:
    for record in (Record(), Record(key=None, value=None, headers=[]), Record(key=b"\xff", value=b"")):
        parsed = parse_record(json_line(record), 1)
        assert parsed == (record.key, record.value, record.headers, record.partition, record.timestamp)
    assert as_object(Record(headers=[], value=b"\xff\xfe")) == {
        "topic": "orders",
        "partition": 1,
        "offset": 7,
        "timestamp": 1_700_000_000_123,
        "timestamp_type": "CreateTime",
        "key": "alice",
        "value_base64": "//4=",
        "headers": [],
    }


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def pretty(**fields: object) -> list[str]:
    return Pretty(io.StringIO())(Record(**fields)).decode().splitlines()  # type: ignore[arg-type]


def test_json_is_indented_and_keeps_its_numbers_and_its_names() -> None:
    head, *body = pretty(value=b'{"a":1.10,"a":[1e400,{}],"b":{"c":[]},"d":"\\u00e9\\n","e":null}', headers=[])
    assert head == "orders-1 @ 7  2023-11-14T22:13:20.123Z  key alice"
    assert body == [
        "{",
        '  "a": 1.10,',
        '  "a": [',
        "    1e400,",
        "    {}",
        "  ],",
        '  "b": {',
        '    "c": []',
        "  },",
        '  "d": "é\\n",',
        '  "e": null',
        "}",
    ]


def test_headers_and_bytes_are_readable_and_harmless() -> None:
    head, *body = pretty(key=b"\xff\x01", value=b"\x1b[2Jhi", headers=[("a\x07", b"\xff"), ("b", None)])
    assert head.endswith("key 0xff01  a\\x07=0xff  b=null")
    assert body == ["\\x1b[2Jhi"]
    assert pretty(value=b"two\nlines\there")[1:] == ["two", "lines\there"]
    assert pretty(value=None)[1:] == ["null"]
    assert pretty(value=b"")[1:] == [""]
    assert pretty(value=b"{no json")[1:] == ["{no json"]
    registered = pretty(value=b"\0\0\0\0\x2a" + bytes(range(256)))
    assert registered[1] == "261 bytes, perhaps of schema 42 of a schema registry"
    assert registered[2].endswith("|....*...........|")
    assert registered[-1] == "... and 5 more"


def test_colour_is_for_terminals(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NO_COLOR", raising=False)
    coloured = Pretty(Terminal())(Record()).decode()
    assert "\x1b[36m" in coloured
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b" not in Pretty(Terminal())(Record()).decode()
    assert json.loads(Pretty(io.StringIO())(Record()).decode().partition("\n")[2])["user"]["id"] == 3
