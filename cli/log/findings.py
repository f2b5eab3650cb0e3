"""What is wrong with a file of a log."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

__all__ = ["Finding"]


class Finding(NamedTuple):
    file: Path
    position: int | None
    """A byte of the file; None where it is wrong as a whole."""
    what: str
    then: str
    """What comes of it if a start does nothing about it."""
