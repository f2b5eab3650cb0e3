"""A disk in memory is used by the event loop and by threads at once, as one that is a disk."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.storage.memory_disk import MemoryDisk

KEPT, GOES = Path("/kept"), Path("/goes")
TURNS, FILES, OTHERS = 100, 20, 100


@pytest.fixture
def hurried() -> Iterator[None]:
    """Threads take turns all the time."""
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    yield
    sys.setswitchinterval(before)


def come_and_go(disk: MemoryDisk, turn: int) -> None:
    here, there = GOES / f"{turn}", GOES / f"{turn}-delete"
    disk.make_directory(here)
    for number in range(FILES):
        disk.open(here / f"{number}").write(0, [b"goes"])
    disk.rename(here, there)
    assert disk.names(there) == sorted(f"{number}" for number in range(FILES))
    assert disk.read_file(there / "0") == b"goes"
    disk.remove_tree(there)


@pytest.mark.usefixtures("hurried")
def test_what_one_thread_makes_is_there_whatever_another_moves_and_removes() -> None:
    disk = MemoryDisk()
    disk.make_directory(KEPT)
    failures: list[BaseException] = []

    def remove() -> None:
        try:
            for turn in range(TURNS):
                come_and_go(disk, turn)
        except BaseException as error:  # noqa: BLE001 - told to the test
            failures.append(error)

    thread = threading.Thread(target=remove)
    thread.start()
    made = 0
    while thread.is_alive():
        disk.open(KEPT / f"{made % OTHERS}").write(0, [b"kept"])
        made += 1
    thread.join()
    assert failures == []
    assert len(disk.names(KEPT)) == min(made, OTHERS) > 0
    assert {disk.read_file(KEPT / name) for name in disk.names(KEPT)} == {b"kept"}
    assert disk.names(GOES) == []
