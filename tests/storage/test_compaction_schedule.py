"""Who is compacted next, who has to wait, and what people are told."""

from __future__ import annotations

import random

import pytest

from barnabas.storage.compaction_plan import CompactionPlan, LogFacts, SegmentFacts
from barnabas.storage.compaction_schedule import (
    FIRST_RETRY_MS,
    LONGEST_RETRY_MS,
    CompactionLimits,
    CompactionSchedule,
    retry_after_ms,
)
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.topic_config import TopicConfig

NOW = 1_000_000_000
A, B, C = (TopicPartition("orders", number) for number in range(3))


def facts(dirty: int, clean: int = 100, *, age_ms: int = 0, **config: str) -> LogFacts:
    """A clean segment, a dirty one, and one that is appended to. Records are so much older than NOW."""
    overrides = {name.replace("_", "."): value for name, value in config.items()}
    parsed = TopicConfig.load({"cleanup.policy": "compact"} | overrides)
    sizes = [(0, clean), (100, dirty), (200, 50)]
    segments = tuple(SegmentFacts(base, size, NOW - age_ms, NOW - age_ms) for base, size in sizes)
    checkpoint = 100 if dirty else 200
    return LogFacts("orders", parsed, 0, 210, 210, checkpoint, segments)


def schedule_of(threads: int = 1, **limits: float) -> CompactionSchedule:
    return CompactionSchedule(CompactionLimits(threads=threads, **limits))  # type: ignore[arg-type]


def begin(schedule: CompactionSchedule, now_ms: int = NOW) -> TopicPartition | None:
    """The next one, if there is any."""
    partition = schedule.next(now_ms)
    if partition is not None:
        plan: CompactionPlan | None = schedule.begin(partition, schedule._facts[partition], now_ms)
        assert plan is not None
        assert plan.due
    return partition


def test_the_dirtiest_comes_first() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(150), NOW)
    schedule.note(B, facts(900), NOW)
    schedule.note(C, facts(10), NOW)
    assert schedule.health(NOW).waiting == (B, A)
    assert begin(schedule) == B
    assert begin(schedule) is None
    schedule.finished(B, facts(0), NOW)
    assert begin(schedule) == A
    schedule.finished(A, facts(0), NOW)
    assert begin(schedule) is None
    assert schedule.next_look_ms(NOW) is None


def test_what_is_overdue_comes_before_what_is_dirtier() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    schedule.note(B, facts(10, age_ms=2_000, max_compaction_lag_ms="1000"), NOW)
    schedule.note(C, facts(20, age_ms=2_000, max_compaction_lag_ms="1000"), NOW)
    assert schedule.health(NOW).waiting == (C, B, A)


def test_no_more_at_once_than_threads_and_none_twice() -> None:
    schedule = schedule_of(threads=2)
    for partition in (A, B, C):
        schedule.note(partition, facts(900), NOW)
    first, second = begin(schedule), begin(schedule)
    assert len({first, second}) == 2
    assert begin(schedule) is None
    assert schedule.next_look_ms(NOW) is None
    assert first is not None
    schedule.stopped(first)
    assert schedule.next_look_ms(NOW) == NOW
    assert begin(schedule) not in (None, second)


def test_facts_that_have_changed_since_count() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    assert schedule.next(NOW) == A
    assert schedule.begin(A, facts(0), NOW) is None
    assert schedule.next(NOW) is None
    assert schedule.health(NOW).at_work == ()


def test_time_alone_makes_a_log_due() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(10, max_compaction_lag_ms="1000"), NOW)
    schedule.note(B, facts(10, max_compaction_lag_ms="500"), NOW)
    schedule.note(C, facts(900, min_compaction_lag_ms="700"), NOW)
    for partition, at in ((B, NOW + 501), (C, NOW + 700), (A, NOW + 1_001)):
        assert schedule.next_look_ms(NOW) == at
        assert schedule.next(at - 1) is None
        assert begin(schedule, at) == partition
        schedule.finished(partition, facts(0), at)
    assert schedule.next_look_ms(NOW) is None


