"""All fetchers of a node: for every broker that leads what this one follows, num.replica.fetchers tasks, over which its
partitions are spread as Kafka spreads them."""

from __future__ import annotations

import trio

from barnabas.coordination.cluster.partition import NO_LEADER
from barnabas.coordination.fetching.following_session import Key
from barnabas.coordination.java_hash import java_hash
from barnabas.replication.fetcher import Fetcher
from barnabas.replication.following import Following
from barnabas.replication.neighbours import Neighbours
from barnabas.replication.partition import Partition
from barnabas.storage.log_directory import TopicPartition

__all__ = ["Fetchers", "fetcher_number"]


class Fetchers:
    """`run` in a task of the node; `stop` returns when nothing is appended any more."""

    def __init__(self, around: Neighbours) -> None:
        self._around = around
        self._per_source = around.fetchers_per_source()
        self._fetchers: dict[tuple[int, int], Fetcher] = {}
        self._places: dict[TopicPartition, tuple[Fetcher, Following]] = {}
        self.failed: set[Key] = set()
        """Partitions that are not fetched until the metadata says something else of them."""
        self._nursery: trio.Nursery | None = None
        self._scope = trio.CancelScope()
        self._ended = trio.Event()
        self._has_begun = False

    def __len__(self) -> int:
        return len(self._fetchers)

    @property
    def max_lag(self) -> int:
        """How many records that count the replica lacks that lacks most."""
        return max((fetcher.partitions.max_lag for fetcher in self._fetchers.values()), default=0)

    # Told by the partitions

    def follow(self, partition: Partition) -> None:
        """From now on whom the partition follows, in its epoch; if it follows nobody, it is left."""
        self.leave(partition)
        if not partition.follows or partition.leader == NO_LEADER or self._scope.cancel_called:
            return
        number = fetcher_number(partition.name, self._per_source)
        fetcher = self._fetcher(partition.leader, number)
        following = Following(partition)
        self._places[partition.name] = fetcher, following
        fetcher.follow(following)

    def leave(self, partition: Partition) -> None:
        place = self._places.pop(partition.name, None)
        if place is not None:
            fetcher, following = place
            fetcher.leave(following.key)

    def configure(self) -> None:
        """num.replica.fetchers may be another: then everybody moves."""
        per_source = self._around.fetchers_per_source()
        if per_source != self._per_source:
            self._per_source = per_source
            for _, following in list(self._places.values()):
                self.follow(following.partition)

    def _fetcher(self, source: int, number: int) -> Fetcher:
        found = self._fetchers.get((source, number))
        if found is None:
            found = self._fetchers[source, number] = Fetcher(source, number, self._around, self.failed, self._end)
            if self._nursery is not None:
                self._nursery.start_soon(found.run)
        return found

    def _end(self, fetcher: Fetcher) -> None:
        if self._fetchers.get((fetcher.source, fetcher.number)) is fetcher:
            del self._fetchers[fetcher.source, fetcher.number]

    # The task

    async def run(self) -> None:
        self._has_begun = True
        try:
            with self._scope:
                async with trio.open_nursery() as nursery:
                    self._nursery = nursery
                    for fetcher in self._fetchers.values():
                        nursery.start_soon(fetcher.run)
                    await trio.sleep_forever()
        finally:
            self._nursery = None
            self._ended.set()

    async def stop(self) -> None:
        self._scope.cancel()
        if self._has_begun:
            await self._ended.wait()


def fetcher_number(partition: TopicPartition, count: int) -> int:
    value = (31 * java_hash(partition.topic) + partition.partition) & 0xFFFFFFFF
    value = value - (1 << 32) if value >= 1 << 31 else value
    return (0 if value == -(1 << 31) else abs(value)) % count
