"""The log of events: one line for each, whatever is in it, for people and for programs."""

from __future__ import annotations

import io
import json

from barnabas.broker.event_log import Event, EventLog, Level

NOON_MS = 1_700_000_000_123


def written(*events: str, as_json: bool) -> str:
    stream = io.StringIO()
    log = EventLog(stream, as_json=as_json, now_ms=lambda: NOON_MS)
    for event in events:
        log(event)
    return stream.getvalue()


def test_each_event_is_a_line_that_says_when_and_how_grave() -> None:
    lines = written(
        "one", Event("two", Level.WARNING, disk="/d"), Event("three", Level.ERROR), as_json=False
    ).splitlines()
    assert [line.split(maxsplit=2)[2] for line in lines] == ["INFO    one", "WARNING two", "ERROR   three"]
    assert all(".123 " in line for line in lines)


def test_as_json_it_has_fields_too() -> None:
    (line,) = written(Event("the disk\nis full", Level.ERROR, disk="/d", free=0), as_json=True).splitlines()
    assert json.loads(line) == {
        "time": "2023-11-14T22:13:20.123Z",
        "level": "error",
        "message": "the disk\nis full",
        "disk": "/d",
        "free": 0,
    }


def test_a_traceback_stays_one_event() -> None:
    lines = written("failed:\nTraceback\n  File x\n", as_json=False).splitlines()
    assert [line.startswith("    ") for line in lines] == [False, True, True]


def test_nobody_writes_to_the_terminal_with_his_name() -> None:
    told = written("client \x1b[31mred\x1b[0m\r\x07", as_json=False)
    assert told.count("\x1b") == told.count("\r") == told.count("\x07") == 0
    assert r"\x1b[31mred" in told


def test_a_stream_that_is_gone_stops_nobody() -> None:
    stream = io.StringIO()
    stream.close()
    EventLog(stream, as_json=False)("nobody hears it")

    class Full(io.StringIO):
        def write(self, text: str) -> int:
            raise OSError(28, "No space left on device")

    EventLog(Full(), as_json=True)("nobody reads it")
