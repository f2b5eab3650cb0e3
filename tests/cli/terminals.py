"""Programs on a terminal, where they ask and complete."""

from __future__ import annotations

import os
import pty
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

from tests.readable import readable

__all__ = ["PATIENCE_S", "read_until", "typed_into"]

PATIENCE_S = 30


@contextmanager
def typed_into(
    *command: str, environment: dict[str, str] | None = None
) -> Iterator[tuple[int, subprocess.Popen[bytes]]]:
    """A terminal, and a process that takes it for its own."""
    terminal, inside = pty.openpty()
    process = subprocess.Popen(
        command, stdin=inside, stdout=inside, stderr=inside, env=environment, start_new_session=True
    )
    os.close(inside)
    try:
        yield terminal, process
    finally:
        os.close(terminal)
        process.kill()  # an interactive shell heeds nothing less
        process.wait(PATIENCE_S)


def read_until(terminal: int, words: str) -> str:
    told = ""
    deadline_s = time.monotonic() + PATIENCE_S
    while words not in told:
        assert readable(terminal, within_s=deadline_s - time.monotonic()), f"no {words!r} in {told!r}"
        told += os.read(terminal, 4096).decode(errors="replace")
    return told
