"""`barnabas log` on a partition that somebody writes to all the while: it grows, gets segments, and loses them."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.storage.disk import SystemDisk
from tests.cli.beside import run
from tests.cli.log_files import append, finish, make_partition, record

ROUNDS = 15
BETWEEN_DELETIONS_S = 0.02
"""A broker takes segments away now and then; one that never did anything else nobody could look at."""


class Writer:
    """As a broker does it: appends, rolls, and takes segments from the front, under new names first."""

    def __init__(self, root: Path) -> None:
        root.mkdir()
        self.lock = SystemDisk().lock(root / ".lock", "a test")
        self.log = make_partition(root, internal_segment_bytes="20000")
        append(self.log, record(0))
        finish(root, [self.log], clean=False)
        self.failure: BaseException | None = None
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._write)
        self._thread.start()

    def _write(self) -> None:
        try:
            sequence = 0
            while not self._stop.is_set():
                append(self.log, *map(record, range(5)), producer=(7, sequence))
                sequence += 5
                if len(self.log.segments) > 4:
                    self.log.delete_segments(self.log.segments[:2])
                    self.log.advance_start(self.log.segments[0].base_offset)
                    removed, self.log.removed = self.log.removed, []
                    for segment in removed:
                        segment.remove()
                    self._stop.wait(BETWEEN_DELETIONS_S)
        except BaseException as error:  # noqa: BLE001 - told to the test
            self.failure = error

    def end(self) -> None:
        self._stop.set()
        self._thread.join()
        self.lock.release()
        assert self.failure is None


@pytest.fixture
def writer(tmp_path: Path) -> Iterator[Writer]:
    writer = Writer(tmp_path / "data")
    yield writer
    writer.end()


@pytest.mark.parametrize(
    "command",
    [
        ("verify",),
        ("verify", "--deep"),
        ("explain",),
        ("dump",),
        ("dump", "--print-data-log"),
        ("dump", "--all", "--json"),
        ("dump", "--from-offset", "100", "--json"),
    ],
    ids=" ".join,
)
def test_nothing_is_taken_for_damage(writer: Writer, tmp_path: Path, command: tuple[str, ...]) -> None:
    for _ in range(ROUNDS):
        ran = run("log", command[0], "--data", str(tmp_path / "data"), "--topic", "orders", *command[1:])
        assert ran.code == 0, ran.out + ran.err
        assert "Traceback" not in ran.err
    assert writer.log.end_offset > 0
