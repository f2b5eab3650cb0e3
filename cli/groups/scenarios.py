"""Where --to-earliest and the other scenarios put a group in the partitions it names."""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable, Iterable, Mapping

from barnabas.cli.failures import CommandFailed
from barnabas.cli.moments import duration_ms, timestamp_ms
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Offsets
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from barnabas.protocol.errors import KafkaError

__all__ = ["Note", "at_timestamp", "current", "offsets_at", "shifted", "timestamp_wanted", "within", "within_limits"]

Note = Callable[[str], None]


def offsets_at(cluster: Cluster, partitions: Iterable[Partition], timestamp: int) -> dict[Partition, int]:
    """CommandFailed for a partition that does not answer: half a reset is none."""
    found = list_offsets(cluster, dict.fromkeys(partitions, timestamp))
    failed = [f"{partition} ({each.code.name})" for partition, each in found.items() if isinstance(each, KafkaError)]
    if failed:
        raise CommandFailed(f"The offsets of {', '.join(failed)} cannot be told; see barnabas topics --describe.")
    return {partition: result.offset for partition, result in found.items() if isinstance(result, FoundOffset)}


def timestamp_wanted(options: argparse.Namespace) -> int | None:
    """Read once for all groups; WrongUsage if it is none."""
    if options.to_datetime is not None:
        return timestamp_ms(options.to_datetime)
    if options.by_duration is not None:
        # Before 1970 there is nothing, and numbers below 0 mean something else.
        return max(0, time.time_ns() // 1_000_000 - duration_ms(options.by_duration))
    return None


def at_timestamp(cluster: Cluster, partitions: Iterable[Partition], timestamp: int, note: Note) -> dict[Partition, int]:
    """The first record that young; the end where there is none."""
    found = offsets_at(cluster, partitions, timestamp)
    without = [partition for partition, offset in found.items() if offset < 0]
    for partition in without:
        note(f"{partition} has no record that young: its end is taken.")
    return found | offsets_at(cluster, without, LATEST)


def within_limits(cluster: Cluster, offsets: Mapping[Partition, int], note: Note) -> dict[Partition, int]:
    starts, ends = offsets_at(cluster, offsets, EARLIEST), offsets_at(cluster, offsets, LATEST)
    return {partition: within(partition, each, starts, ends, note) for partition, each in offsets.items()}


def within(
    partition: Partition, offset: int, starts: Mapping[Partition, int], ends: Mapping[Partition, int], note: Note
) -> int:
    if offset > ends[partition]:
        note(f"{partition} ends at {ends[partition]}, before {offset}: its end is taken.")
        return ends[partition]
    if offset < starts[partition]:
        note(f"{partition} begins at {starts[partition]}, behind {offset}: its beginning is taken.")
        return starts[partition]
    return offset


def shifted(partitions: Iterable[Partition], committed: Offsets, by: int) -> dict[Partition, int]:
    wanted = list(partitions)
    missing = [str(partition) for partition in wanted if partition not in committed]
    if missing:
        raise CommandFailed(
            f"The group has committed nothing for {', '.join(missing)}, so that there is nothing to shift: "
            "use --to-earliest, --to-latest or --to-datetime."
        )
    return {partition: committed[partition].offset + by for partition in wanted}


def current(cluster: Cluster, partitions: Iterable[Partition], committed: Offsets) -> dict[Partition, int]:
    """What is committed, without its metadata; the end where nothing is."""
    wanted = list(partitions)
    known = {partition: committed[partition].offset for partition in wanted if partition in committed}
    return known | offsets_at(cluster, [each for each in wanted if each not in known], LATEST)
