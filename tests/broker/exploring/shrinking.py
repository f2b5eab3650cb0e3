"""The fewest steps that still show a difference."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from .beside import Step

__all__ = ["shrunk"]


def shrunk(steps: Sequence[Step], shows: Callable[[Sequence[Step]], bool], seconds: float) -> list[Step]:
    """`shows` runs a plan anew. The last step is where the difference was seen, and stays."""
    until = time.monotonic() + seconds
    kept = list(steps[:-1])
    last = steps[-1]
    size = max(1, len(kept) // 2)
    while kept and time.monotonic() < until:
        at = len(kept)
        smaller = False
        while at > 0 and time.monotonic() < until:
            tried = kept[: max(0, at - size)] + kept[at:]
            if shows([*tried, last]):
                kept, smaller = tried, True
            at -= size
        if size == 1 and not smaller:
            break
        size = max(1, size // 2)
    return [*kept, last]
