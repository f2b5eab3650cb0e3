"""Work that goes on beside what is measured, until that is over."""

from __future__ import annotations

import os
import subprocess
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

__all__ = ["drop_from_page_cache", "repeated"]

STOP_S = 10.0


@contextmanager
def repeated(command: Sequence[str], before_each: Callable[[], None] = lambda: None) -> Iterator[None]:
    """The command runs again and again. RuntimeError if it fails, for then nothing went on beside."""
    work = _Repeated(command, before_each)
    work.start()
    try:
        yield
    finally:
        work.end()
    if work.trouble:
        raise RuntimeError(f"what was to go on beside did not: {work.trouble}")


class _Repeated(threading.Thread):
    def __init__(self, command: Sequence[str], before_each: Callable[[], None]) -> None:
        super().__init__(daemon=True)
        self._command, self._before_each = command, before_each
        self._over = threading.Event()
        self._lock = threading.Lock()
        self._process: subprocess.Popen[str] | None = None
        self.trouble = ""

    def run(self) -> None:
        while not self._over.is_set() and not self.trouble:
            try:
                self._before_each()
            except OSError as error:
                self.trouble = str(error)
                return
            with self._lock:
                if self._over.is_set():
                    return
                self._process = subprocess.Popen(
                    self._command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
                )
            _, said = self._process.communicate()
            if self._process.returncode and not self._over.is_set():
                self.trouble = f"{' '.join(self._command)[-300:]} ended with {self._process.returncode}: {said[-1000:]}"

    def end(self) -> None:
        with self._lock:
            self._over.set()
            process = self._process
        if process is not None and process.poll() is None:
            process.terminate()
        self.join(STOP_S)
        if self.is_alive() and process is not None:
            process.kill()
            self.join()


def drop_from_page_cache(directory: Path) -> None:
    """The kernel drops what is on the disk, so it is written first."""
    for file in directory.rglob("*.log"):
        descriptor = os.open(file, os.O_RDONLY)
        try:
            os.fsync(descriptor)
            os.posix_fadvise(descriptor, 0, 0, os.POSIX_FADV_DONTNEED)
        finally:
            os.close(descriptor)
