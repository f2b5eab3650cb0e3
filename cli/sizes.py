"""Bytes for people."""

from __future__ import annotations

__all__ = ["show_size"]

_UNITS = ("B", "KiB", "MiB", "GiB", "TiB", "PiB")


def show_size(count: int) -> str:
    """In the largest unit of which there is one at least."""
    power = min(max(count.bit_length() - 1, 0) // 10, len(_UNITS) - 1)
    return f"{count} B" if power == 0 else f"{count / (1 << 10 * power):.1f} {_UNITS[power]}"
