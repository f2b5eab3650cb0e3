"""The report: a page that any browser can show, with what the audit found and nothing from elsewhere."""

from __future__ import annotations

import re
from dataclasses import replace
from html.parser import HTMLParser
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.auditing.comparing import Minute, compare, totals
from barnabas.pipeline.auditing.drawing import Line, lines, step_of, ticks
from barnabas.pipeline.auditing.findings import Span
from barnabas.pipeline.auditing.report import duration, page
from barnabas.pipeline.auditing.results import LATENESS_MS, Audit, Delays, Feed, Highlights, percent

BEGIN = 29_390_400
HOSTILE = '<script>alert("&")</script>'
DELAYS = Delays(topic=HOSTILE, late_ms=(0, 10, 90_000_000), landing_ms=(5, 6, 7), lateness=[9] * (len(LATENESS_MS) + 1))
FEEDS = [
    Feed(name="top-pages", source="views", by="page", top=[(HOSTILE, 7), ("/", 3)]),
    Feed(name="errors", source="logs", by="service", rates={HOSTILE: {BEGIN: (10, 1)}, "web": {BEGIN + 70: (4, 0)}}),
]


def audit(minutes: list[Minute]) -> Audit:
    found = [replace(one, spans=(Span(1, 7, 7),)) for one in compare(minutes, {})]
    until = max((one.minute for one in minutes), default=BEGIN) + 1
    return Audit(
        since=None,
        until=until,
        minutes=minutes,
        findings=found,
        totals=totals(minutes, {}),
        delays=[DELAYS] if minutes else [],
        notes=[HOSTILE],
    )


def minute(number: int, *, known: int = 10, landed: int = 10, topic: str = HOSTILE, waiting: int = 0) -> Minute:
    return Minute(
        topic=topic, minute=BEGIN + number, produced=10, broker=known, known=known, landed=landed, waiting=waiting
    )


def pictures(text: str) -> list[ElementTree.Element]:
    return [ElementTree.fromstring(one) for one in re.findall(r"<svg.*?</svg>", text, re.DOTALL)]


class Tags(HTMLParser):
    def __init__(self, text: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.seen: set[str] = set()
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)
        assert not {"src", "href"} & {name for name, _ in attrs}
        if tag != "meta":
            self.open.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.add(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def test_a_page_is_well_formed_and_needs_nothing_else() -> None:
    text = page(audit([minute(number) for number in range(90)]), Highlights({BEGIN: (5, 9)}, FEEDS))
    tags = Tags(text)
    assert tags.open == []
    assert not tags.seen & {"script", "link", "img", "iframe"}
    assert "url(" not in text
    assert "prefers-color-scheme: dark" in text
    assert len(pictures(text)) == 6
    assert "Complete until" in text


def test_what_is_wrong_is_shown_where_it_is() -> None:
    minutes = [minute(0), minute(1, landed=7), minute(2, landed=0, waiting=10), minute(4, topic="other")]
    text = page(audit(minutes), Highlights({}, []))
    cells = {
        title.text.split("\n")[0]: cell.get("class")
        for picture in pictures(text)
        for cell in picture.iter("rect")
        if (title := cell.find("title")) is not None and title.text and "cell" in (cell.get("class") or "")
    }
    assert cells[f"{HOSTILE}, 2025-11-18 00:00"] == "cell good"
    assert cells[f"{HOSTILE}, 2025-11-18 00:01"] == "cell bad"
    assert cells[f"{HOSTILE}, 2025-11-18 00:02"] == "cell waits"
    assert cells["other, 2025-11-18 00:02"] == "cell idle"
    assert "3 records of the broker are missing in the lake: partition 1 offset 7" in text
    assert 'class="verdict bad"' in text


def test_an_audit_of_nothing_has_a_page() -> None:
    text = page(audit([]), Highlights({}, []))
    assert Tags(text).open == []
    assert pictures(text) == []


def test_records_from_the_beginning_of_time_make_no_endless_page() -> None:
    text = page(audit([minute(-(1 << 46)), minute(0)]), Highlights({BEGIN: (1, 2)}, []))
    assert len(text) < 300_000
    assert len(pictures(text)) == 4


@given(st.floats(1e-3, 1e12))
def test_ticks_are_few_and_reach_the_top(most: float) -> None:
    found = ticks(most)
    assert found[0] == 0
    assert found[-1] >= most * (1 - 1e-6)
    assert 2 <= len(found) <= 6


@given(st.integers(0, 1 << 50))
def test_steps_are_no_more_than_wanted(length: int) -> None:
    assert length <= step_of(length, 9, (1, 5, 60)) * 9


@given(st.lists(st.one_of(st.none(), st.floats(0, 1e9)), min_size=1, max_size=20))
def test_lines_stay_inside_their_picture(values: list[float | None]) -> None:
    text = lines(range(BEGIN, BEGIN + len(values)), 1, [Line("a", values, "area s0")], str)
    picture = ElementTree.fromstring(text)
    _, _, width, height = map(float, picture.attrib["viewBox"].split())
    for drawn in [*picture.iter("polyline"), *picture.iter("polygon")]:
        for point in drawn.attrib["points"].split():
            across, down = map(float, point.split(","))
            assert 0 <= across <= width
            assert 0 <= down <= height


@pytest.mark.parametrize(
    ("ms", "shown"),
    [
        (0, "0 ms"),
        (999, "999 ms"),
        (-5, "-5 ms"),
        (1_500, "1.5 seconds"),
        (119_000, "119 seconds"),
        (98_160_521, "27.3 hours"),
    ],
)
def test_durations(ms: int, shown: str) -> None:
    assert duration(ms) == shown


def test_nothing_but_all_is_a_hundred_percent() -> None:
    assert [percent(share) for share in (1.0, 1 - 1e-9, 0.5, 0.0)] == ["100 %", "99.999 %", "50.000 %", "0.000 %"]
