"""Where each leader's epoch began and ended, as a log that is cut at both ends knows it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.leader_epochs import EpochEntry, LeaderEpochs

UNDEFINED = (-1, -1)
LOG_END = 100


def epochs(*entries: tuple[int, int]) -> LeaderEpochs:
    return LeaderEpochs(EpochEntry(*entry) for entry in entries)


def test_an_empty_one_knows_nothing() -> None:
    cache = epochs()
    assert (cache.latest_epoch, cache.latest, cache.earliest, cache.entry(0)) == (None, None, None, None)
    assert (cache.previous(3), cache.next(3), cache.epoch_for_offset(0)) == (None, None, None)
    assert cache.end_offset_for(0, LOG_END) == cache.end_offset_for(-1, LOG_END) == UNDEFINED
    assert not cache.truncate_from_end(0)
    assert not cache.truncate_from_start(5)
    assert not cache.clear()
    assert cache.entries == []


def test_the_end_of_an_epoch_is_the_start_of_the_next_one() -> None:
    cache = epochs((2, 10), (4, 20), (7, 20 + 5))
    assert cache.end_offset_for(4, LOG_END) == (4, 25)
    assert cache.end_offset_for(2, LOG_END) == (2, 20)


def test_an_epoch_that_wrote_nothing_is_answered_by_the_one_before() -> None:
    cache = epochs((2, 10), (4, 20), (7, 25))
    assert cache.end_offset_for(3, LOG_END) == (2, 20)
    assert cache.end_offset_for(6, LOG_END) == (4, 25)


def test_the_latest_epoch_ends_where_the_log_does_and_a_later_one_is_unknown() -> None:
    cache = epochs((2, 10), (4, 20))
    assert cache.end_offset_for(4, LOG_END) == (4, LOG_END)
    assert cache.end_offset_for(5, LOG_END) == UNDEFINED


def test_an_epoch_before_all_ends_where_the_first_begins() -> None:
    cache = epochs((2, 10), (4, 20))
    assert cache.end_offset_for(0, LOG_END) == (0, 10)
    assert cache.end_offset_for(-1, LOG_END) == UNDEFINED


def test_neighbours_and_offsets() -> None:
    cache = epochs((2, 10), (4, 20))
    assert (cache.earliest, cache.latest, cache.latest_epoch) == ((2, 10), (4, 20), 4)
    assert (cache.entry(4), cache.entry(3)) == ((4, 20), None)
    assert [cache.previous(epoch) for epoch in (2, 3, 4, 9)] == [None, (2, 10), (2, 10), (4, 20)]
    assert [cache.next(epoch) for epoch in (0, 2, 3, 4)] == [(2, 10), (4, 20), (4, 20), None]
    assert [cache.epoch_for_offset(offset) for offset in (9, 10, 19, 20, 999)] == [None, 2, 2, 4, 4]


@pytest.mark.parametrize(
    ("epoch", "start_offset", "after"),
    [
        (5, 30, [(2, 10), (4, 20), (5, 30)]),
        (5, 20, [(2, 10), (5, 20)]),
        (5, 15, [(2, 10), (5, 15)]),
        (5, 10, [(5, 10)]),
        (5, 0, [(5, 0)]),
        (4, 15, [(2, 10), (4, 15)]),
        (3, 30, [(2, 10), (3, 30)]),
        (2, 30, [(2, 30)]),
        (2, 10, [(2, 10)]),
        (0, 30, [(0, 30)]),
    ],
)
def test_an_entry_removes_what_contradicts_it(epoch: int, start_offset: int, after: list[tuple[int, int]]) -> None:
    cache = epochs((2, 10), (4, 20))
    assert cache.assign(epoch, start_offset)
    assert cache.entries == after


def test_the_latest_epoch_does_not_begin_later() -> None:
    cache = epochs((2, 10), (4, 20))
    assert not cache.assign(4, 20)
    assert not cache.assign(4, 21)
    assert cache.entries == [(2, 10), (4, 20)]


def test_negative_ones_are_refused() -> None:
    for epoch, start_offset in [(-1, 0), (0, -1)]:
        with pytest.raises(ValueError, match="neither is ever negative"):
            epochs().assign(epoch, start_offset)


@pytest.mark.parametrize(
    ("end_offset", "after"),
    [(21, 2), (20, 1), (11, 1), (10, 0), (0, 0), (-1, 2)],
)
def test_cutting_off_the_end(end_offset: int, after: int) -> None:
    cache = epochs((2, 10), (4, 20))
    assert cache.truncate_from_end(end_offset) == (after < 2)
    assert cache.entries == [(2, 10), (4, 20)][:after]


@pytest.mark.parametrize(
    ("start_offset", "after"),
    [
        (-1, [(2, 10), (4, 20)]),
        (9, [(2, 10), (4, 20)]),
        (10, [(2, 10), (4, 20)]),
        (11, [(2, 11), (4, 20)]),
        (20, [(4, 20)]),
        (99, [(4, 99)]),
    ],
)
def test_cutting_off_the_start_keeps_the_epoch_that_covers_it(start_offset: int, after: list[tuple[int, int]]) -> None:
    cache = epochs((2, 10), (4, 20))
    assert cache.truncate_from_start(start_offset) == (after != [(2, 10), (4, 20)])
    assert cache.entries == after


class Model:
    """A partition's records as a list of (offset, epoch), and its entries as the plain reading of KIP-101 says."""

    def __init__(self) -> None:
        self.entries: list[tuple[int, int]] = []

    def assign(self, epoch: int, offset: int) -> None:
        if self.entries and self.entries[-1][0] == epoch and self.entries[-1][1] <= offset:
            return
        self.entries = [entry for entry in self.entries if entry[0] < epoch and entry[1] < offset] + [(epoch, offset)]

    def truncate_from_end(self, offset: int) -> None:
        self.entries = [entry for entry in self.entries if entry[1] < offset]

    def truncate_from_start(self, offset: int) -> None:
        kept = [entry for entry in self.entries if entry[1] > offset]
        covering = [(epoch, offset) for epoch, start in self.entries if start <= offset]
        self.entries = covering[-1:] + kept

    def clear(self) -> None:
        self.entries = []

    def end_offset_for(self, epoch: int) -> tuple[int, int]:
        known = [entry[0] for entry in self.entries]
        later = [entry[1] for entry in self.entries if entry[0] > epoch]
        if epoch == -1 or not known or epoch > max(known):
            return UNDEFINED
        earlier = [one for one in known if one <= epoch]
        return (max(earlier) if earlier else epoch), (later[0] if later else LOG_END)


small = st.integers(0, 12)
operations = st.one_of(
    st.tuples(st.just("assign"), small, small),
    st.tuples(st.just("truncate_from_end"), small),
    st.tuples(st.just("truncate_from_start"), small),
    st.tuples(st.just("clear")),
)


@given(st.lists(operations, max_size=20))
def test_it_equals_its_model(steps: list[tuple[str, int]]) -> None:
    model, cache = Model(), LeaderEpochs()
    for name, *numbers in steps:
        before = cache.entries
        getattr(model, name)(*numbers)
        changed = getattr(cache, name)(*numbers)
        assert cache.entries == model.entries
        assert changed == (before != cache.entries)
        assert cache.entries == sorted(cache.entries)
        for number in range(-1, 14):
            assert cache.end_offset_for(number, LOG_END) == model.end_offset_for(number)
            covering = [epoch for epoch, start in model.entries if start <= number]
            assert cache.epoch_for_offset(number) == (covering[-1] if covering else None)
