"""An offset and those who wait for it, also where it changes again before they get their turn."""

from __future__ import annotations

import pytest
import trio
import trio.testing

from barnabas.replication.watermark import Watermark


class Ended(Exception):  # noqa: N818 - an end, which is no fault
    pass


async def _reach(watermark: Watermark, offset: int, told: list[str]) -> None:
    try:
        await watermark.reaches(offset)
        told.append(f"{offset} is reached")
    except Ended:
        told.append(f"{offset} is not reached")


@pytest.mark.trio
async def test_those_who_wait_are_told_when_it_rises_to_where_they_wait() -> None:
    watermark, told = Watermark(3), list[str]()
    async with trio.open_nursery() as nursery:
        for offset in (5, 4):
            nursery.start_soon(_reach, watermark, offset, told)
        await trio.testing.wait_all_tasks_blocked()
        assert watermark.advance(4)
        await trio.testing.wait_all_tasks_blocked()
        assert told == ["4 is reached"]
        assert not watermark.advance(4)
        assert watermark.advance(9)
    assert told == ["4 is reached", "5 is reached"]


@pytest.mark.trio
async def test_what_was_reached_stays_reached_though_it_falls_before_he_gets_his_turn() -> None:
    watermark, told = Watermark(3), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_reach, watermark, 5, told)
        await trio.testing.wait_all_tasks_blocked()
        watermark.advance(6)
        watermark.begin(2)
    assert told == ["5 is reached"]


@pytest.mark.trio
async def test_beginning_lower_wakes_watchers_and_leaves_those_who_wait() -> None:
    watermark, told, seen = Watermark(3), list[str](), trio.Event()
    watermark.watch(seen)
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_reach, watermark, 5, told)
        await trio.testing.wait_all_tasks_blocked()
        watermark.begin(1)
        assert seen.is_set()
        await trio.testing.wait_all_tasks_blocked()
        assert told == []
        watermark.advance(5)
    assert told == ["5 is reached"]


@pytest.mark.trio
async def test_those_whose_time_is_over_are_forgotten_though_it_stands_still() -> None:
    watermark, told = Watermark(3), list[str]()
    async with trio.open_nursery() as nursery:
        for offset in (900, 800, 700):
            nursery.start_soon(_reach, watermark, offset, told)
        await trio.testing.wait_all_tasks_blocked()
        for offset in range(1_000, 4, -1):
            async with trio.open_nursery() as impatient:
                impatient.start_soon(_reach, watermark, offset, told)
                await trio.testing.wait_all_tasks_blocked()
                impatient.cancel_scope.cancel()
            waiting = int(repr(watermark).split()[1])
            assert 3 <= waiting <= 6
        assert told == []
        for offset in (700, 800, 900):
            assert watermark.advance(offset)
            await trio.testing.wait_all_tasks_blocked()
    assert told == ["700 is reached", "800 is reached", "900 is reached"]


@pytest.mark.trio
async def test_who_is_cancelled_as_it_is_reached_takes_nobody_along() -> None:
    watermark, told = Watermark(3), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_reach, watermark, 6, told)
        async with trio.open_nursery() as impatient:
            impatient.start_soon(_reach, watermark, 5, told)
            await trio.testing.wait_all_tasks_blocked()
            impatient.cancel_scope.cancel()
            watermark.advance(5)
        assert repr(watermark) == "Watermark(5, 1 wait)"
        watermark.advance(6)
    assert told == ["6 is reached"]


@pytest.mark.trio
async def test_after_the_end_nobody_waits() -> None:
    watermark, told = Watermark(3), list[str]()
    async with trio.open_nursery() as nursery:
        nursery.start_soon(_reach, watermark, 4, told)
        await trio.testing.wait_all_tasks_blocked()
        watermark.fail(Ended())
        watermark.begin(5)
    assert told == ["4 is not reached"]
    await watermark.reaches(5)
    with pytest.raises(Ended):
        await watermark.reaches(6)
    seen = trio.Event()
    watermark.watch(seen)
    assert seen.is_set()
