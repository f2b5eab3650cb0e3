"""Waiting for what other programs do: ask again and again, up to a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_S = 25.0
POLL_S = 0.02


def wait_until(happened: Callable[[], object], what: str | Callable[[], str], patience_s: float = PATIENCE_S) -> None:
    """Asks until it is true; AssertionError names what did not happen, as it is by then."""
    deadline = time.monotonic() + patience_s
    pause = threading.Event()
    while not happened():
        if time.monotonic() > deadline:
            raise AssertionError(f"waited {patience_s:.0f} s in vain for {what if isinstance(what, str) else what()}")
        pause.wait(POLL_S)
