"""Retention by time, size and start offset, and what is told about it."""

from __future__ import annotations

import pytest

from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.retention import delete_due, explain
from barnabas.storage.topic_config import TopicConfig

from .conftest import Place
from .test_log import NOW, append, everything, reopened

VALUE = b"x" * 200


def log_with(place: Place, **overrides: str) -> Log:
    """Six segments of three records, the records of each 100 ms after those of the one before."""
    settings = {"internal.segment.bytes": "900", **{name.replace("_", "."): value for name, value in overrides.items()}}
    log = open_log(place.disk, place.directory / "orders-0", TopicConfig.load(settings), now_ms=NOW, clean=True)
    for number in range(18):
        append(log, VALUE, timestamp=NOW + 100 * (number // 3))
    assert [segment.base_offset for segment in log.segments] == [0, 3, 6, 9, 12, 15]
    return log


def bases(log: Log) -> list[int]:
    return [segment.base_offset for segment in log.segments]


def test_a_segment_goes_when_its_latest_record_is_older_than_retention_ms(place: Place) -> None:
    log = log_with(place, retention_ms="1000")
    assert delete_due(log, 18, NOW + 1_000) == []
    first = explain(log, 18, NOW + 1_000)[0]
    assert (first.due, first.due_ms) == (False, NOW + 1_001)
    assert first.reason == "its latest record is within retention.ms=1000 for 1 ms"
    (gone,) = delete_due(log, 18, NOW + 1_001)
    assert gone.reason == "its latest record is 0 ms past retention.ms=1000"
    assert (bases(log), log.start_offset) == ([3, 6, 9, 12, 15], 3)
    assert list(everything(log)) == list(range(3, 18))


def test_the_log_is_cut_to_its_size_and_not_below(place: Place) -> None:
    log = log_with(place, retention_bytes="2000", retention_ms="-1")
    segment_bytes = log.segments[0].size
    assert [verdict.due for verdict in explain(log, 18, NOW)] == [True, True, True, False, False, False]
    delete_due(log, 18, NOW)
    assert bases(log) == [9, 12, 15]
    assert 2_000 <= log.size < 2_000 + segment_bytes


def test_segments_below_the_start_go_whatever_the_policy(place: Place) -> None:
    log = log_with(place, cleanup_policy="compact")
    assert delete_due(log, 18, NOW + 10**12) == []
    log.advance_start(8)
    assert [verdict.reason for verdict in delete_due(log, 18, NOW)] == [
        "all its records lie before the log's start at offset 8"
    ] * 2
    assert (bases(log), log.start_offset) == ([6, 9, 12, 15], 8)
    assert explain(log, 18, NOW)[0].reason == "cleanup.policy=compact deletes nothing by age or size"


def test_nothing_at_the_high_watermark_goes(place: Place) -> None:
    log = log_with(place, retention_ms="1")
    verdicts = explain(log, 7, NOW + 10**6)
    assert [verdict.due for verdict in verdicts] == [True, True, False, False, False, False]
    assert verdicts[2].reason.endswith("but it reaches offset 9, and the high watermark is 7")
    delete_due(log, 7, NOW + 10**6)
    assert bases(log) == [6, 9, 12, 15]


def test_where_all_are_due_an_empty_segment_stays(place: Place) -> None:
    log = log_with(place, retention_ms="1")
    assert len(delete_due(log, 18, NOW + 10**6)) == 6
    assert (bases(log), log.start_offset, log.end_offset) == ([18], 18, 18)
    made_ms = place.disk.modified_ms(log.active.path(".log"))
    (verdict,) = explain(log, 18, made_ms + 10**9)
    assert (verdict.due, verdict.reason) == (False, "it is empty, and the log has no other")
    assert append(log, b"next") == 18
    log.close()
    assert everything(reopened(log)) == {18: b"next"}


def test_a_segment_with_later_records_holds_up_those_behind_it(place: Place) -> None:
    log = log_with(place, retention_ms="1000")
    late = open_log(place.disk, place.directory / "late-0", log.config, now_ms=NOW, clean=True)
    append(late, VALUE, VALUE, VALUE, timestamp=NOW + 10**9)
    append(late, VALUE, VALUE, VALUE, timestamp=NOW)
    append(late, VALUE, timestamp=NOW)
    held = explain(late, 7, NOW + 5_000)
    assert [verdict.due for verdict in held] == [False, False, False]
    assert held[1].reason.endswith("but it waits for the segment at offset 0")


def test_deleted_files_wait_until_somebody_removes_them(place: Place) -> None:
    log = log_with(place, retention_ms="1000")
    slice_of_the_first = log.read(0, 10_000)
    before = slice_of_the_first.read()
    delete_due(log, 18, NOW + 1_001)
    assert "00000000000000000000.log.deleted" in place.disk.names(log.directory)
    assert "00000000000000000003.snapshot" in place.disk.names(log.directory)
    for segment in log.removed:
        segment.remove()
    assert not [name for name in place.disk.names(log.directory) if name.startswith("00000000000000000000")]
    assert slice_of_the_first.read() == before


@pytest.mark.parametrize("retention", ["retention_ms", "retention_bytes"])
def test_minus_one_is_no_limit(place: Place, retention: str) -> None:
    log = log_with(place, **{"retention_ms": "-1", "retention_bytes": "-1"} | {retention: "-1"})
    assert delete_due(log, 18, NOW + 10**12) == []
    assert explain(log, 18, NOW)[0].reason == "the log's size and age are not limited"
