"""`reassign progress`, and `execute --wait`: how much of what moves is copied, and how long the rest will take."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.cluster.reassign.looking import moving
from barnabas.cli.moments import show_duration
from barnabas.cli.output import Output
from barnabas.cli.units import size_text
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.errors import ClientError
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
)

__all__ = ["Copy", "copies", "show_progress", "wait_for_all"]

_PAUSE_S = 1.0
_HEADERS = ("partition", "to broker", "directory", "copied", "of", "part", "records behind", "a second", "left")


class Copy(NamedTuple):
    """A replica that is being made, on another broker or in another directory of the same one."""

    partition: Partition
    broker: int
    directory: str | None
    """None: its broker has not made it yet, or cannot be asked."""
    within_broker: bool
    copied_bytes: int
    total_bytes: int | None
    """How large the log is that is copied; None where nobody can be asked who has it."""
    lag: int | None
    """In records."""

    @property
    def left_bytes(self) -> int:
        return max(0, (self.total_bytes or 0) - self.copied_bytes)


class _Log(NamedTuple):
    directory: str
    found: DescribeLogDirsPartition


def copies(cluster: Cluster, only: Iterable[Partition] | None = None) -> list[Copy]:
    """All that are under way, or those of certain partitions."""
    logs, futures = _logs(cluster)
    found = []
    for partition, each in moving(cluster).items():
        sizes = [
            log.found.partition_size
            for node in each.replicas
            if node not in each.adding and (log := logs.get((partition, node))) is not None
        ]
        for node in each.adding:
            log = logs.get((partition, node))
            copied, lag = (0, None) if log is None else (log.found.partition_size, log.found.offset_lag)
            directory = None if log is None else log.directory
            found.append(Copy(partition, node, directory, False, copied, max(sizes, default=None), lag))
    for (partition, node), future in futures.items():
        whole = logs.get((partition, node))
        total = None if whole is None else whole.found.partition_size
        copied, lag = future.found.partition_size, future.found.offset_lag
        found.append(Copy(partition, node, future.directory, True, copied, total, lag))
    wanted = None if only is None else set(only)
    return sorted(each for each in found if wanted is None or each.partition in wanted)


def _logs(
    cluster: Cluster,
) -> tuple[Mapping[tuple[Partition, int], _Log], Mapping[tuple[Partition, int], _Log]]:
    """Those that count, and those that will when they are whole. Of brokers that cannot be asked nothing is known."""
    logs: dict[tuple[Partition, int], _Log] = {}
    futures: dict[tuple[Partition, int], _Log] = {}
    cluster.metadata(topics=[])  # who is there may have changed while a reassignment was looked at
    for node in cluster.nodes:
        try:
            answer = cluster.ask_node(node.node_id, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
            check(answer.error_code)
        except (ClientError, KafkaError):
            continue
        for directory in answer.results:
            for topic in directory.topics:
                for each in topic.partitions:
                    which = futures if each.is_future_key else logs
                    which[Partition(topic.name, each.partition_index), node.node_id] = _Log(directory.log_dir, each)
    return logs, futures


class _Rates:
    """By what was copied since the look before."""

    def __init__(self) -> None:
        self._before: dict[tuple[Partition, int], tuple[float, int]] = {}

    def rate(self, copy: Copy) -> float | None:
        """None with the first look."""
        now, key = time.monotonic(), (copy.partition, copy.broker)
        before = self._before.get(key)
        self._before[key] = now, copy.copied_bytes
        if before is None or now <= before[0]:
            return None
        return max(0.0, (copy.copied_bytes - before[1]) / (now - before[0]))


def show_progress(cluster: Cluster, output: Output, every_s: float | None) -> None:
    """Once, or until nothing moves any more."""
    rates = _Rates()
    while found := _tell(copies(cluster), rates, output, again=every_s is not None):
        if every_s is None:
            return
        sys.stdout.flush()
        time.sleep(every_s)
    if not found and not output.as_json:
        output.line("Nothing is being moved.")


def wait_for_all(cluster: Cluster, partitions: Iterable[Partition], output: Output) -> None:
    """Until none of them moves. How far it is is shown on a terminal alone."""
    wanted, rates = list(partitions), _Rates()
    shown = Output(stream=sys.stderr)
    try:
        while found := copies(cluster, wanted):
            if sys.stderr.isatty():
                _tell(found, rates, shown, again=True)
            time.sleep(_PAUSE_S)
    except KeyboardInterrupt:
        output.note("What was begun goes on: barnabas cluster reassign progress shows how far it is.")
        raise


def _tell(found: list[Copy], rates: _Rates, output: Output, *, again: bool) -> bool:
    if output.as_json:
        output.json([_told(each) for each in found])
    elif found:
        output.table(_HEADERS, [_row(each, rates.rate(each)) for each in found])
        if again:
            output.line()
    return bool(found)


def _told(copy: Copy) -> dict[str, object]:
    topic, number = copy.partition
    return {**copy._asdict(), "topic": topic, "partition": number}


def _row(copy: Copy, rate: float | None) -> list[object]:
    total = copy.total_bytes
    part = None if total is None else f"{min(1.0, copy.copied_bytes / total) if total else 1.0:.0%}"
    left = None if not rate or total is None else show_duration(copy.left_bytes / rate * 1000)
    return [
        str(copy.partition),
        f"{copy.broker} (itself)" if copy.within_broker else str(copy.broker),
        copy.directory,
        size_text(copy.copied_bytes),
        None if total is None else size_text(total),
        part,
        copy.lag,
        None if rate is None else size_text(rate),
        left,
    ]
