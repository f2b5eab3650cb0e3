"""From which offset to which a partition is read."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets

__all__ = ["Ends", "Start", "ends_of", "offsets_at", "starts_of"]


class Start(NamedTuple):
    """EARLIEST, LATEST, or a timestamp at or after which the first record is; an offset goes before it."""

    timestamp: int = LATEST
    offset: int | None = None


class Ends(NamedTuple):
    """Of a range, exclusive; all None: there is no end."""

    at_now: bool = False
    """Where the partitions end now."""
    timestamp: int | None = None
    """Up to the first record that is as late as that."""
    offset: int | None = None

    @property
    def are_there(self) -> bool:
        return self.at_now or self.timestamp is not None or self.offset is not None


def offsets_at(cluster: Cluster, partitions: Iterable[Partition], when: int, committed: bool) -> dict[Partition, int]:
    """The error of a partition that does not tell is raised; -1 where nothing is as late as that."""
    found = list_offsets(cluster, dict.fromkeys(partitions, when), committed=committed)
    return {partition: _offset(answer) for partition, answer in found.items()}


def _offset(answer: FoundOffset | Exception) -> int:
    if isinstance(answer, Exception):
        raise answer
    return answer.offset


def starts_of(cluster: Cluster, partitions: list[Partition], start: Start, committed: bool) -> dict[Partition, int]:
    """An offset outside of what there is becomes the nearest end of it: Kafka's consumer would reset it."""
    last = offsets_at(cluster, partitions, LATEST, committed)
    if start.offset is not None:
        first = offsets_at(cluster, partitions, EARLIEST, committed)
        return {each: min(max(start.offset, first[each]), last[each]) for each in partitions}
    if start.timestamp == LATEST:
        return last
    found = offsets_at(cluster, partitions, start.timestamp, committed)
    return {each: last[each] if offset < 0 else offset for each, offset in found.items()}


def ends_of(cluster: Cluster, partitions: Iterable[Partition], ends: Ends, committed: bool) -> Mapping[Partition, int]:
    """Of each partition; empty if there is no end."""
    partitions = list(partitions)
    if not ends.are_there:
        return {}
    found = offsets_at(cluster, partitions, LATEST, committed) if ends.at_now or ends.timestamp is not None else {}
    if ends.timestamp is not None:
        for each, offset in offsets_at(cluster, partitions, ends.timestamp, committed).items():
            if 0 <= offset < found[each]:
                found[each] = offset
    if ends.offset is not None:
        found = {each: min(ends.offset, found.get(each, ends.offset)) for each in partitions}
    return found
