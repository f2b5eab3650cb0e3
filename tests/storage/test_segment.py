"""One segment: what was appended is found again, whatever is asked and wherever it was cut."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.record import Record, read_records
from barnabas.storage.index import CorruptIndex
from barnabas.storage.segment import Segment
from barnabas.storage.segment_reading import CorruptSegment, file_name

from .conftest import Place

BASE = 500


def segment_at(place: Place, base_offset: int = BASE) -> Segment:
    return Segment(
        place.disk,
        place.directory,
        base_offset,
        index_max_bytes=8_000,
        index_interval_bytes=200,
        created_ms=1_000,
    )


def batches_from(base_offset: int, counts: Sequence[int]) -> Iterator[bytes]:
    """Batches of so many records, each of some tens of bytes, a time unit apart."""
    for count in counts:
        records = [Record(value=b"v" * 30, timestamp=10 * (base_offset + index)) for index in range(count)]
        yield build_batch(records, base_offset=base_offset)
        base_offset += count


def fill(segment: Segment, counts: Sequence[int]) -> list[bytes]:
    made = list(batches_from(segment.read_next_offset(), counts))
    for data in made:
        batch = Batch(data)
        segment.append([batch], [data])
    return made


COUNTS = [1, 3, 2, 7, 1, 1, 5, 2, 4, 1, 6]


def test_every_offset_is_found_in_its_batch(place: Place) -> None:
    segment = segment_at(place)
    made = fill(segment, COUNTS)
    assert len(segment.offset_index) > 3
    position = 0
    for data in made:
        batch = Batch(data)
        for offset in range(batch.base_offset, batch.next_offset):
            found = segment.find(offset)
            assert found is not None
            assert (found.position, found.batch.base_offset) == (position, batch.base_offset)
        position += len(data)
    assert segment.size == position
    assert segment.find(BASE + sum(COUNTS)) is None
    assert segment.read_next_offset() == BASE + sum(COUNTS)


def test_several_batches_are_appended_at_once(place: Place) -> None:
    segment = segment_at(place)
    made = [Batch(data) for data in batches_from(BASE, COUNTS)]
    assert segment.append(made, [bytes(each.buffer) for each in made]) == 0
    assert segment.read_next_offset() == BASE + sum(COUNTS)
    assert segment.find(BASE + 5) is not None


def test_a_slice_begins_with_a_whole_batch_and_ends_where_it_must(place: Place) -> None:
    segment = segment_at(place)
    made = fill(segment, COUNTS)
    found = segment.find(BASE + 2)
    assert found is not None
    assert segment.slice(found, 10**6, segment.size).read() == b"".join(made[1:])
    part = segment.slice(found, 150, segment.size)
    assert (len(part), part.read()) == (150, b"".join(made[1:])[:150])
    assert len(segment.slice(found, 10**6, found.position + 7)) == 7
    assert len(segment.slice(found, 10**6, 0)) == 0


def test_a_slice_outlives_its_segment(place: Place) -> None:
    segment = segment_at(place)
    (data,) = fill(segment, [5])
    found = segment.find(BASE)
    assert found is not None
    part = segment.slice(found, 10**6, segment.size)
    segment.rename(".deleted")
    segment.remove()
    assert place.disk.names(place.directory) == []
    assert part.read() == data


def test_a_closed_segment_opens_as_it_was(place: Place) -> None:
    segment = segment_at(place)
    fill(segment, COUNTS)
    latest = segment.latest
    segment.close()
    assert place.disk.size(segment.path(".index")) == 8 * len(segment.offset_index)
    again = segment_at(place)
    again.check_indexes()
    assert (again.size, again.latest, again.read_next_offset()) == (segment.size, latest, BASE + sum(COUNTS))
    assert again.first_timestamp == 10 * BASE
    fill(again, [2, 2])
    assert again.read_next_offset() == BASE + sum(COUNTS) + 4


@pytest.mark.parametrize("relative", range(sum(COUNTS) + 2))
def test_truncating_drops_the_batches_that_hold_the_offset_or_later_ones(place: Place, relative: int) -> None:
    segment = segment_at(place)
    made = fill(segment, COUNTS)
    kept = [data for data in made if Batch(data).last_offset < BASE + relative]
    before = segment.size
    assert segment.truncate(BASE + relative) == before - sum(map(len, kept))
    assert segment.file.read(0, 10**6) == b"".join(kept)
    last = Batch(kept[-1]) if kept else None
    assert segment.read_next_offset() == (last.next_offset if last else BASE)
    assert segment.latest == ((last.max_timestamp, last.last_offset) if last else (-1, BASE))
    fill(segment, COUNTS)
    segment.close()
    segment_at(place).check_indexes()


@pytest.mark.parametrize("relative", range(sum(COUNTS)))
def test_a_time_leads_to_the_first_record_that_is_not_earlier(place: Place, relative: int) -> None:
    segment = segment_at(place)
    fill(segment, COUNTS)
    offset = BASE + relative
    for timestamp in (10 * offset - 9, 10 * offset):
        assert segment.find_timestamp(timestamp, BASE) == (10 * offset, offset, -1)
    assert segment.find_timestamp(0, offset) == (10 * offset, offset, -1)
    assert segment.find_timestamp(10 * (BASE + sum(COUNTS)), BASE) is None


def test_times_of_records_count_for_rolling_and_the_clock_without_them(place: Place) -> None:
    segment = segment_at(place)
    assert segment.waited_ms(5_000, -1) == 4_000
    fill(segment, [1])
    assert segment.waited_ms(999_999, 10 * BASE + 70) == 70
    untimed = segment_at(Place(place.disk, place.directory), 900)
    data = build_batch([Record(value=b"v")], base_offset=900)
    untimed.append([Batch(data)], [data])
    assert untimed.waited_ms(5_000, -1) == 4_000
    assert untimed.latest == (-1, 900)
    assert untimed.largest_timestamp == place.disk.modified_ms(untimed.path(".log"))


def test_bytes_that_are_no_batch_are_told_with_their_place(place: Place) -> None:
    segment = segment_at(place)
    (data,) = fill(segment, [3])
    for damaged in (data[:30], data[:-1], data[:8] + b"\x7f\xff\xff\xff" + data[12:], data[:16] + b"\x09" + data[17:]):
        segment.file.write(len(data), [damaged])
        segment.size = len(data) + len(damaged)
        with pytest.raises(CorruptSegment, match=f"byte {len(data)}"):
            list(segment.places())
        segment.file.truncate(len(data))


def sizes(place: Place) -> dict[str, int]:
    return {name[20:]: place.disk.size(place.directory / name) for name in place.disk.names(place.directory)}


def test_a_log_that_nobody_has_written_to_has_an_offset_index_and_may_have_a_time_index(place: Place) -> None:
    place.disk.open(place.directory / file_name(0, ".index")).write(0, [b"left behind by a crash"])
    segment = segment_at(place, 0)
    assert sizes(place) == {".log": 0, ".index": 0}
    segment.close()
    assert sizes(place) == {".log": 0, ".index": 0}
    # With room for rows, and all of its batches cut off again.
    fill(segment, COUNTS)
    segment.truncate(0)
    assert min(sizes(place).values()) == sizes(place)[".log"] == 0 < sizes(place)[".timeindex"]
    segment.close()
    assert sizes(place) == {".log": 0, ".index": 0, ".timeindex": 0}


def test_a_later_segment_that_is_empty_has_both_indexes_when_it_is_closed(place: Place) -> None:
    segment = segment_at(place)
    assert sizes(place) == {".log": 0, ".index": 0}
    segment.close()
    assert sizes(place) == {".log": 0, ".index": 0, ".timeindex": 0}


def test_a_segment_whose_records_have_no_times_has_a_time_index(place: Place) -> None:
    """Else the next start would take it for lost."""
    segment = segment_at(place)
    data = build_batch([Record(value=b"v", timestamp=-1)], base_offset=BASE)
    segment.append([Batch(data)], [data])
    segment.close()
    assert place.disk.size(segment.path(".timeindex")) == 0


def test_missing_and_impossible_indexes_are_found(place: Place) -> None:
    segment = segment_at(place)
    fill(segment, COUNTS)
    segment.close()
    place.disk.remove(segment.path(".timeindex"))
    with pytest.raises(CorruptIndex, match="missing"):
        segment_at(place).check_indexes()


def test_a_failed_append_leaves_the_segment_as_it_was(place: Place) -> None:
    segment = segment_at(place)
    made = fill(segment, [2, 2])
    data = next(batches_from(BASE + 4, [9]))
    write = segment.file.write

    def half(position: int, chunks: Sequence[bytes | bytearray | memoryview]) -> None:
        joined = b"".join(chunks)
        write(position, [joined[: len(joined) // 2]])
        raise OSError(28, "No space left on device")

    file = segment.file
    segment._file = HalfWriting(file, half)  # type: ignore[assignment]
    with pytest.raises(OSError, match="No space"):
        segment.append([Batch(data)], [data])
    segment._file = file
    assert (segment.size, file.size()) == (len(b"".join(made)),) * 2
    assert segment.read_next_offset() == BASE + 4
    segment.append([Batch(data)], [data])
    assert segment.read_next_offset() == BASE + 13


class HalfWriting:
    """A file whose disk becomes full in the middle of a write."""

    def __init__(self, file: object, write: object) -> None:
        self._file = file
        self.write = write

    def __getattr__(self, name: str) -> object:
        return getattr(self._file, name)


def test_names_are_kafkas() -> None:
    assert file_name(42, ".timeindex") == "00000000000000000042.timeindex"


def test_records_of_a_segment_are_read_from_its_file(place: Place, tmp_path: Path) -> None:
    segment = segment_at(place)
    fill(segment, COUNTS)
    batches = iterate_batches(segment.file.read(0, segment.size))
    offsets = [record.offset for batch in batches for record in read_records(batch)]
    assert offsets == list(range(BASE, BASE + sum(COUNTS)))
