"""Who leads what, as far as it is known: a partition without a leader does not stand in the way of the others."""

from __future__ import annotations

import time
from collections.abc import Iterable

from barnabas.client.cluster import Cluster, Partition

__all__ = ["Leaders"]

_AT_MOST_EVERY_S = 0.1


class Leaders:
    def __init__(self, cluster: Cluster) -> None:
        self._cluster = cluster
        self._known: dict[Partition, tuple[int, int]] = {}
        """With their epochs."""
        self._asked_s = -_AT_MOST_EVERY_S

    def by_broker(self, partitions: Iterable[Partition]) -> dict[int, list[Partition]]:
        """Those that have a leader just now. ClientError if nobody can be asked."""
        wanted = list(partitions)
        if any(each not in self._known for each in wanted) and time.monotonic() - self._asked_s >= _AT_MOST_EVERY_S:
            self._ask({each.topic for each in wanted})
        found: dict[int, list[Partition]] = {}
        for each in wanted:
            if (leader := self._known.get(each)) is not None:
                found.setdefault(leader[0], []).append(each)
        return found

    def epoch(self, partition: Partition) -> int:
        """Of one that has a leader."""
        return self._known[partition][1]

    def forget(self, partition: Partition) -> None:
        self._known.pop(partition, None)

    def _ask(self, topics: Iterable[str]) -> None:
        self._asked_s = time.monotonic()
        for topic in self._cluster.metadata(sorted(topics)).topics:
            for each in topic.partitions:
                if each.leader_id >= 0 and topic.name is not None:
                    self._known[Partition(topic.name, each.partition_index)] = each.leader_id, each.leader_epoch
