"""What a task of a replay does: the rows of some partitions of the target, each partition's in one order."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Any, NamedTuple

from barnabas.pipeline.copying.rows import as_row, size_of
from barnabas.pipeline.copying.target import Target, is_same
from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.writing import Row, Writer

__all__ = ["ANEW", "COLUMNS", "MOVED", "Replaying", "check", "send"]

COLUMNS = ("slot", "target", "partition", "unix_micros(landed)", "offset")
"""What a row has before rows.CONTENT."""
ANEW = "Replay anew into a topic that nobody else writes into."
MOVED = "does not end where it did when the replay began"
"""In what a task says whose partition has grown: by another task, which was given up, or by somebody else."""
_CHUNK_RECORDS = 10_000
_CHUNK_BYTES = 8 << 20
_CHUNK_S = 0.1
"""At a rate, so long at most until what is due is sent."""
_LATE_S = 1.0
"""What could not be sent for longer is not made up for."""


class Replaying(NamedTuple):
    properties: Mapping[str, str]
    topic: str
    bases: Mapping[int, int]
    """Of each partition of the target the offset of the first row."""
    ends: Mapping[int, int]
    """Where it ended when the driver looked."""
    rates: Mapping[int, float]
    """Records a second of each slot; none: as fast as it goes."""


def send(replaying: Replaying, incoming: Iterable[Sequence[Any]]) -> Iterator[tuple[int, int, int]]:
    """Of each partition of the target how many records there are of it now, and how many of them were sent here."""
    left = {target: replaying.ends[target] - base for target, base in replaying.bases.items()}
    ends = dict(replaying.ends)
    all_of, sent = Counter[int](), Counter[int]()
    with Target(replaying.properties) as there, Writer(replaying.properties) as writer:
        for chunk in _chunks(_rows(replaying, incoming, left, all_of, there), bool(replaying.rates)):
            for row, place in zip(chunk, writer.send(chunk), strict=True):
                if place.offset != ends[place.partition]:
                    name = f"{row.topic}-{place.partition}"
                    raise PipelineFailed(f"Somebody else writes into {name}, from {ends[place.partition]} on. {ANEW}")
                ends[place.partition] += 1
                sent[place.partition] += 1
    for target, count in all_of.items():
        yield target, count, sent[target]


def _rows(
    replaying: Replaying,
    incoming: Iterable[Sequence[Any]],
    left: dict[int, int],
    all_of: Counter[int],
    there: Target,
) -> Iterator[Row]:
    """Those that are still to be sent, when they are due."""
    pace: _Pace | None = None
    for slot, target, *content in _once(incoming):
        if not all_of[target]:
            _check_end(replaying, target, there)
        all_of[target] += 1
        if left[target] > 0:
            left[target] -= 1
            continue
        if replaying.rates:
            pace = pace or _Pace(replaying.rates[slot])
            pace.wait()
        yield as_row(replaying.topic, target, content)


def _check_end(replaying: Replaying, target: int, there: Target) -> None:
    end = there.bounds(replaying.topic, target)[1]
    if end != replaying.ends[target]:
        raise PipelineFailed(
            f"{replaying.topic}-{target} {MOVED}: it was {replaying.ends[target]}, and is {end}. {ANEW}"
        )


def check(replaying: Replaying, incoming: Iterable[Sequence[Any]]) -> Iterator[tuple[int, int]]:
    """Rows come by partition of the target: what each has is the beginning of them. How many those are."""
    with Target(replaying.properties) as there:
        for target, rows in groupby(_once(incoming), key=lambda row: row[1]):
            base, end = replaying.bases[target], replaying.ends[target]
            found = there.records(replaying.topic, target, base, end)
            one = next(found, None)
            offset = base
            for _, _, *content in rows:
                while one is not None and one.offset < offset:
                    one = next(found, None)
                if one is None:
                    break
                if one.offset == offset and not is_same(one.row, as_row(replaying.topic, target, content)):
                    raise PipelineFailed(
                        f"{replaying.topic}-{target} has another record at offset {offset} than is replayed there: "
                        f"somebody else writes into it. {ANEW}"
                    )
                offset += 1
            yield target, end - base


def _once(incoming: Iterable[Sequence[Any]]) -> Iterator[Sequence[Any]]:
    """While a lake's files are merged, a record may be in an old file and in the new one."""
    before: dict[tuple[int, int], tuple[int, int]] = {}
    for slot, target, partition, landed, offset, *content in incoming:
        if before.get((target, partition)) != (landed, offset):
            before[target, partition] = (landed, offset)
            yield slot, target, *content


def _chunks(rows: Iterable[Row], at_a_rate: bool) -> Iterator[list[Row]]:
    chunk: list[Row] = []
    size, began = 0, time.monotonic()
    for row in rows:
        chunk.append(row)
        size += size_of(row)
        late = at_a_rate and time.monotonic() - began >= _CHUNK_S
        if late or len(chunk) >= _CHUNK_RECORDS or size >= _CHUNK_BYTES:
            yield chunk
            chunk, size, began = [], 0, time.monotonic()
    if chunk:
        yield chunk


class _Pace:
    def __init__(self, rate: float) -> None:
        self._interval_s = 1 / rate
        self._due = time.monotonic()

    def wait(self) -> None:
        now = time.monotonic()
        if now < self._due:
            time.sleep(self._due - now)
        elif now > self._due + _LATE_S:
            self._due = now
        self._due += self._interval_s
