"""durability=fsync: the records of all partitions that wait for the disk, synced together.

While one round is at the disk, what is appended waits for the next: so a sync serves everybody who came during the last
one, however many they are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import trio

from barnabas.replication.partition import Partition
from barnabas.storage.durability import Unsynced

__all__ = ["Syncer", "sync_all"]


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
            works = [(partition, partition.log.unsynced_records()) for partition in partitions]
            failures = await trio.to_thread.run_sync(sync_all, works)
            for partition, work in works:
                if partition in failures:
                    self._on_failure(partition, failures[partition])
                else:
                    partition.synced(work)


def sync_all(works: Sequence[tuple[Partition, Unsynced]]) -> dict[Partition, OSError]:
    """Those that failed. One may have been deleted meanwhile, which is no failure of its disk: whoever asks looks
    whether the log is still there."""
    failures = {}
    for partition, work in works:
        try:
            work.sync()
        except OSError as error:
            failures[partition] = error
    return failures
