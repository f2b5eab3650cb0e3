"""Waiting for what other programs do: ask again and again, up to a deadline."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable

PATIENCE_S = 25.0
POLL_S = 0.02


def wait_until(happened: Callable[[], object], what: str, patience_s: float = PATIENCE_S) -> None:
    """Asks until it is true; AssertionError names what did not happen."""
    deadline = time.monotonic() + patience_s
    pause = threading.Event()
    while not happened():
        assert time.monotonic() < deadline, f"waited {patience_s:.0f} s in vain for {what}"
        pause.wait(POLL_S)
