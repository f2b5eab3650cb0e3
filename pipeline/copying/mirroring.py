"""What a task of the mirror does: the records of one partition, as they are, behind those that are at the target."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import chain, groupby
from typing import Any, NamedTuple

import msgspec

from barnabas.pipeline.copying.offset_map import MapKey, MapValue, Run, runs_of
from barnabas.pipeline.copying.rows import as_row, size_of
from barnabas.pipeline.copying.target import Found, Target, is_same
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.writing import Row, Writer

__all__ = ["ANEW", "MOVED", "Copying", "Incoming", "Position", "Sent", "copy"]

MOVED = "is not where it was when this batch began"
"""In what a task says whose partition has grown: by another task, which was given up, or by somebody else."""
ANEW = "Let nobody else write, and mirror anew into topics that are empty: give another [mirror] prefix."
_CHUNK_RECORDS = 10_000
_CHUNK_BYTES = 8 << 20

Incoming = tuple[Any, ...]
"""topic, partition, offset, and CONTENT of rows.py."""


class Position(NamedTuple):
    """From where a partition goes on, as the driver has found it."""

    id: str
    end: int
    """Of the target."""
    next_source: int
    last: Run | None
    again: Sequence[Run]
    """Of what comes again, where it is at the target."""


class Copying(NamedTuple):
    reading: Mapping[str, str]
    writing: Mapping[str, str]
    map_topic: str
    names: Mapping[str, str]
    """What topics are called at the target."""
    positions: Mapping[tuple[str, int], Position]


class Sent(NamedTuple):
    topic: str
    partition: int
    records: int
    bytes: int


def copy(copying: Copying, incoming: Iterable[Incoming]) -> Iterator[Sent]:
    """The rows of a task are one partition's, in the order of their offsets."""
    rows = iter(incoming)
    first = next(rows, None)
    if first is None:
        return
    with Target(copying.reading) as target, Writer(copying.writing) as writer:
        for (topic, partition), of_partition in groupby(chain([first], rows), key=lambda row: (row[0], row[1])):
            if (topic, partition) not in copying.positions:
                raise PipelineFailed(f"{topic}-{partition} was deleted while it was mirrored: start the mirror again.")
            yield _Copy(copying, topic, partition, target, writer).take(of_partition)


class _Copy:
    def __init__(self, copying: Copying, topic: str, partition: int, target: Target, writer: Writer) -> None:
        self._topic = topic
        self._name = copying.names[topic]
        self._partition = partition
        self._map_topic = copying.map_topic
        self._position = copying.positions[topic, partition]
        self._target = target
        self._writer = writer

    def take(self, incoming: Iterable[Incoming]) -> Sent:
        position = self._position
        end = self._target.bounds(self._name, self._partition)[1]
        if end != position.end:
            raise PipelineFailed(
                f"{self._name}-{self._partition} {MOVED}: it ended at {position.end}, and is at {end}."
            )
        there = _There(self._target, self._name, self._partition, position)
        last = position.last
        records = total = 0
        for chunk in _chunks(there.pass_over(incoming)):
            runs = list(runs_of(position.id, [offset for offset, _ in chunk], end, last))
            self._writer.send(self._plan(run, end) for run in runs)
            places = self._writer.send(row for _, row in chunk)
            if [place.offset for place in places] != list(range(end, end + len(chunk))):
                raise PipelineFailed(
                    f"Somebody else writes into {self._name}-{self._partition}, from offset {end} on. {ANEW}"
                )
            last = runs[-1]
            end += len(chunk)
            records += len(chunk)
            total += sum(size_of(row) for _, row in chunk)
        if records:
            assert last is not None
            # Spark will not bring these again: that they have arrived is known for as long as the map is.
            self._writer.send([self._plan(last, end)])
        return Sent(self._topic, self._partition, records, total)

    def _plan(self, run: Run, end: int) -> Row:
        key = MapKey(self._name, self._partition, run.id, run.source)
        value = MapValue(run.target, run.count, end)
        return Row(self._map_topic, msgspec.json.encode(key), msgspec.json.encode(value), partition=0)


class _There:
    """What comes again, since the batch was not finished: it has to be what the target has."""

    def __init__(self, target: Target, name: str, partition: int, position: Position) -> None:
        self._target = target
        self._name = name
        self._partition = partition
        self._position = position
        self._runs = list(position.again)
        self._found: Iterator[Found] | None = None
        self._one: Found | None = None

    def pass_over(self, incoming: Iterable[Incoming]) -> Iterator[tuple[int, Row]]:
        for _, _, offset, *content in incoming:
            row = as_row(self._name, self._partition, content)
            if offset >= self._position.next_source:
                yield offset, row
            else:
                self._check(offset, row)

    def _check(self, source: int, row: Row) -> None:
        while self._runs and self._runs[0].source_end <= source:
            del self._runs[0]
        if not self._runs or source < self._runs[0].source:
            return
        offset = self._runs[0].target + source - self._runs[0].source
        if self._found is None:
            self._found = self._target.records(self._name, self._partition, offset, self._position.end)
            self._one = next(self._found, None)
        while self._one is not None and self._one.offset < offset:
            self._one = next(self._found, None)
        if self._one is not None and self._one.offset == offset and not is_same(self._one.row, row):
            raise PipelineFailed(
                f"{self._name}-{self._partition} has another record at offset {offset} than its source at {source}: "
                f"somebody else writes into it, or the source's log was cut. {ANEW}"
            )


def _chunks(rows: Iterable[tuple[int, Row]]) -> Iterator[list[tuple[int, Row]]]:
    chunk: list[tuple[int, Row]] = []
    size = 0
    for row in rows:
        chunk.append(row)
        size += size_of(row[1])
        if len(chunk) >= _CHUNK_RECORDS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size = [], 0
    if chunk:
        yield chunk
