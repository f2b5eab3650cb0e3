"""What one task reads: a range of offsets of one partition; and how ranges are split for more tasks."""

from __future__ import annotations

import math
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from barnabas.client.cluster import Partition
from barnabas.protocol.schema import Uuid

__all__ = ["OffsetRange", "split"]


class OffsetRange(NamedTuple):
    partition: Partition
    topic_id: Uuid
    """Uuid.ZERO where the brokers are too old to tell it."""
    start: int
    end: int
    """Exclusive."""

    @property
    def size(self) -> int:
        return self.end - self.start


def split(
    ranges: Iterable[OffsetRange], min_partitions: int | None, max_records_per_partition: int | None
) -> list[OffsetRange]:
    """At least so many ranges where there are so many records, none of more than so many offsets; large ones first to
    be split."""
    found = sorted(each for each in ranges if each.size > 0)
    if max_records_per_partition is not None:
        found = [part for each in found for part in _parts(each, math.ceil(each.size / max_records_per_partition))]
    wanted = min_partitions or 0
    if len(found) >= wanted:
        return found
    parts = _parts_of_each(found, wanted)
    return [part for each, count in zip(found, parts, strict=True) for part in _parts(each, count)]


def _parts_of_each(ranges: list[OffsetRange], wanted: int) -> list[int]:
    """In proportion to their sizes, one at least; those that stay whole leave their share to the others."""
    counts = [1] * len(ranges)
    large = list(range(len(ranges)))
    while large:
        total = sum(ranges[each].size for each in large)
        share = wanted - (len(ranges) - len(large))
        small = [each for each in large if ranges[each].size * share < total]
        if not small:
            for each in large:
                counts[each] = min(math.ceil(ranges[each].size * share / total), ranges[each].size)
            break
        large = [each for each in large if each not in set(small)]
    return counts


def _parts(whole: OffsetRange, count: int) -> list[OffsetRange]:
    edges = [whole.start + whole.size * number // count for number in range(count + 1)]
    return [whole._replace(start=start, end=end) for start, end in pairwise(edges)]
