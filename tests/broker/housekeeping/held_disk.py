"""The system's disk, on which a test holds threads up at the moment that it is about."""

from __future__ import annotations

import threading
from pathlib import Path

from barnabas.storage.disk import SystemDisk

__all__ = ["HeldDisk"]

PATIENCE_S = 20


class HeldDisk(SystemDisk):
    def __init__(self) -> None:
        self._held_ending: str | None = None
        self._came = threading.Semaphore(0)
        self._go_on = threading.Event()

    def hold(self, ending: str) -> None:
        """From now on threads, and not the node's loop, wait before they sync a directory whose name ends so."""
        self._held_ending = ending

    def wait_for(self, count: int = 1) -> None:
        """Until so many wait; those that come later do not."""
        for _ in range(count):
            assert self._came.acquire(timeout=PATIENCE_S)
        self._held_ending = None

    def release(self) -> None:
        self._go_on.set()

    def sync_directory(self, directory: Path) -> None:
        self.wait_if_held(directory)
        super().sync_directory(directory)

    def wait_if_held(self, directory: Path) -> None:
        in_loop = threading.current_thread().name.startswith("node at")
        if self._held_ending is not None and directory.name.endswith(self._held_ending) and not in_loop:
            self._came.release()
            assert self._go_on.wait(PATIENCE_S)
