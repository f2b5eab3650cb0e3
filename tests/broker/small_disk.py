"""A disk that tests fill up."""

from __future__ import annotations

import errno
import subprocess
from pathlib import Path
from typing import Self

import pytest

__all__ = ["SmallDisk"]


class SmallDisk:
    """A file system of some megabytes, and a file that takes what is left of it."""

    def __init__(self, directory: Path, mebibytes: int = 12) -> None:
        self.directory = directory
        self._mebibytes = mebibytes
        self._filler = directory / "filler"

    def __enter__(self) -> Self:
        self.directory.mkdir()
        command = ["mount", "-t", "tmpfs", "-o", f"size={self._mebibytes}m", "none", str(self.directory)]
        if subprocess.run(command, capture_output=True, check=False).returncode:
            pytest.skip("this user may not mount a file system")
        return self

    def __exit__(self, *_: object) -> None:
        subprocess.run(["umount", "-l", str(self.directory)], check=True)

    def fill(self) -> None:
        with self._filler.open("ab", buffering=0) as file:
            for size in (65_536, 4_096, 512, 1):
                try:
                    while file.write(bytes(size)) == size:
                        pass
                except OSError as error:
                    assert error.errno == errno.ENOSPC

    def make_room(self) -> None:
        self._filler.unlink(missing_ok=True)
