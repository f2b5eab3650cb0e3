"""Removing files: of segments that are no part of a log any more, and of deleted partitions, file.delete.delay.ms after
they got another name, as in Kafka, and in a thread, since a large file takes its time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import trio

from barnabas.broker.housekeeping.deadlines import Deadlines
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Removal"]


class _Garbage(NamedTuple):
    path: Path
    """For people, and to tell one from another."""
    number: int
    remove: Callable[[], None]


class Removal:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._deadlines: Deadlines[_Garbage] = Deadlines(node.clock.steady)
        self._taken: set[Path] = set()
        """Directories that wait here."""
        self._number = 0

    @property
    def waiting(self) -> int:
        return len(self._deadlines)

    def take(self, log: Log) -> None:
        """The segments that the log has no use for."""
        removed, log.removed = log.removed, []
        for segment in removed:
            self._add(segment.path(".log"), log.config.file_delete_delay_ms, segment.remove)

    def look(self) -> None:
        """For partitions that have been deleted or moved away."""
        for directory in self._node.directories.online:
            for path in directory.doomed:
                self._take_directory(directory, path, self._node.config.topic_defaults.file_delete_delay_ms)

    def take_leftovers(self) -> None:
        """What the last run has left: nobody reads it."""
        for directory in self._node.directories.online:
            for path in directory.doomed:
                self._take_directory(directory, path, 0)
            for log in [*directory.logs.values(), *directory.futures.values()]:
                if log.removed:
                    self.take(log)

    def _take_directory(self, directory: LogDirectory, path: Path, delay_ms: int) -> None:
        if path in self._taken:
            return
        self._taken.add(path)

        def remove() -> None:
            _remove_tree(self._node.disk, path)
            self._taken.discard(path)
            directory.doomed.remove(path)

        self._add(path, delay_ms, remove)

    def _add(self, path: Path, delay_ms: int, remove: Callable[[], None]) -> None:
        self._number += 1
        self._deadlines.set(_Garbage(path, self._number, remove), self._node.clock.steady.now_ms() + delay_ms)

    async def run(self) -> None:
        while True:
            due = await self._deadlines.next_due()
            for path, error in await trio.to_thread.run_sync(_remove_all, due):
                self._node.report(f"{path} cannot be removed now: {error.strerror or error}")


def _remove_all(garbage: Sequence[_Garbage]) -> list[tuple[Path, OSError]]:
    failures = []
    for each in garbage:
        try:
            each.remove()
        except OSError as error:
            failures.append((each.path, error))
    return failures


def _remove_tree(disk: Disk, path: Path) -> None:
    if disk.exists(path):
        disk.remove_tree(path)
