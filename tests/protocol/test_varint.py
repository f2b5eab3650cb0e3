"""Varints, of as few bytes as hold them, read as what was written."""

from __future__ import annotations

import pytest

from barnabas.protocol.varint import read_uvarint, read_varint, uvarint, varint

EDGES = [(1 << bits) + step for bits in range(7, 64, 7) for step in (-1, 0, 1)]


def fewest(value: int) -> int:
    return max(-(-value.bit_length() // 7), 1)


@pytest.mark.parametrize("values", [range(0x4100), EDGES, [2**64 - 1]], ids=["short", "edges", "longest"])
def test_unsigned(values: range | list[int]) -> None:
    for value in values:
        written = uvarint(value)
        assert len(written) == fewest(value), value
        assert read_uvarint(written, 0, 64) == (value, len(written))


@pytest.mark.parametrize(
    "values",
    [range(-0x2100, 0x2100), EDGES[:-3], [-edge for edge in EDGES[:-3]], [2**63 - 1, -(2**63)]],
    ids=["short", "edges", "edges below 0", "longest"],
)
def test_signed(values: range | list[int]) -> None:
    for value in values:
        written = varint(value)
        assert len(written) == fewest(value << 1 if value >= 0 else -(value << 1) - 1), value
        assert read_varint(written, 0, 64) == (value, len(written))


def test_the_first_bytes_are_javas() -> None:
    """Zig-zag: every other value is below 0."""
    assert [varint(value) for value in (0, -1, 1, -64, 63, 64, -65)] == [
        b"\x00",
        b"\x01",
        b"\x02",
        b"\x7f",
        b"\x7e",
        b"\x80\x01",
        b"\x81\x01",
    ]
    with pytest.raises(ValueError, match="cannot hold -1"):
        uvarint(-1)
