"""The indexes of a segment against lists, and against what a crash or a Kafka leaves behind."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.index import CorruptIndex, OffsetIndex, TimeIndex
from barnabas.storage.memory_disk import MemoryDisk

from .conftest import Place

BASE = 1_000


def offset_index(place: Place, max_bytes: int = 10_000) -> OffsetIndex:
    return OffsetIndex(place.disk, place.directory / "i.index", BASE, max_bytes)


def time_index(place: Place, max_bytes: int = 12_000) -> TimeIndex:
    return TimeIndex(place.disk, place.directory / "t.timeindex", BASE, max_bytes)


def filled(index: OffsetIndex, rows: int) -> OffsetIndex:
    for number in range(1, rows + 1):
        index.append(BASE + 10 * number, 100 * number)
    return index


@given(
    steps=st.lists(st.tuples(st.integers(1, 50), st.integers(1, 500)), max_size=40),
    questions=st.lists(st.integers(-5, 2_100), max_size=20),
)
def test_an_offset_index_finds_what_a_list_finds(steps: list[tuple[int, int]], questions: list[int]) -> None:
    disk = MemoryDisk()
    index = OffsetIndex(disk, Path("/i.index"), BASE, 10_000)
    offset, position, rows = BASE, 0, []
    for offset_step, position_step in steps:
        offset, position = offset + offset_step, position + position_step
        index.append(offset, position)
        rows.append((offset, position))
    for relative in questions:
        found = bisect_right([row[0] for row in rows], BASE + relative)
        assert index.position_for(BASE + relative) == (rows[found - 1][1] if found else 0)
    index.trim()
    again = OffsetIndex(disk, Path("/i.index"), BASE, 10_000)
    assert [again[number] for number in range(len(again))] == rows


def test_the_bytes_are_kafkas(place: Place) -> None:
    index = offset_index(place)
    index.append(BASE + 1, 4_097)
    index.trim()
    assert place.disk.read_file(index.path) == b"\0\0\0\1" + (4_097).to_bytes(4, "big")
    times = time_index(place)
    times.append_if_later(77, BASE + 2)
    times.trim()
    assert place.disk.read_file(times.path) == (77).to_bytes(8, "big") + b"\0\0\0\2"


def test_rows_behind_an_untrimmed_file_are_told_from_its_free_space(place: Place) -> None:
    index = filled(offset_index(place), 7)
    index.close()
    assert place.disk.size(index.path) == 4_096
    again = offset_index(place)
    assert len(again) == 7
    assert again.last == (BASE + 70, 700)
    again.append(BASE + 80, 800)
    assert again.position_for(BASE + 80) == 800


def test_it_grows_to_its_limit_and_then_is_full(place: Place) -> None:
    index = filled(offset_index(place), 1_250)
    assert index.is_full
    assert place.disk.size(index.path) == 10_000
    assert index.position_for(BASE + 12_505) == 125_000
    times = time_index(place)
    for number in range(1, 1_000):
        assert not times.is_full
        times.append_if_later(number, BASE + number)
    assert times.is_full  # one row is left for the sealing
    times.append_if_later(5_000, BASE + 5_000)
    times.trim()
    assert len(times) == 1_000


def test_truncating_keeps_the_rows_below_an_offset(place: Place) -> None:
    index = filled(offset_index(place), 5)
    index.truncate(BASE + 30)
    assert index.last == (BASE + 20, 200)
    index.append(BASE + 25, 250)
    index.close()
    assert [*map(offset_index(place).__getitem__, range(3))] == [(BASE + 10, 100), (BASE + 20, 200), (BASE + 25, 250)]
    index.truncate(BASE)
    assert len(index) == 0
    assert index.last == (BASE, 0)


def test_times_rise_and_equal_ones_are_passed_over(place: Place) -> None:
    index = time_index(place)
    assert index.last == (-1, BASE)
    for timestamp, offset in [(5, BASE + 1), (5, BASE + 2), (9, BASE + 4)]:
        index.append_if_later(timestamp, offset)
    assert [index[0], index[1]] == [(5, BASE + 1), (9, BASE + 4)]
    assert [index.offset_for(timestamp) for timestamp in (4, 5, 8, 9, 10)] == [
        BASE,
        BASE + 1,
        BASE + 1,
        BASE + 4,
        BASE + 4,
    ]
    with pytest.raises(AssertionError):
        index.append_if_later(8, BASE + 5)
    index.truncate(BASE + 4)
    assert index.last == (5, BASE + 1)


@pytest.mark.parametrize("size", [1, 7, 9, 15])
def test_a_size_that_is_no_multiple_is_corrupt_and_can_be_cleared(place: Place, size: int) -> None:
    place.disk.open(place.directory / "i.index").write(0, [b"x" * size])
    index = offset_index(place)
    with pytest.raises(CorruptIndex, match=f"has {size} bytes"):
        len(index)
    index.clear()
    assert len(index) == 0
    index.append(BASE + 1, 1)
    assert index.last == (BASE + 1, 1)


@pytest.mark.parametrize(
    "rows", [[(2, 10), (2, 20)], [(2, 10), (3, 10)], [(2, 10), (3, 1_000)], [(-1, 10)], [(5, 10), (3, 20)]]
)
def test_rows_that_no_log_can_have_are_corrupt(place: Place, rows: list[tuple[int, int]]) -> None:
    data = b"".join(OffsetIndex.row.pack(*row) for row in rows)
    place.disk.open(place.directory / "i.index").write(0, [data])
    with pytest.raises(CorruptIndex):
        offset_index(place).check(log_size=500)


def test_a_full_disk_is_an_error_when_the_index_grows_and_not_a_signal_later(place: Place) -> None:
    index = filled(offset_index(place), 512)
    file = place.disk.open(index.path)

    def no_space(size: int) -> memoryview:
        raise OSError(28, "No space left on device")

    file.map = no_space  # type: ignore[method-assign]
    place.disk.open = lambda path, *, create=True: file  # type: ignore[method-assign]
    with pytest.raises(OSError, match="No space"):
        index.append(BASE + 9_000, 99_000)
