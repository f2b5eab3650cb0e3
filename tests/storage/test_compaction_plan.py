"""When a log is compacted, how far, and what people are told about it."""

from __future__ import annotations

from barnabas.storage.compaction_plan import CompactionPlan, LogFacts, SegmentFacts, plan_compaction
from barnabas.storage.topic_config import TopicConfig

NOW = 1_000_000


def facts(
    *segments: tuple[int, int], checkpoint: int | None = None, stable: int | None = None, start: int = 0, **config: str
) -> LogFacts:
    """Segments are a base offset and a size; their records' time is their base offset. The last one is appended to."""
    parsed = TopicConfig.load(
        {"cleanup.policy": "compact"} | {name.replace("_", "."): value for name, value in config.items()}
    )
    end = segments[-1][0] + 10
    return LogFacts(
        "orders-0",
        parsed,
        start,
        end,
        end if stable is None else stable,
        checkpoint,
        tuple(SegmentFacts(base, size, NOW + base, NOW + base) for base, size in segments),
    )


def plan(*segments: tuple[int, int], now_ms: int = NOW, **more: object) -> CompactionPlan:
    return plan_compaction(facts(*segments, **more), now_ms)  # type: ignore[arg-type]


THREE = ((0, 600), (100, 400), (200, 50))


def test_a_log_that_never_was_compacted_is_dirty_up_to_its_last_segment() -> None:
    found = plan(*THREE)
    assert (found.first_dirty_offset, found.end_offset, found.clean_bytes, found.dirty_bytes) == (0, 200, 0, 1_000)
    assert found.due
    assert found.explain == (
        "orders-0: due: 100% of 1000 bytes are dirty, more than min.cleanable.dirty.ratio=0.5; offsets 0 to 200 are "
        "dirty, up to the segment at 200 that is appended to"
    )


def test_the_dirty_part_has_to_be_large_enough() -> None:
    found = plan(*THREE, checkpoint=100)
    assert (found.dirty_ratio, found.due) == (0.4, False)
    assert "not due: 40% of 1000 bytes are dirty, not more than min.cleanable.dirty.ratio=0.5" in found.explain
    assert plan(*THREE, checkpoint=100, min_cleanable_dirty_ratio="0.39").due
    assert not plan(*THREE, checkpoint=200, min_cleanable_dirty_ratio="0").due
    nothing = "orders-0: not due: nothing is dirty before the segment at 200 that is appended to"
    assert plan(*THREE, checkpoint=200).explain == nothing


def test_it_ends_before_what_is_not_stable() -> None:
    found = plan(*THREE, stable=150)
    assert (found.end_offset, found.dirty_bytes) == (100, 600)
    assert found.explain.endswith("up to the last stable offset 150")
    assert plan(*THREE, stable=99).dirty_bytes == 0


def test_young_records_are_left_alone() -> None:
    found = plan(*THREE, min_compaction_lag_ms="1000", now_ms=NOW + 1_070)
    assert (found.end_offset, found.dirty_bytes, found.due_ms) == (100, 600, None)
    assert found.explain.endswith("up to the segment at 100, which is within min.compaction.lag.ms for 30 ms")
    waiting = plan(*THREE, min_compaction_lag_ms="1000", now_ms=NOW + 999)
    assert (waiting.due, waiting.due_ms) == (False, NOW + 1_000)
    assert plan(*THREE, min_compaction_lag_ms="1000", now_ms=NOW + 1_000).due


def test_old_records_are_compacted_however_few() -> None:
    lag = {"checkpoint": 100, "max_compaction_lag_ms": "5000"}
    waiting = plan(*THREE, now_ms=NOW + 5_100, **lag)
    assert (waiting.due, waiting.due_ms) == (False, NOW + 5_101)
    assert plan(*THREE, now_ms=NOW + 5_101, **lag).overdue
    late = plan(*THREE, now_ms=NOW + 5_107, **lag)
    assert late.due
    assert "due: 40% of 1000 bytes are dirty, some for 7 ms longer than max.compaction.lag.ms" in late.explain


def test_a_checkpoint_outside_of_the_log_is_replaced() -> None:
    before = plan(*THREE, checkpoint=5, start=50)
    assert (before.first_dirty_offset, before.checkpoint_is_wrong) == (50, True)
    behind = plan(*THREE, checkpoint=211)
    assert (behind.first_dirty_offset, behind.checkpoint_is_wrong) == (0, True)
    assert "it was clean up to 211 and ends at 210: it is taken for dirty" in behind.explain


def test_other_policies_are_told() -> None:
    assert "not due: cleanup.policy=delete does not compact" in plan(*THREE, cleanup_policy="delete").explain
    assert plan(*THREE, cleanup_policy="compact,delete").due

    assert not plan(*THREE).overdue
