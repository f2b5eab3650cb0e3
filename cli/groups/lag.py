"""How far groups are behind: in records, how fast that changes while it is watched, and in time if that is asked."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.cli.groups.arguments import Wanted
from barnabas.cli.groups.describing import ends_of, look_at
from barnabas.cli.groups.positions import Position, positions_of
from barnabas.cli.groups.troubles import complain, trouble_with
from barnabas.cli.moments import show_duration
from barnabas.cli.output import Output, table_lines
from barnabas.cli.units import counted
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.committed import Offsets, committed_offsets
from barnabas.client.groups import Group
from barnabas.client.timestamps import timestamps_at
from barnabas.protocol.errors import KafkaError

__all__ = ["LagView", "Rates", "Row", "Sample", "rates_between", "rows_of"]

_WINDOW_S = 30.0
"""Consumers commit every few seconds: what happened between two looks may be nothing, or all of that."""
_BAR_WIDTH = 20


@dataclass(frozen=True, slots=True)
class Sample:
    """Offset and end of each partition of a group, when they were looked at."""

    at_s: float
    places: Mapping[Partition, tuple[int, int]]


@dataclass(frozen=True, slots=True)
class Rates:
    """Records a second."""

    consumed: float
    produced: float

    @property
    def lag(self) -> float:
        return self.produced - self.consumed

    def seconds_to_catch_up(self, lag: int) -> float | None:
        """None: not at this rate."""
        return lag / -self.lag if lag > 0 and self.lag < 0 else None


@dataclass(slots=True)
class Row:
    group: Group
    topic: str | None
    partition: int | None
    partitions: list[Partition] = field(default_factory=list)
    lag: int = 0
    unknown: int = 0
    """Partitions for which nothing is committed, or that have no leader: their lag is not in the sum."""
    time_lag_ms: int | None = None
    rates: Rates | None = None


def rates_between(first: Sample, last: Sample, partitions: Iterable[Partition]) -> Rates | None:
    """Of the partitions that are in both."""
    elapsed_s = last.at_s - first.at_s
    both = [each for each in partitions if each in first.places and each in last.places]
    if elapsed_s <= 0 or not both:
        return None
    consumed = sum(last.places[each][0] - first.places[each][0] for each in both)
    produced = sum(last.places[each][1] - first.places[each][1] for each in both)
    return Rates(consumed / elapsed_s, produced / elapsed_s)


def rows_of(group: Group, positions: Sequence[Position], *, by_topic: bool, by_partition: bool) -> list[Row]:
    """The group as a whole; before it, if that is asked, its topics or partitions."""
    whole = Row(group, None, None)
    parts: dict[tuple[str, int | None], Row] = {}
    for each in positions:
        key = (each.topic, each.partition if by_partition else None)
        if by_topic or by_partition:
            part = parts.setdefault(key, Row(group, *key))
            _add(part, each)
        _add(whole, each)
    return [*(parts[key] for key in sorted(parts, key=lambda key: (key[0], key[1] or 0))), whole]


def _add(row: Row, position: Position) -> None:
    row.partitions.append(Partition(position.topic, position.partition))
    if position.lag is None:
        row.unknown += 1
    else:
        row.lag += position.lag


class LagView:
    """Shown once, or again and again: then it remembers what it saw."""

    def __init__(self, cluster: Cluster, output: Output, wanted: Wanted) -> None:
        self.complained = False
        self._cluster = cluster
        self._output = output
        self._wanted = wanted
        self._samples: dict[str, deque[Sample]] = {}

    def show(self) -> None:
        rows = self._rows()
        if self._output.as_json:
            self._output.json([_as_json(row, with_time=self._wanted.options.time_lag) for row in rows])
            return
        if not rows:
            if not self.complained:
                self._output.note("There are no groups.")
            return
        self._show_table(rows)

    def _rows(self) -> list[Row]:
        groups, self.complained = look_at(self._cluster, self._output, self._wanted)
        offsets = self._committed(groups)
        now_s = time.monotonic()
        ends = ends_of(self._cluster, groups, offsets)
        options = self._wanted.options
        rows: list[Row] = []
        for group in groups:
            if group.name not in offsets:
                continue
            positions = positions_of(group, offsets[group.name], ends)
            own = rows_of(group, positions, by_topic=len(self._wanted.groups) == 1, by_partition=options.verbose)
            self._add_rates(group.name, Sample(now_s, _places(positions)), own)
            rows += own
        if options.time_lag:
            self._add_time_lags(rows, offsets, ends)
        return rows

    def _committed(self, groups: Sequence[Group]) -> dict[str, Offsets]:
        found: dict[str, Offsets] = {}
        for name, result in committed_offsets(self._cluster, [group.name for group in groups]).items():
            if isinstance(result, KafkaError):
                complain(self._output, trouble_with(self._cluster, name, result))
                self.complained = True
            else:
                found[name] = result
        return found

    def _add_rates(self, group: str, sample: Sample, rows: Sequence[Row]) -> None:
        samples = self._samples.setdefault(group, deque())
        samples.append(sample)
        while len(samples) > 2 and samples[1].at_s <= sample.at_s - _WINDOW_S:
            samples.popleft()
        for row in rows:
            row.rates = rates_between(samples[0], sample, row.partitions)

    def _add_time_lags(
        self, rows: Sequence[Row], offsets: Mapping[str, Offsets], ends: Mapping[Partition, int | None]
    ) -> None:
        """The oldest record that waits. Nothing waits: no time at all."""
        by_group: dict[str, dict[Partition, int]] = {}
        now_ms = time.time_ns() // 1_000_000
        for name, committed in offsets.items():
            waiting = {
                each: known.offset
                for each, known in committed.items()
                if (end := ends.get(each)) and end > known.offset
            }
            found = timestamps_at(self._cluster, waiting)
            by_group[name] = {
                each: max(0, now_ms - at) for each, at in found.items() if isinstance(at, int) and at >= 0
            }
        for row in rows:
            own = [age for each in row.partitions if (age := by_group[row.group.name].get(each)) is not None]
            row.time_lag_ms = max(own, default=None if row.lag else 0)

    # What people see

    def _show_table(self, rows: Sequence[Row]) -> None:
        options = self._wanted.options
        watched = options.watch is not None
        parts = options.verbose or len(self._wanted.groups) == 1
        columns = ["group", "state", "members", *(["topic"] * parts), *(["partition"] * options.verbose), "lag"]
        columns += ["time-lag"] * options.time_lag
        columns += ["lag/s", "read/s", "written/s", "caught up in", ""] * watched
        largest = max(row.lag for row in rows)
        cells = [self._cells(row, parts=parts, watched=watched, largest=largest) for row in rows]
        head, *lines = table_lines(columns, cells)
        self._output.line(head)
        for row, line in zip(rows, lines, strict=True):
            self._output.line(self._coloured(row, line))
        unknown = sum(row.unknown for row in rows if row.topic is None)
        if unknown:
            self._output.note(
                f"The lag in {counted(unknown, 'partition')} is not known: nothing is committed there, or no leader."
            )

    def _cells(self, row: Row, *, parts: bool, watched: bool, largest: int) -> list[object]:
        options = self._wanted.options
        known = row.unknown < len(row.partitions) or not row.partitions
        cells: list[object] = [row.group.name, row.group.state, len(row.group.members)]
        if parts:
            cells.append(row.topic or "(all)")
        if options.verbose:
            cells.append(row.partition)
        cells.append(row.lag if known else None)
        if options.time_lag:
            cells.append(None if row.time_lag_ms is None else show_duration(row.time_lag_ms))
        if watched:
            cells += _rate_cells(row) if known else [None] * 4
            cells.append("#" * _bar(row.lag, largest))
        return cells

    def _coloured(self, row: Row, line: str) -> str:
        if row.lag == 0:
            return self._output.good(line)
        if not row.group.members:
            return self._output.bad(line)
        return self._output.warn(line) if row.rates is None or row.rates.lag >= 0 else line


def _places(positions: Iterable[Position]) -> dict[Partition, tuple[int, int]]:
    return {
        Partition(each.topic, each.partition): (each.offset, each.end)
        for each in positions
        if each.offset is not None and each.end is not None
    }


def _rate_cells(row: Row) -> list[object]:
    rates = row.rates
    if rates is None:
        return [None] * 4
    left_s = rates.seconds_to_catch_up(row.lag)
    caught_up = "now" if row.lag == 0 else "never" if left_s is None else show_duration(left_s * 1000)
    return [*(_readable(each) for each in (rates.lag, rates.consumed, rates.produced)), caught_up]


def _readable(rate: float) -> float:
    return round(rate) if abs(rate) >= 10 else round(rate, 1)


def _bar(lag: int, largest: int) -> int:
    return max(1, round(lag / largest * _BAR_WIDTH)) if lag > 0 else 0


def _as_json(row: Row, *, with_time: bool) -> dict[str, Any]:
    rates = row.rates
    told: dict[str, Any] = {
        "group": row.group.name,
        "state": row.group.state,
        "members": len(row.group.members),
        "topic": row.topic,
        "partition": row.partition,
        "partitions": len(row.partitions),
        "partitions_unknown": row.unknown,
        "lag": row.lag,
        "lag_per_s": round(rates.lag, 3) if rates else None,
        "consumed_per_s": round(rates.consumed, 3) if rates else None,
        "produced_per_s": round(rates.produced, 3) if rates else None,
    }
    return told | ({"time_lag_ms": row.time_lag_ms} if with_time else {})
