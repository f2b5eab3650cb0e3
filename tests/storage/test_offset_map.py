"""The map holds what it promises in the memory that it was given, and no more."""

from __future__ import annotations

import tracemalloc

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.storage.offset_map import BYTES_PER_SLOT, OffsetMap


@given(st.lists(st.tuples(st.binary(max_size=3), st.integers(0, 2**62)), max_size=60))
def test_it_is_a_dict(puts: list[tuple[bytes, int]]) -> None:
    found = OffsetMap(61 * BYTES_PER_SLOT, 1.0)
    model: dict[bytes, int] = {}
    for key, offset in puts:
        found.latest_offset = offset
        found.put(key)
        model[key] = offset
        assert len(found) == len(model)
    for first in range(256):
        key = bytes([first])
        assert found.get(key) == model.get(key, -1)
    assert {key: found.get(key) for key in model} == model


def test_it_fills_up_to_its_load_factor() -> None:
    found = OffsetMap(1_009 * BYTES_PER_SLOT, 0.9)
    assert found.capacity == 908
    count = 0
    while not found.is_full:
        found.latest_offset = count
        found.put(b"%d" % count)
        count += 1
    assert count == 908
    assert [found.get(b"%d" % number) for number in range(count)] == list(range(count))
    found.put(b"7")  # a key that is there needs no room
    with pytest.raises(AssertionError):
        found.put(b"another")


@pytest.mark.parametrize("memory_bytes", [1_000_000, 8_000_000])
def test_its_memory_is_bounded(memory_bytes: int) -> None:
    tracemalloc.start()
    try:
        found = OffsetMap(memory_bytes, 0.9)
        for number in range(20_000):
            found.put(b"%d" % number)
        _, peak = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert found.memory_bytes <= memory_bytes
    assert peak < memory_bytes + 20_000
    assert memory_bytes / found.capacity < 27


def test_few_keys_need_little() -> None:
    found = OffsetMap(128 << 20, 0.9, expected_keys=100)
    assert found.capacity == 100
    assert found.memory_bytes < 3_000


def test_what_holds_no_key_is_refused() -> None:
    with pytest.raises(ValueError, match="hold no key"):
        OffsetMap(BYTES_PER_SLOT, 0.9)
