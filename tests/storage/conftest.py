"""A directory to write to, once on the system's disk and once on one in memory."""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.memory_disk import MemoryDisk


class Place(NamedTuple):
    disk: Disk
    directory: Path


@pytest.fixture(params=["system", "memory"])
def place(request: pytest.FixtureRequest, tmp_path: Path) -> Place:
    disk = SystemDisk() if request.param == "system" else MemoryDisk()
    disk.make_directory(tmp_path)
    return Place(disk, tmp_path)
