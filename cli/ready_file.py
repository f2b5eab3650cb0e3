"""`--ready-file FILE`: a file that is there for as long as the broker serves, for the program that started it.

It appears whole, and holds JSON: {"bootstrap_servers": "127.0.0.1:43127", "pid": 4711, "cluster_id": "..."}. One that
an earlier broker has left, because it was killed, is gone before the new one starts.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Self

__all__ = ["CannotWrite", "ReadyFile"]


class CannotWrite(Exception):  # noqa: N818 - a state of the file
    """The message is a sentence, said before a broker is started for nobody."""


class ReadyFile:
    """Whether it can be written is tried at once, with another name beside it."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._draft = path.with_name(f".{path.name}.{os.getpid()}")
        self._written: str | None = None
        if path.exists() and not path.is_file():
            raise CannotWrite(f"--ready-file {path} is no file: name one that may be replaced and removed.")
        try:
            self._draft.touch()
            self._draft.unlink()
            path.unlink(missing_ok=True)
        except OSError as error:
            raise CannotWrite(
                f"--ready-file {path} cannot be written: {error.strerror}; name a file in a directory that is there "
                "and that you may write to."
            ) from None

    def write(self, facts: Mapping[str, object]) -> None:
        told = json.dumps(facts) + "\n"
        try:
            self._draft.write_text(told)
            self._draft.replace(self._path)
        except OSError:
            self._draft.unlink(missing_ok=True)
            raise
        self._written = told

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._written is not None and self._is_there(self._written):
            self._path.unlink()

    def _is_there(self, written: str) -> bool:
        """Another broker that was given the same file may have replaced it."""
        try:
            return self._path.read_text() == written
        except OSError:
            return False
