"""What goes to the process that compacts, and what comes back: plain values (compaction_messages.py sends them)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

from barnabas.storage.compaction_filter import LastRecord
from barnabas.storage.compaction_plan import CompactionPlan
from barnabas.storage.log import Log
from barnabas.storage.segment_reading import file_name

__all__ = [
    "CLEANED",
    "DEDUPE_BUFFER_BYTES",
    "DEDUPE_BUFFER_LOAD_FACTOR",
    "CleanedSegment",
    "CompactionJob",
    "SourceSegment",
    "compaction_job",
]

CLEANED = ".cleaned"

DEDUPE_BUFFER_BYTES = 128 << 20
"""log.cleaner.dedupe.buffer.size; where several compactions run at once, each has its share."""

DEDUPE_BUFFER_LOAD_FACTOR = 0.9
"""log.cleaner.io.buffer.load.factor"""


class SourceSegment(NamedTuple):
    base_offset: int
    size: int


@dataclass(frozen=True, slots=True)
class CompactionJob:
    directory: Path
    sources: tuple[SourceSegment, ...]
    following: tuple[int, ...]
    """Base offsets of the segments behind them, in which their transactions may end."""
    first_dirty_offset: int
    end_offset: int
    now_ms: int
    delete_retention_ms: int
    segment_bytes: int
    segment_index_bytes: int
    index_interval_bytes: int
    last_records: Mapping[int, LastRecord] = field(repr=False)
    map_bytes: int
    map_load_factor: float
    cuts: int
    """How often the log had been cut off."""

    @property
    def ends(self) -> list[int]:
        """Of each source, the offset at which the next segment begins."""
        return [*(source.base_offset for source in self.sources[1:]), self.end_offset]

    @property
    def bytes_to_read(self) -> int:
        """The dirty part is read twice. Where the map is too small for it, less will be read."""
        sizes = [source.size for source in self.sources]
        dirty = [size for size, end in zip(sizes, self.ends, strict=True) if end > self.first_dirty_offset]
        return sum(sizes) + sum(dirty)

    def path(self, base_offset: int, suffix: str) -> Path:
        return self.directory / file_name(base_offset, suffix)


class CleanedSegment(NamedTuple):
    """Its files are named `.cleaned`, whole and synced."""

    base_offset: int
    size: int
    sources: tuple[SourceSegment, ...]
    clean_offset: int
    """Up to where the log will be clean when the last segment of this round has been swapped in."""
    is_last: bool
    keyless_records: int
    """Records that went because they had no key, in this round up to here."""


def compaction_job(
    log: Log,
    plan: CompactionPlan,
    now_ms: int,
    *,
    map_bytes: int = DEDUPE_BUFFER_BYTES,
    map_load_factor: float = DEDUPE_BUFFER_LOAD_FACTOR,
) -> CompactionJob:
    assert plan.first_dirty_offset < plan.end_offset, f"{log} has nothing to compact"
    closed = [segment for segment in log.segments[:-1] if segment.base_offset < plan.end_offset]
    producers = log.producers.producers
    return CompactionJob(
        directory=log.directory,
        sources=tuple(SourceSegment(segment.base_offset, segment.size) for segment in closed),
        following=tuple(segment.base_offset for segment in log.segments[len(closed) :]),
        first_dirty_offset=plan.first_dirty_offset,
        end_offset=plan.end_offset,
        now_ms=now_ms,
        delete_retention_ms=log.config.delete_retention_ms,
        segment_bytes=log.config.roll_bytes,
        segment_index_bytes=log.config.segment_index_bytes,
        index_interval_bytes=log.config.index_interval_bytes,
        last_records={key: LastRecord(one.last_data_offset, one.epoch) for key, one in producers.items()},
        map_bytes=map_bytes,
        map_load_factor=map_load_factor,
        cuts=log.cuts,
    )
