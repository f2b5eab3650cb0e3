"""Bytes move as fast as they may and no faster, and what was not moved is not saved up for long."""

from __future__ import annotations

import random

import pytest

from barnabas.storage.throttle import BURST_MS, Throttle


def test_without_a_limit_nobody_waits() -> None:
    assert Throttle(None).wait_ms(1 << 40, 0) == 0


def test_a_wait_is_as_long_as_the_bytes_take() -> None:
    throttle = Throttle(1_000)
    assert throttle.wait_ms(500, 0) == 500
    assert throttle.wait_ms(0, 200) == 300
    assert throttle.wait_ms(0, 500) == 0
    assert throttle.wait_ms(1, 500) == 1


def test_a_pause_is_made_up_for_in_part() -> None:
    throttle = Throttle(1_000)
    throttle.wait_ms(0, 0)
    assert throttle.wait_ms(1_000, 100_000) == 1_000 - BURST_MS


def test_another_limit_holds_at_once() -> None:
    throttle = Throttle(1_000)
    assert throttle.wait_ms(1_000, 0) == 1_000
    throttle.bytes_per_second = 10_000
    assert throttle.wait_ms(0, 0) == 100
    throttle.bytes_per_second = None
    assert throttle.wait_ms(0, 0) == 0
    throttle.bytes_per_second = 1_000
    assert throttle.wait_ms(10, 5_000) == 10


def test_a_clock_that_goes_back_costs_nothing_but_its_step() -> None:
    throttle = Throttle(1_000)
    throttle.wait_ms(100, 1_000)
    assert throttle.wait_ms(0, 500) == 100
    assert throttle.wait_ms(0, 600) == 0


@pytest.mark.parametrize("seed", range(20))
def test_over_any_stretch_of_time_the_limit_holds(seed: int) -> None:
    chance = random.Random(seed)
    rate = chance.choice([100, 5_000, 10_000_000])
    throttle = Throttle(rate)
    now_ms, moved = 0.0, [(0.0, 0)]
    for _ in range(300):
        now_ms += chance.choice([0, 0, chance.random() * 50, chance.random() * 2_000])
        size = chance.randrange(1, rate)
        now_ms += throttle.wait_ms(size, now_ms)
        moved.append((now_ms, moved[-1][1] + size))
    for begin_ms, before in moved:
        for end_ms, after in moved:
            assert after - before <= (end_ms - begin_ms + BURST_MS) * rate / 1_000 + 1 or end_ms < begin_ms
    # And it is reached: who never pauses waits no longer than has to be.
    busy = Throttle(rate)
    at = 0.0
    for _ in range(100):
        at += busy.wait_ms(rate // 10, at)
    assert at == pytest.approx(10_000, rel=0.02)