def test_a_failure_is_tried_again_later_each_time_and_told() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    schedule.note(B, facts(800), NOW)
    now_ms = NOW
    waits = []
    for number in range(1, 10):
        assert begin(schedule, now_ms) == A
        found = schedule.failed(A, "00000000000000000000.log holds no batch at byte 7: wrong", now_ms)
        assert found is not None
        assert (found.failures, found.first_ms, found.last_ms) == (number, NOW, now_ms)
        if number == 1:
            # Others do not wait for it.
            assert begin(schedule, now_ms) == B
            schedule.finished(B, facts(0), now_ms)
        assert begin(schedule, found.next_try_ms - 1) is None
        assert schedule.next_look_ms(now_ms) == found.next_try_ms
        waits.append(found.next_try_ms - now_ms)
        now_ms = found.next_try_ms
    assert waits == [15_000, 30_000, 60_000, 120_000, 240_000, 480_000, 600_000, 600_000, 600_000]
    (unhealthy,) = schedule.health(now_ms - 5).unhealthy
    assert (unhealthy.partition, unhealthy.dirty_bytes, unhealthy.failures) == (A, 900, 9)
    assert schedule.explain(A, now_ms - 5).endswith(
        "; failed 9 times, next try in 5 ms: 00000000000000000000.log holds no batch at byte 7: wrong"
    )
    assert begin(schedule, now_ms) == A
    assert len(schedule.health(now_ms).unhealthy) == 1, "it is told until it succeeds"
    schedule.finished(A, facts(0), now_ms)
    assert schedule.health(now_ms).unhealthy == ()
    schedule.note(A, facts(900), now_ms)
    assert begin(schedule, now_ms) == A
    again = schedule.failed(A, "again", now_ms)
    assert again is not None
    assert again.next_try_ms == now_ms + FIRST_RETRY_MS


def test_no_failure_is_too_many() -> None:
    assert retry_after_ms(10_000) == LONGEST_RETRY_MS


def test_a_compaction_that_changes_nothing_is_no_loop() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    begin(schedule)
    schedule.finished(A, facts(900), NOW)
    assert begin(schedule) is None
    assert "as dirty as before" in schedule.health(NOW).unhealthy[0].reason
    assert schedule.next_look_ms(NOW) == NOW + FIRST_RETRY_MS


def test_a_pause_cancels_and_keeps_away_until_every_resume() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    begin(schedule)
    assert schedule.pause(A)
    assert schedule.pause(A)
    assert schedule.health(NOW).at_work[0].cancelled
    assert schedule.explain(A, NOW + 7) == "orders-0: is being compacted for 7 ms, 0 bytes moved, and is to stop"
    assert schedule.failed(A, "it is gone", NOW) is None, "what was cancelled is not to blame"
    assert schedule.health(NOW).unhealthy == ()
    assert schedule.health(NOW).paused == (A,)
    assert schedule.explain(A, NOW).endswith("; paused, because it is being truncated, deleted or moved")
    assert not schedule.pause(A)
    for _ in range(3):
        assert begin(schedule) is None
        assert schedule.next_look_ms(NOW) is None
        schedule.resume(A)
    assert begin(schedule) == A
    with pytest.raises(AssertionError):
        schedule.resume(A)


def test_retention_waits_for_a_compaction_and_for_nothing_else() -> None:
    schedule = schedule_of()
    assert schedule.may_delete(A)
    schedule.note(A, facts(900, cleanup_policy="compact,delete"), NOW)
    begin(schedule)
    assert not schedule.may_delete(A)
    schedule.failed(A, "damaged", NOW)
    assert schedule.may_delete(A)


def test_only_delete_is_known_and_never_compacted() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900, cleanup_policy="delete"), NOW)
    assert begin(schedule) is None
    assert schedule.next_look_ms(NOW) is None
    assert schedule.health(NOW).max_dirty_percent == 0
    assert schedule.explain(A, NOW).startswith("orders: not due: cleanup.policy=delete does not compact")


