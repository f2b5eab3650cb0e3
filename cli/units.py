"""Sizes and rates as people write and read them."""

from __future__ import annotations

import re

__all__ = ["counted", "number_text", "parse_quantity", "size_text"]

_STEP = 1024
_SUFFIXES = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")
_FACTORS = {
    "": 1,
    "k": 1000,
    "m": 1000**2,
    "g": 1000**3,
    "t": 1000**4,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_QUANTITY = re.compile(r"(?i)([0-9]+(?:\.[0-9]+)?(?:e[+-]?[0-9]+)?)\s*([kmgt]i?|)(?:b?(?:/s)?)")


def size_text(size_bytes: float) -> str:
    """In the unit in which it has one to four digits before the point."""
    power = 0
    while abs(size_bytes) >= _STEP and power < len(_SUFFIXES) - 1:
        size_bytes /= _STEP
        power += 1
    return f"{size_bytes:.1f} {_SUFFIXES[power]}" if power else f"{size_bytes:.0f} B"


def counted(count: int, one: str, more: str | None = None) -> str:
    return f"{count} {one if count == 1 else more or f'{one}s'}"


def number_text(value: float) -> str:
    """Without a point where nothing is behind it."""
    return f"{value:.0f}" if value.is_integer() else repr(value)


def parse_quantity(text: str) -> float:
    """`1048576`, `10MB`, `10MiB/s`, `1.5k`: M is a million, Mi is 1024 times 1024. ValueError for anything else."""
    found = _QUANTITY.fullmatch(text.strip())
    if found is None:
        raise ValueError(f"{text} is no quantity: write a number, with k, M, G or Ki, Mi, Gi behind it if you like")
    return float(found[1]) * _FACTORS[found[2].lower()]
