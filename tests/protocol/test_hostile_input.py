"""Bytes that no honest client sends: they decode, or they are MalformedFrame, and cost no more than they weigh."""

from __future__ import annotations

import sys
import tracemalloc
from collections.abc import Iterator
from contextlib import suppress
from itertools import islice
from typing import Any

import pytest
from hypothesis import given

from barnabas.protocol.codec import decode, decode_from, encode
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.schema import Data

from .fuzz import corpus, fuzz
from .generated import THOROUGH, declared, every_version, examples, full_message, messages
from .hostile import check_rewriting, try_input

CASES = list(every_version())
CLAIMS = [
    b"\x7f\xff\xff\xff",
    b"\xff\xff\xff\xff\x07",
    b"\xff\xff\xff\xff\x0f",
    b"\x80\x80\x80\x80\x08",
    b"\xff\xff\xff\xff",
]

# Python's objects per byte of a frame, at the worst: see test_memory_is_bounded_by_the_frame.
MOST_BYTES_PER_BYTE = 100

each_version = pytest.mark.parametrize(
    ("cls", "version"), CASES, ids=lambda value: getattr(value, "__name__", f"v{value}")
)


def survives(cls: type[Data], version: int, data: bytes) -> None:
    with suppress(MalformedFrame):
        message, _ = decode_from(cls, version, data)
        check_rewriting(message, version)


def damaged(data: bytes) -> Iterator[bytes]:
    for position in range(len(data)):
        for mask in (0x01, 0x80, 0xFF):
            yield data[:position] + bytes([data[position] ^ mask]) + data[position + 1 :]
        for claim in CLAIMS:
            yield data[:position] + claim + data[position + len(claim) :]


@each_version
def test_every_prefix_is_malformed(cls: type[Data], version: int) -> None:
    data = encode(full_message(cls, version), version)
    for length in range(len(data)):
        with pytest.raises(MalformedFrame):
            decode_from(cls, version, data[:length])


@each_version
def test_flipped_bytes_and_claimed_lengths_end_well(cls: type[Data], version: int) -> None:
    for data in damaged(encode(full_message(cls, version), version)):
        survives(cls, version, data)

    @examples(1, 100)
    @given(message=messages(cls, version, unknown_tags=True))
    def check(message: Data) -> None:
        for data in islice(damaged(encode(message, version)), 3_000):
            survives(cls, version, data)

    if THOROUGH:
        check()


def largest(cls: Any, version: int) -> Iterator[bytes]:
    """For each list of a message, that list with a thousand of the shortest elements there are."""
    for field in cls.__fields__:
        if field.type.is_array and version in field.versions:
            module = sys.modules[cls.__module__]
            element: Any = getattr(module, field.type.name)() if field.type.is_struct else None
            if element is not None:
                yield encode(cls(**{field.name: [element] * 1_000}), version)


@pytest.mark.slow
def test_memory_is_bounded_by_the_frame() -> None:
    worst: dict[str, float] = {}
    tracemalloc.start()
    try:
        for cls in declared():
            version = cls.__definition__.versions.last
            for data in largest(cls, version):
                decode(cls, version, data)
                tracemalloc.reset_peak()
                before = tracemalloc.get_traced_memory()[0]
                decode(cls, version, data)
                worst[f"{cls.__name__} v{version}"] = (tracemalloc.get_traced_memory()[1] - before) / len(data)
    finally:
        tracemalloc.stop()
    assert len(worst) > 100
    assert max(worst.values()) < MOST_BYTES_PER_BYTE, max(worst, key=lambda name: worst[name])


def test_a_claimed_length_reserves_nothing() -> None:
    """Two billion topics, two billion tags, two gigabytes of records: refused from the few bytes that are there."""
    tracemalloc.start()
    try:
        for cls, version in CASES:
            data = encode(cls(), version)
            for position in range(len(data) + 1):
                for claim in CLAIMS:
                    hostile = data[:position] + claim
                    with suppress(MalformedFrame):
                        decode_from(cls, version, hostile)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert peak < 64 * 1024 * 1024  # the compiled functions of every message and version, mostly


def test_what_was_found_once_stays_found() -> None:
    inputs = corpus()
    assert inputs
    for data in inputs:
        try_input(data)


@pytest.mark.slow
def test_a_million_fuzzed_inputs() -> None:
    pytest.importorskip("atheris", reason="atheris has a wheel for Linux on x86-64 only")
    done = fuzz(1_000_000)
    assert done.returncode == 0, done.stderr[-4_000:]
    assert "Done 1000000 runs" in done.stderr
