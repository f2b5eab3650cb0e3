"""What every benchmark owes its reader, also where nobody looks at its figures: that they are some."""

from __future__ import annotations

from math import isfinite

__all__ = ["sound"]


def sound(what: str, *figures: float) -> None:
    """ValueError if something that was measured is no number above zero: then the benchmark is broken."""
    for figure in figures:
        if not isfinite(figure) or figure <= 0:
            raise ValueError(f"{what}: {figure} is no figure; mend the benchmark")
