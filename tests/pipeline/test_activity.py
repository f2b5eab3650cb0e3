"""The stream that is made up: the same for the same seed, skewed, in sessions, with late and unreadable records."""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from datetime import datetime
from itertools import pairwise
from random import Random
from typing import Any

import pytest

from barnabas.pipeline.generating.activity import Record, records
from barnabas.pipeline.generating.daily import endless, spread, weight
from barnabas.pipeline.generating.happenings import PAGE_VIEWS, SERVICE_LOGS, SIGN_INS, TOPICS
from barnabas.pipeline.generating.malformed import WAYS

HOUR_MS = 3_600_000
BEGIN_MS = 1_763_500_000_123


def made(count: int, hours: float = 2, *, late: float = 0.0, malformed: float = 0.0, seed: int = 7) -> list[Record]:
    moments = spread(BEGIN_MS, BEGIN_MS + round(hours * HOUR_MS), count, Random(seed))
    return list(records(moments, seed=seed, users=1_000, pages=100, late=late, malformed=malformed))


def events(all_records: list[Record], topic: str) -> list[dict[str, Any]]:
    return [json.loads(record.value) for record in all_records if record.topic == topic]


def happened_ms(event: dict[str, Any]) -> int:
    return round(datetime.fromisoformat(event["at"]).timestamp() * 1000)


def test_the_same_seed_gives_the_same_records() -> None:
    assert made(500, late=0.1, malformed=0.1) == made(500, late=0.1, malformed=0.1)
    assert made(500) != made(500, seed=8)


def test_moments_are_as_many_as_wanted_in_order_and_in_bounds() -> None:
    for count in (0, 1, 59, 10_000):
        moments = list(spread(BEGIN_MS, BEGIN_MS + 30 * HOUR_MS, count, Random(1)))
        assert len(moments) == count
        assert moments == sorted(moments)
        assert all(BEGIN_MS <= at < BEGIN_MS + 30 * HOUR_MS for at in moments)


def test_a_day_has_a_curve() -> None:
    day = list(spread(0, 24 * HOUR_MS, 24_000, Random(1)))
    by_hour = Counter(at // HOUR_MS for at in day)
    assert by_hour[20] > 3 * by_hour[5]
    assert sum(weight(hour * HOUR_MS) for hour in range(24)) == pytest.approx(24)


def test_a_live_stream_has_its_rate() -> None:
    begin_ms = 20 * HOUR_MS
    hour = 0
    for at in endless(begin_ms, 2, Random(1)):
        if at >= begin_ms + HOUR_MS:
            break
        hour += 1
    assert hour == pytest.approx(2 * 3_600 * weight(begin_ms + HOUR_MS // 2), rel=0.05)


def test_few_have_most_of_it() -> None:
    all_records = made(20_000)
    users = Counter(record.key for record in all_records)
    pages = Counter(event["page"] for event in events(all_records, PAGE_VIEWS))
    assert sum(count for _, count in users.most_common(50)) > len(all_records) / 3
    assert sum(count for _, count in pages.most_common(10)) > sum(pages.values()) / 3
    assert {record.topic for record in all_records} == set(TOPICS)


def test_sessions_begin_with_a_sign_in_and_go_on_within_minutes() -> None:
    all_records = made(20_000)
    sessions = defaultdict(list)
    for record in all_records:
        if record.topic != SERVICE_LOGS:
            event = json.loads(record.value)
            assert record.key == event["user"].encode()
            assert happened_ms(event) == record.written_ms
            sessions[event["session"]].append((record.topic, record.written_ms, event["user"]))
    for steps in sessions.values():
        assert steps[0][0] == SIGN_INS
        assert len({user for _, _, user in steps}) == 1
    between = sorted(after[1] - before[1] for steps in sessions.values() for before, after in pairwise(steps))
    assert between[len(between) * 98 // 100] < 5 * 60_000


def test_each_doing_is_logged_by_a_service() -> None:
    all_records = made(20_000)
    logs = events(all_records, SERVICE_LOGS)
    assert len(all_records) / 2 - 200 < len(logs) <= len(all_records) / 2
    assert {log["service"] for log in logs} == {"web", "search", "accounts", "recommendations", "prices"}
    failed = sum(log["status"] >= 500 for log in logs)
    assert 0 < failed < len(logs) / 10
    assert all((log["level"] == "ERROR") == (log["status"] >= 500) for log in logs)


def test_late_events_are_older_than_their_records() -> None:
    all_records = made(20_000, late=0.05)
    late = [
        record.written_ms - happened_ms(json.loads(record.value))
        for record in all_records
        if happened_ms(json.loads(record.value)) != record.written_ms
    ]
    assert len(late) == pytest.approx(1_000, rel=0.2)
    assert min(late) > 0
    assert max(late) > HOUR_MS


def test_malformed_values_are_so_in_every_way() -> None:
    all_records = made(20_000, malformed=0.05)
    ways = Counter(way for record in all_records if (way := wrong_with(record)))
    assert set(ways) == {"not JSON", "type", "field", "object", "empty"}
    assert len(WAYS) == 5
    assert sum(ways.values()) == pytest.approx(1_000, rel=0.2)


def wrong_with(record: Record) -> str:
    if not record.value:
        return "empty"
    try:
        event = json.loads(record.value)
    except json.JSONDecodeError:
        return "not JSON"
    if not isinstance(event, dict):
        return "object"
    if "at" not in event:
        return "field"
    return "type" if "soon" in event.values() else ""
