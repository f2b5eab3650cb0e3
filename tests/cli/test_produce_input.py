"""What becomes of a line, of a JSON object, of a time: nothing is sent anywhere."""

from __future__ import annotations

import pytest

from barnabas.cli.failures import WrongUsage
from barnabas.cli.produce.json_records import parse_record
from barnabas.cli.produce.lines import BadLine, LineFormat, Parsed, java_lines
from barnabas.cli.times import moment_ms, parse_moment

NOW = 1_800_000_000_000


def properties(text: str) -> dict[str, str]:
    return dict(pair.split("=", 1) for pair in text.split())


@pytest.mark.parametrize(
    ("given", "line", "expected"),
    [
        ("", b"a\tb", Parsed(None, b"a\tb", [])),
        ("", b"", Parsed(None, b"", [])),
        ("", b"\xff\xfe", Parsed(None, b"\xff\xfe", [])),
        ("parse.key=true", b"k\tv", Parsed(b"k", b"v", [])),
        ("parse.key=TRUE", b"k\tv\tw", Parsed(b"k", b"v\tw", [])),
        ("parse.key=true key.separator=::", b"k::", Parsed(b"k", b"", [])),
        ("parse.key=true ignore.error=true", b"v", Parsed(None, b"v", [])),
        ("parse.key=true null.marker=NIL", b"NIL\tNIL", Parsed(None, None, [])),
        ("null.marker=NIL", b"NIL", Parsed(None, None, [])),
        ("parse.headers=true", b"a:1,b:\tv", Parsed(None, b"v", [("a", b"1"), ("b", b"")])),
        ("parse.headers=true", b"a:1:2,a:3\tv", Parsed(None, b"v", [("a", b"1:2"), ("a", b"3")])),
        ("parse.headers=true null.marker=NIL", b"a:NIL\tv", Parsed(None, b"v", [("a", None)])),
        ("parse.headers=true null.marker=NIL", b"NIL\tv", Parsed(None, b"v", [])),
        ("parse.headers=true ignore.error=true", b"a\tv", Parsed(None, b"v", [("a", None)])),
        ("parse.headers=true headers.separator=[;,]", b"a:1;b:2,c:3\tv", [("a", b"1"), ("b", b"2"), ("c", b"3")]),
        ("parse.headers=true", b"a:1,,\tv", [("a", b"1")]),
        (
            "parse.headers=true parse.key=true headers.delimiter=| key.separator=/ headers.key.separator==",
            b"a=1|k/v",
            Parsed(b"k", b"v", [("a", b"1")]),
        ),
    ],
)
def test_a_line_is_taken_apart(given: str, line: bytes, expected: Parsed | list[tuple[str, bytes]]) -> None:
    found = LineFormat(properties(given)).parse(line, 1)
    assert (found if isinstance(expected, Parsed) else found.headers) == expected


@pytest.mark.parametrize(
    ("given", "line", "words"),
    [
        ("parse.key=true", b"v", "Line 7 has no key separator '\\t': 'v'."),
        ("parse.headers=true", b"v", "Line 7 has no headers delimiter '\\t': 'v'."),
        ("parse.headers=true", b"a\tv", "Line 7 has a header without ':' behind its name: 'a'."),
        ("parse.headers=true null.marker=N", b"N:1\tv", "a name cannot be null"),
    ],
)
def test_what_is_missing_in_a_line_is_said(given: str, line: bytes, words: str) -> None:
    with pytest.raises(BadLine) as caught:
        LineFormat(properties(given)).parse(line, 7)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    "given",
    [
        "headers.delimiter=,",
        "headers.delimiter=:",
        "headers.separator=:",
        "null.marker=, ",
        "null.marker=:",
        "null.marker=- key.separator=-",
        "null.marker=- headers.delimiter=-",
        "headers.separator=[",
    ],
)
def test_separators_that_are_the_same_are_refused(given: str) -> None:
    with pytest.raises(WrongUsage):
        LineFormat(properties(given))