def test_a_log_that_is_gone_is_forgotten() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    begin(schedule)
    schedule.pause(A)
    with pytest.raises(AssertionError):
        schedule.forget(A)
    schedule.stopped(A)
    schedule.forget(A)
    assert schedule.explain(A, NOW) == "orders-0: no such log is here"
    schedule.note(A, facts(900), NOW)
    assert begin(schedule) == A, "one of the same name begins anew"


def test_the_limit_is_shared_by_those_at_work() -> None:
    schedule = schedule_of(threads=2, bytes_per_second=1_000_000)
    schedule.note(A, facts(900), NOW)
    schedule.note(B, facts(900), NOW)
    assert schedule.bytes_per_second_each == 1_000_000
    begin(schedule)
    begin(schedule)
    assert schedule.bytes_per_second_each == 500_000
    assert schedule_of().bytes_per_second_each is None
    assert CompactionLimits(threads=2).map_bytes == 64 << 20
    assert CompactionLimits(dedupe_buffer_bytes=1 << 40).map_bytes == 2**31 - 1


def test_health_counts_like_kafkas_metrics() -> None:
    schedule = schedule_of()
    schedule.note(A, facts(900), NOW)
    schedule.note(B, facts(300), NOW)
    assert schedule.health(NOW).last_look_ms is None
    assert schedule.health(NOW).max_dirty_percent == 90
    begin(schedule)
    schedule.progress(A, 12_345)
    health = schedule.health(NOW)
    assert (health.max_dirty_percent, health.last_look_ms, health.waiting) == (75, NOW, (B,))
    assert (health.at_work[0].partition, health.at_work[0].moved_bytes, health.at_work[0].since_ms) == (A, 12_345, NOW)


@pytest.mark.parametrize("seed", range(30))
def test_whatever_happens_nothing_is_forgotten(seed: int) -> None:
    """Random work, pauses and failures. In the end all that was due has been compacted, by nothing but `next` when
    something was called and `next_look_ms` when not."""
    chance = random.Random(seed)
    threads = chance.randint(1, 3)
    schedule = schedule_of(threads=threads)
    partitions = [TopicPartition("orders", number) for number in range(6)]
    dirty = dict.fromkeys(partitions, True)
    paused: list[TopicPartition] = []
    now_ms = NOW
    for partition in partitions:
        schedule.note(partition, facts(chance.randrange(200, 900)), now_ms)
    for step in range(2_000):
        calm = step > 200
        while (begun := begin(schedule, now_ms)) is not None:
            assert dirty[begun]
            assert begun not in paused
        working = [one.partition for one in schedule.health(now_ms).at_work]
        assert len(working) <= threads
        if not calm and chance.random() < 0.3:
            partition = chance.choice(partitions)
            assert schedule.pause(partition) == (partition in working)
            paused.append(partition)
        elif paused and (calm or chance.random() < 0.5):
            schedule.resume(paused.pop(chance.randrange(len(paused))))
        elif working:
            partition = chance.choice(working)
            ending = chance.choice(["finished"] if calm else ["finished", "failed", "stopped"])
            if ending == "finished":
                schedule.finished(partition, facts(0), now_ms)
                dirty[partition] = False
            elif ending == "failed":
                schedule.failed(partition, "by chance", now_ms)
            else:
                schedule.stopped(partition)
        else:
            look_ms = schedule.next_look_ms(now_ms)
            if look_ms is None:
                assert not any(dirty[partition] for partition in partitions if partition not in paused)
                if calm:
                    break
            else:
                assert look_ms > now_ms
                now_ms = look_ms
        if not calm and chance.random() < 0.3:
            partition = chance.choice(partitions)
            if not dirty[partition]:
                dirty[partition] = True
                schedule.note(partition, facts(800), now_ms)
    assert not any(dirty.values())
    assert schedule.health(now_ms).unhealthy == ()
