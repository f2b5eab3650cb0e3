"""Deadlines beside a dictionary that is searched for its least."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from barnabas.coordination.groups.deadlines import Deadline, Deadlines, member_deadline

KEYS = [member_deadline("g", name) for name in "abcde"]
operations = st.lists(st.tuples(st.sampled_from([*KEYS, None]), st.none() | st.integers(0, 20)), max_size=60)
"""Of a key, or of all: the clock is set."""


@given(operations)
def test_the_first_is_always_at_hand(changes: list[tuple[Deadline | None, int | None]]) -> None:
    deadlines = Deadlines()
    model: dict[Deadline, int] = {}
    for key, at in changes:
        if key is None:
            moved = (at or 0) - 10
            deadlines.move_all(moved)
            model = {each: at_ms + moved for each, at_ms in model.items()}
        elif at is None:
            deadlines.cancel(key)
            model.pop(key, None)
        else:
            deadlines.set(key, at)
            model[key] = at
        first = deadlines.first()
        assert (None if first is None else first[0]) == min(model.values(), default=None)
        assert first is None or model[first[1]] == first[0]
        assert len(deadlines) == len(model)
        assert {key: deadlines.get(key) for key in model} == model


def test_heartbeats_leave_nothing_behind() -> None:
    deadlines = Deadlines()
    for now in range(10_000):
        deadlines.set(KEYS[now % 5], now + 100)
    assert len(vars(deadlines)["_heap"]) <= 2 * len(KEYS)


def test_of_those_that_come_together_the_one_that_was_set_first_is_first() -> None:
    deadlines = Deadlines()
    for key in KEYS:
        deadlines.set(key, 7)
    assert deadlines.first() == (7, KEYS[0])