def test_lines_end_as_in_java() -> None:
    blocks = [b"a\n", b"\n", b"b\r\n", b"c\rd\n", b"e\r\r\n", b"f"]
    assert list(java_lines(blocks)) == [b"a", b"", b"b", b"c", b"d", b"e", b"", b"f"]
    assert list(java_lines([])) == []


@pytest.mark.parametrize(
    ("line", "expected"),
    [
        ('{"value": "v"}', Parsed(None, b"v", [])),
        ("{}", Parsed(None, None, [])),
        ('{"key": null, "value": null}', Parsed(None, None, [])),
        ('{"value": {"b": 1.10, "a": [1e400, "\\u00e9"]} }', Parsed(None, b'{"b": 1.10, "a": [1e400, "\\u00e9"]}', [])),
        ('{"value": "\\u00e9\\n"}', Parsed(None, "é\n".encode(), [])),
        ('{"key": 3, "value": false}', Parsed(b"3", b"false", [])),
        ('{"key_base64": "/w==", "value_base64": ""}', Parsed(b"\xff", b"", [])),
        ('{"value": "v", "headers": {"a": "1", "n": null}}', Parsed(None, b"v", [("a", b"1"), ("n", None)])),
        (
            '{"value": "v", "headers": [{"key": "a", "value": "1"}, {"key": "a", "value_base64": "/w=="}]}',
            Parsed(None, b"v", [("a", b"1"), ("a", b"\xff")]),
        ),
        ('{"topic": "t", "offset": 9, "partition": 2, "timestamp": 5, "value": ""}', Parsed(None, b"", [], 2, 5)),
    ],
)
def test_a_json_object_is_a_record(line: str, expected: Parsed) -> None:
    assert parse_record(line.encode(), 1) == expected


@pytest.mark.parametrize(
    ("line", "words"),
    [
        (b"{", "Line 3 is no JSON ("),
        (b"\xff", "Line 3 is no JSON ("),
        (b"[" * 100_000, "Line 3 is no JSON"),
        (b"3", "no JSON object"),
        (b'{"user": 1}', "Line 3 has user, which is none of headers, key,"),
        (b'{"value": "a", "value_base64": "YQ=="}', "both value and value_base64"),
        (b'{"value_base64": "a"}', "no base64"),
        (b'{"value_base64": 3}', "no base64"),
        (b'{"key": "\\ud800"}', "no JSON"),
        (b'{"headers": 3}', "headers that are neither"),
        (b'{"headers": [1]}', "has a header that is not"),
        (b'{"headers": [{"key": "a", "wert": 1}]}', "header that is not"),
        (b'{"partition": -1}', "Line 3 has a partition that is no number"),
        (b'{"timestamp": true}', "timestamp that is no number"),
        (b'{"timestamp": 9223372036854775808}', "timestamp that is no number"),
    ],
)
def test_what_is_wrong_with_an_object_is_said(line: bytes, words: str) -> None:
    with pytest.raises(BadLine) as caught:
        parse_record(line, 3)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("now", NOW),
        ("0", 0),
        ("1700000000123", 1_700_000_000_123),
        ("10m", NOW - 600_000),
        ("1h30m", NOW - 5_400_000),
        ("1.5s", NOW - 1500),
        ("250ms", NOW - 250),
        ("2w", NOW - 14 * 86_400_000),
        ("PT10M", NOW - 600_000),
        ("1970-01-01T00:00:01Z", 1000),
        ("1970-01-02", 86_400_000),
        ("1970-01-02T00:00:00.123+01:00", 86_400_123 - 3_600_000),
    ],
)
def test_a_moment_is_read(text: str, expected: int) -> None:
    assert parse_moment(text, NOW) == expected


@pytest.mark.parametrize("text", ["2026-13-01", "25:00", "soon", "", "-5m", "10 parsecs"])
def test_what_is_no_moment_is_wrong_usage(text: str) -> None:
    with pytest.raises(WrongUsage, match=f"--since {text} is no time"):
        moment_ms(text, "--since")
