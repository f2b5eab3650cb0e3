"""Tiers held against each other by their counts: what was taken from each is what is found, and nothing else."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.pipeline.auditing.comparing import Minute, compare, totals
from barnabas.pipeline.auditing.findings import Finding, Span
from barnabas.pipeline.minutes import minute_of, minute_shown, minute_text


@dataclass(frozen=True)
class Message:
    """What became of one record."""

    topic: str
    minute: int
    fate: str


FATES = (
    "landed",
    "deleted later",
    "waiting",
    "lost by the broker",
    "lost by the lake",
    "twice",
    "undecoded",
    "uncounted",
)
messages = st.lists(st.builds(Message, st.sampled_from("ab"), st.integers(0, 3), st.sampled_from(FATES)), max_size=60)


def counted(all_messages: list[Message]) -> list[Minute]:
    """As the tiers count them."""
    minutes = []
    for topic, minute in {(one.topic, one.minute) for one in all_messages}:
        fates = Counter(one.fate for one in all_messages if (one.topic, one.minute) == (topic, minute))
        there = fates.total() - fates["lost by the broker"]
        minutes.append(
            Minute(
                topic=topic,
                minute=minute,
                produced=fates.total() - fates["uncounted"],
                broker=there - fates["deleted later"],
                known=there,
                landed=there - fates["waiting"] - fates["lost by the lake"],
                waiting=fates["waiting"],
                duplicates=fates["twice"],
                undecoded=fates["undecoded"],
            )
        )
    return minutes


@given(messages)
def test_what_is_wrong_is_found_where_it_is(all_messages: list[Message]) -> None:
    kinds = {
        "lost by the lake": ("lake", "missing"),
        "twice": ("lake", "duplicate"),
        "undecoded": ("decoded", "missing"),
    }
    expected = Counter((*kinds[one.fate], one.topic, one.minute) for one in all_messages if one.fate in kinds)
    found = {(one.tier, one.kind, one.topic, one.minute): one.count for one in compare(counted(all_messages), {})}
    of_broker = {place: found.pop(place) for place in list(found) if place[0] == "broker"}
    assert found == dict(expected)
    for one in counted(all_messages):
        fates = Counter(each.fate for each in all_messages if (each.topic, each.minute) == (one.topic, one.minute))
        # Counts cannot tell a record that nobody counted from one that was counted and lost.
        short = max(0, fates["lost by the broker"] - fates["uncounted"])
        assert of_broker.get(("broker", "missing", one.topic, one.minute), 0) == short


@given(messages)
def test_totals_add_up(all_messages: list[Message]) -> None:
    for total in totals(counted(all_messages), {}):
        fates = Counter(one.fate for one in all_messages if one.topic == total.topic)
        assert total.landed + total.missing + total.waiting == fates.total() - fates["lost by the broker"]
        assert 0 <= total.in_lake <= 1
        assert 0 <= total.in_broker <= 1
        is_intact = not total.missing and not total.short
        assert (total.in_lake == 1) == (is_intact or total.expected == 0)


def test_what_the_broker_had_deleted_before_the_lake_began_is_not_missed() -> None:
    known = ((1, 0), (2, 3), (3, 4))
    minutes = [Minute(topic="a", minute=minute, produced=5, known=each, landed=each) for minute, each in known]
    assert [(one.minute, one.count) for one in compare(minutes, {"a": 2})] == [(3, 1)]
    (total,) = totals(minutes, {"a": 2})
    assert (total.forgotten, total.short) == (7, 1)
    assert [one.minute for one in compare(minutes, {"another": 2})] == [1, 2, 3]


def test_what_was_not_acknowledged_may_be_there_or_not() -> None:
    there = Minute(topic="a", minute=1, produced=5, uncertain=2, known=7, broker=7, landed=7)
    gone = Minute(topic="a", minute=2, produced=5, uncertain=2, known=5, broker=5, landed=5)
    assert compare([there, gone], {}) == []
    (total,) = totals([there, gone], {})
    assert (total.uncertain, total.uncounted) == (4, 0)


def test_a_topic_that_nobody_counts_is_held_against_nothing() -> None:
    minute = Minute(topic="a", minute=1, known=3, broker=3, landed=3)
    assert compare([minute], {}) == []
    (total,) = totals([minute], {})
    assert (total.produced, total.uncounted, total.in_broker) == (None, 0, 1)


SPAN = Span(2, 4711, 4711)


@pytest.mark.parametrize(
    ("finding", "sentence"),
    [
        (
            Finding("lake", "missing", "orders", 29_390_400, 1, (SPAN,)),
            "orders 2025-11-18 00:00: 1 record of the broker is missing in the lake: partition 2 offset 4711.",
        ),
        (
            Finding("lake", "missing", "orders", 29_390_400, 1_700, tuple(Span(0, n * 9, n * 9 + 1) for n in range(9))),
            "orders 2025-11-18 00:00: 1,700 records of the broker are missing in the lake: "
            + "".join(f"partition 0 offsets {n * 9} to {n * 9 + 1}, " for n in range(8)).rstrip(", ")
            + " and more.",
        ),
        (
            Finding("lake", "duplicate", "orders", 0, 2, (Span(0, 1, 2),)),
            "orders 1970-01-01 00:00: 2 records are in the lake once too often: partition 0 offsets 1 to 2.",
        ),
        (
            Finding("decoded", "missing", "orders", 0, 1),
            "orders 1970-01-01 00:00: 1 record of the lake is neither decoded nor quarantined.",
        ),
        (
            Finding("broker", "missing", "orders", 0, 1),
            "orders 1970-01-01 00:00: 1 record that producers counted is missing in the broker and in the lake.",
        ),
    ],
)
def test_sentences(finding: Finding, sentence: str) -> None:
    assert finding.sentence == sentence


def test_minutes() -> None:
    assert minute_of(29_390_400 * 60_000 + 59_999) == 29_390_400
    assert minute_of(-1) == -1
    assert (minute_text(-1), minute_shown(-1)) == ("1969-12-31T23:59:00Z", "1969-12-31 23:59")
    assert minute_text(1 << 50) == f"minute {1 << 50}"
