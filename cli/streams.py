"""The three streams that a shell gives a command, whatever it made of them: closed, full, or of another alphabet."""

from __future__ import annotations

import io
import os
import sys
from pathlib import Path
from typing import TextIO

__all__ = ["flush_output", "give_up_output", "prepare_streams", "speaks_utf8"]


def prepare_streams() -> None:
    """A stream that is closed is as one to which nobody listens. Its number must not go to the next file that is
    opened: what is printed would be written there."""
    while (number := os.open(os.devnull, os.O_RDWR)) <= 2:
        pass
    os.close(number)
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - as long as we run
    _show_all_letters(sys.stdout)


def _show_all_letters(stream: TextIO) -> None:
    """A name of which the terminal's encoding has not all letters is better than none."""
    if isinstance(stream, io.TextIOWrapper) and (stream.errors == "strict" or not speaks_utf8(stream)):
        stream.reconfigure(errors="backslashreplace")


def speaks_utf8(stream: TextIO) -> bool:
    return (getattr(stream, "encoding", None) or "utf-8").lower().replace("_", "-") in ("utf-8", "utf8")


def flush_output() -> None:
    """At the very end, when nothing is left to be said about what cannot be written."""
    try:
        sys.stdout.flush()
    except OSError:
        give_up_output()


def give_up_output() -> None:
    """What was not written never will be. Python would complain of it once more at its end."""
    try:
        number = sys.stdout.fileno()
    except (OSError, ValueError):
        return  # of a test, in memory
    null = os.open(os.devnull, os.O_WRONLY)
    os.dup2(null, number)
    os.close(null)
