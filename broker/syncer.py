"""durability=fsync: the records of all partitions that wait for the disk, synced together.

While one round is at the disk, what is appended waits for the next: so a sync serves everybody who came during the last
one, however many they are.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

import trio

from barnabas.replication.partition import Partition
from barnabas.storage.durability import Unsynced

__all__ = ["Attempt", "Syncer", "sync_all"]


class Syncer:
    def __init__(self, on_failure: Callable[[Partition, OSError], None]) -> None:
        self._on_failure = on_failure
        self._waiting: set[Partition] = set()
        self._wake = trio.Event()

    def needs_sync(self, partition: Partition) -> None:
        self._waiting.add(partition)
        self._wake.set()

    async def run(self) -> None:
        while True:
            await self._wake.wait()
            self._wake = trio.Event()
            partitions, self._waiting = self._waiting, set()
            works = {partition: partition.log.unsynced_records() for partition in partitions}
            for partition, work, failure in await sync_all(works):
                if failure is not None:
                    self._on_failure(partition, failure)
                else:
                    partition.synced(work)


class Attempt(NamedTuple):
    partition: Partition
    work: Unsynced
    failure: OSError | None


async def sync_all(works: Mapping[Partition, Unsynced]) -> list[Attempt]:
    """In a thread; `works` are of the logs that the partitions have now.

    One that moves to another directory meanwhile is not among what comes back: its files lie under another name, and
    the copy that has taken its place is synced on its own. One may have been deleted, which is no failure of its disk
    either: whoever asks looks whether the log is still there."""
    logs = {partition: partition.log for partition in works}
    failures = await trio.to_thread.run_sync(_failures, list(works.values()))
    attempts = map(Attempt, works, works.values(), failures)
    return [attempt for attempt in attempts if attempt.partition.log is logs[attempt.partition]]


def _failures(works: Sequence[Unsynced]) -> list[OSError | None]:
    return [_failure(work) for work in works]


def _failure(work: Unsynced) -> OSError | None:
    try:
        work.sync()
    except OSError as error:
        return error
    return None
