"""The index of aborted transactions: its bytes, what it finds, and what it does not trust."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.transaction_index import AbortedTransaction, CorruptTransactionIndex, TransactionIndex
from tests.storage.conftest import Place

NAME = "00000000000000000000.txnindex"
ENTRY_BYTES = 34

# Three that overlap, and one for itself.
FIRST = AbortedTransaction(1, 0, 10, 2)
SECOND = AbortedTransaction(2, 2, 15, 5)
THIRD = AbortedTransaction(3, 5, 20, 21)
FOURTH = AbortedTransaction(1, 30, 40, 41)
ALL = [FIRST, SECOND, THIRD, FOURTH]


def filled(place: Place, start_offset: int = 0) -> TransactionIndex:
    index = TransactionIndex(place.disk, place.directory / NAME, start_offset)
    for aborted in ALL:
        index.append(aborted)
    return index


def reopened(place: Place, start_offset: int = 0) -> TransactionIndex:
    return TransactionIndex(place.disk, place.directory / NAME, start_offset)


def test_there_is_no_file_before_there_is_an_entry(place: Place) -> None:
    index = reopened(place)
    assert list(index) == []
    assert index.is_empty()
    assert index.collect(0, 100) == ([], False)
    index.truncate_to(0)
    index.reset()
    index.check()
    index.sync()
    index.close()
    index.rename(place.directory / "other")
    index.delete()
    assert place.disk.names(place.directory) == []


def test_the_bytes(place: Place) -> None:
    reopened(place).append(AbortedTransaction(7, 1, 2, 3))
    expected = "0000" + "0000000000000007" + "0000000000000001" + "0000000000000002" + "0000000000000003"
    assert place.disk.read_file(place.directory / NAME) == bytes.fromhex(expected)


def test_what_is_appended_is_read_after_reopening(place: Place) -> None:
    filled(place).sync()
    index = reopened(place)
    assert list(index) == ALL
    assert not index.is_empty()
    index.check()
    with pytest.raises(ValueError, match="cannot follow"):
        index.append(AbortedTransaction(9, 0, 40, 41))
    index.append(AbortedTransaction(9, 0, 41, 42))
    assert list(index)[-1].producer_id == 9


def test_it_is_read_while_it_is_asked_for(place: Place) -> None:
    index = reopened(place)
    many = [AbortedTransaction(1, number, number, number + 1) for number in range(3_000)]
    for aborted in many:
        index.append(aborted)
    assert next(iter(index)) == many[0]
    assert list(index) == many
    assert index.collect(2_000, 2_002) == (many[2_000:2_002], True)


@pytest.mark.parametrize(
    ("fetch_offset", "upper_bound_offset", "found", "complete"),
    [
        (0, 1, [FIRST], True),
        (0, 3, [FIRST, SECOND], True),  # where the last stable offset is 5, nothing else begins below 3
        (0, 5, [FIRST, SECOND], True),
        (0, 6, [FIRST, SECOND, THIRD], True),
        (11, 20, [SECOND, THIRD], True),
        (10, 20, [FIRST, SECOND, THIRD], True),
        (16, 30, [THIRD], True),
        (21, 30, [], True),
        (16, 31, [THIRD, FOURTH], True),
        (40, 42, [FOURTH], False),
        (41, 50, [], False),
        (0, 100, ALL, False),
    ],
)
def test_aborted_transactions_of_a_range(
    place: Place, fetch_offset: int, upper_bound_offset: int, found: list[AbortedTransaction], complete: bool
) -> None:
    assert filled(place).collect(fetch_offset, upper_bound_offset) == (found, complete)


@given(st.lists(st.tuples(st.integers(0, 9), st.integers(1, 9)), max_size=20), st.integers(0, 99), st.integers(0, 99))
def test_no_overlapping_transaction_is_missed(sizes: list[tuple[int, int]], fetch: int, upper: int) -> None:
    index = TransactionIndex(MemoryDisk(), Path("/") / NAME, 0)
    entries: list[AbortedTransaction] = []
    last = 0
    for producer_id, (size, gap) in enumerate(sizes):
        last += gap
        entries.append(AbortedTransaction(producer_id, max(0, last - size), last, 0))
    for number, aborted in enumerate(entries):
        later = [one.first_offset for one in entries[number + 1 :]]
        stable = min([aborted.last_offset + 1, *later])
        entries[number] = aborted._replace(last_stable_offset=stable)
        index.append(entries[number])
    overlapping = [one for one in entries if one.last_offset >= fetch and one.first_offset < upper]
    assert index.collect(fetch, upper).found == overlapping


@pytest.mark.parametrize(("offset", "left"), [(0, 0), (10, 0), (11, 1), (15, 1), (16, 2), (40, 3), (41, 4), (99, 4)])
def test_truncation(place: Place, offset: int, left: int) -> None:
    index = filled(place)
    index.truncate_to(offset)
    assert list(index) == ALL[:left]
    assert place.disk.size(place.directory / NAME) == left * ENTRY_BYTES
    index.append(AbortedTransaction(5, 0, 50, 51))
    assert len(list(reopened(place))) == left + 1


def test_reset_leaves_an_empty_file(place: Place) -> None:
    index = filled(place)
    index.reset()
    assert index.is_empty()
    assert place.disk.size(place.directory / NAME) == 0
    index.append(FIRST)
    assert list(index) == [FIRST]


def test_deleted_and_made_again(place: Place) -> None:
    index = filled(place)
    index.delete()
    assert place.disk.names(place.directory) == []
    assert index.is_empty()
    index.append(FIRST)
    assert list(index) == [FIRST]


def test_renamed_with_its_segment(place: Place) -> None:
    index = filled(place)
    index.rename(place.directory / (NAME + ".deleted"))
    assert place.disk.names(place.directory) == [NAME + ".deleted"]
    assert list(index) == ALL
    index.close()
    assert list(index) == ALL
    index.delete()
    assert place.disk.names(place.directory) == []


def test_an_entry_cut_short_is_found_out_or_overwritten(place: Place) -> None:
    for size in range(3 * ENTRY_BYTES + 1, 4 * ENTRY_BYTES):
        filled(place).close()
        place.disk.open(place.directory / NAME).truncate(size)
        index = reopened(place)
        with pytest.raises(CorruptTransactionIndex, match="bytes of an entry"):
            index.check()
        assert list(index) == ALL[:3]
        index.append(FOURTH)
        index.check()
        assert list(index) == ALL
        index.delete()


def test_a_segment_does_not_know_what_ended_before_it(place: Place) -> None:
    index = filled(place, start_offset=10)
    index.check()
    with pytest.raises(CorruptTransactionIndex, match="must exceed 10"):
        reopened(place, start_offset=11).check()


def test_entries_out_of_order_or_of_an_unknown_version_are_corrupt(place: Place) -> None:
    file = place.disk.open(place.directory / NAME)
    filled(place)
    good = file.read(0, 4 * ENTRY_BYTES)
    file.write(0, [good[ENTRY_BYTES : 2 * ENTRY_BYTES], good[:ENTRY_BYTES]])
    with pytest.raises(CorruptTransactionIndex, match="must exceed 15"):
        reopened(place).check()
    file.write(0, [good])
    file.write(2 * ENTRY_BYTES, [b"\x00\x01"])
    index = reopened(place)
    with pytest.raises(CorruptTransactionIndex, match="unknown version 1"):
        index.check()
    with pytest.raises(CorruptTransactionIndex, match="unknown version 1"):
        index.collect(0, 100)
