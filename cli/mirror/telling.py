"""What a mirror says while it runs, and what `--status` shows of one."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from typing import Any

from barnabas.cli.mirror.lane import Lane
from barnabas.cli.mirror.map import Map
from barnabas.cli.moments import show_duration
from barnabas.cli.output import Output
from barnabas.cli.units import counted, size_text
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError
from barnabas.client.offsets import LATEST, FoundOffset, list_offsets
from barnabas.protocol.errors import KafkaError

__all__ = ["Teller", "show_status"]


class Teller:
    def __init__(self, output: Output) -> None:
        self._output = output
        self._groups: set[str] = set()
        self._before = (time.monotonic(), 0, 0)

    def note(self, text: str) -> None:
        self._output.note(text)

    def groups_moved(self, names: Iterable[str]) -> None:
        self._groups |= set(names)

    def report(self, lanes: Iterable[Lane], records: int, size: int) -> None:
        every = list(lanes)
        lag = sum(lane.lag for lane in every)
        now_s = time.monotonic()
        before_s, records_before, size_before = self._before
        self._before = now_s, records, size
        seconds = max(now_s - before_s, 1e-9)
        rate, rate_bytes = (records - records_before) / seconds, (size - size_before) / seconds
        groups = sorted(self._groups)
        self._groups.clear()
        if self._output.as_json:
            self._output.json(
                {
                    "records": records,
                    "bytes": size,
                    "records_per_second": round(rate, 1),
                    "bytes_per_second": round(rate_bytes, 1),
                    "lag": lag,
                    "groups": groups,
                    "partitions": [_lane_json(lane) for lane in every],
                }
            )
            return
        worst = max(every, key=lambda lane: lane.lag, default=None)
        where = f", most of it of {worst.source}" if worst is not None and worst.lag else ""
        moved = f"; groups moved: {', '.join(groups)}" if groups else ""
        self._output.line(
            f"{records:,} records, {rate:,.0f} a second ({size_text(rate_bytes)}); "
            f"lag {lag:,} in {counted(len(every), 'partition')}{where}{moved}"
        )
        sys.stdout.flush()


def _lane_json(lane: Lane) -> dict[str, Any]:
    return {
        "topic": lane.source.topic,
        "partition": lane.source.number,
        "to_topic": lane.target.topic,
        "next": lane.next,
        "target": lane.target_next,
        "lag": lane.lag,
    }


def show_status(source: Cluster | None, found: Map, output: Output) -> None:
    """By the map; and by the source, if it answers."""
    positions = sorted(found.positions.items())
    ends = _ends(source, [partition for partition, _ in positions], output)
    rows = [
        (partition.topic, partition.number, at.next, at.target, len(found.runs(partition, at.id)), ends.get(partition))
        for partition, at in positions
    ]
    lags = [None if end is None else max(0, end - following) for _, _, following, _, _, end in rows]
    beat, mirror = found.heartbeat, found.mirror
    ago_ms = None if beat is None else time.time_ns() // 1_000_000 - beat.time_ms
    if output.as_json:
        names = ("topic", "partition", "next", "target", "runs", "end")
        output.json(
            {
                "source": None if mirror is None else mirror.source,
                "prefix": None if mirror is None else mirror.prefix,
                "heartbeat": None if beat is None else beat._asdict() | {"ago_ms": ago_ms},
                "partitions": [
                    dict(zip(names, row, strict=True)) | {"lag": lag} for row, lag in zip(rows, lags, strict=True)
                ],
            }
        )
        return
    if mirror is not None:
        prefix = f", with the prefix {mirror.prefix}" if mirror.prefix else ""
        output.line(f"Mirror of the cluster {mirror.source}{prefix}")
    if beat is not None and ago_ms is not None:
        output.line(f"Last sign of life {show_duration(max(0, ago_ms))} ago; its lag was {beat.lag:,} then")
    headers = ("topic", "partition", "next", "at the target", "runs", "end at the source", "lag")
    output.table(headers, [(*row, lag) for row, lag in zip(rows, lags, strict=True)])


def _ends(source: Cluster | None, partitions: list[Partition], output: Output) -> dict[Partition, int]:
    if source is None or not partitions:
        return {}
    try:
        found = list_offsets(source, dict.fromkeys(partitions, LATEST), committed=True, patient=False)
    except (ClientError, KafkaError) as error:
        output.note(f"The source cannot be asked: {error}")
        return {}
    return {partition: told.offset for partition, told in found.items() if isinstance(told, FoundOffset)}
