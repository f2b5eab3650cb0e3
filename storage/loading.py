"""Opening a partition's log: what a crash left half done is finished or undone, and what it tore is cut off.

After a clean stop no batch is read but the few behind the last row of the active segment's index.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

from barnabas.storage.disk import Disk
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.recovery import recover_segment
from barnabas.storage.segment import SUFFIXES, CorruptSegment, Segment
from barnabas.storage.topic_config import TopicConfig
from barnabas.storage.transaction_index import CorruptTransactionIndex

__all__ = ["open_log"]

Report = Callable[[str], None]


def open_log(
    disk: Disk,
    directory: Path,
    config: TopicConfig,
    *,
    now_ms: int,
    clean: bool,
    recovery_point: int = 0,
    start_offset: int = 0,
    producer_expiration_ms: int = 86_400_000,
    report: Report | None = None,
) -> Log:
    """The log in a directory, which is made if it is missing.

    `clean` says that whoever had it before closed it; otherwise all from `recovery_point` on is read and checked.
    `start_offset` is the checkpointed one. `report` gets a line for each thing that had to be mended.
    """
    return _Loader(disk, directory, config, now_ms, producer_expiration_ms, report or _say_nothing).open(
        clean, recovery_point, start_offset
    )


class _Loader:
    def __init__(
        self, disk: Disk, directory: Path, config: TopicConfig, now_ms: int, expiration_ms: int, report: Report
    ) -> None:
        disk.make_directory(directory)
        self.disk = disk
        self.directory = directory
        self.now_ms = now_ms
        self.report = report
        self._finish_swaps()
        epochs = LeaderEpochs.load(disk, directory)
        producers = ProducerState(ProducerSnapshots(disk, directory), expiration_ms)
        self.log = Log(
            disk,
            directory,
            config,
            segments=[],
            producers=producers,
            epochs=epochs,
            start_offset=0,
            end_offset=0,
            recovery_point=0,
        )

    def open(self, clean: bool, recovery_point: int, start_offset: int) -> Log:
        log = self.log
        names = self.disk.names(self.directory)
        self._remove_orphans(names)
        log.start_offset = start_offset
        bases = sorted(offset for name in names if (offset := _offset_of(name, ".log")) is not None)
        log.segments = [log.new_segment(base_offset, self.now_ms) for base_offset in bases]
        self._recover_where_needed(names, None if clean else recovery_point)
        self._find_end(start_offset)
        log.recovery_point = log.end_offset if clean else min(recovery_point, log.end_offset)
        self._settle_epochs(start_offset)
        self._settle_producers()
        return log

    # What was half done

    def _finish_swaps(self) -> None:
        """A cleaner writes `.cleaned` files, renames them `.swap` when they are whole, then deletes what they replace,
        and gives them their names last. So `.cleaned` is worthless, and `.swap` counts."""
        names = self.disk.names(self.directory)
        cleaned = [offset for name in names if (offset := _any_offset_of(name, ".cleaned")) is not None]
        for name in names:
            offset = _any_offset_of(name, ".swap")
            worthless = offset is not None and cleaned and offset >= min(cleaned)
            if worthless or name.endswith((".cleaned", ".log.deleted")) or _is_deleted_index(name):
                self.disk.remove(self.directory / name)
        swaps = [name for name in self.disk.names(self.directory) if name.endswith(".swap")]
        if not swaps:
            return
        offsets = sorted({offset for name in swaps if (offset := _offset_of(name, ".log.swap")) is not None})
        if offsets:
            self._delete_replaced(offsets)
        for name in swaps:
            self.disk.rename(self.directory / name, self.directory / name.removesuffix(".swap"))
        self.disk.sync_directory(self.directory)
        self.report(f"{self.directory}: a compaction that was interrupted has been completed")

    def _delete_replaced(self, offsets: list[int]) -> None:
        """Segments between the first and the last offset of the new ones have been compacted into these."""
        last = Segment(
            self.disk,
            self.directory,
            offsets[-1],
            index_max_bytes=0,
            index_interval_bytes=0,
            created_ms=self.now_ms,
            suffix=".swap",
        )
        end = last.read_next_offset()
        last.offset_index.close()
        for name in self.disk.names(self.directory):
            for suffix in SUFFIXES:
                offset = _offset_of(name, suffix)
                if offset is not None and offsets[0] <= offset < end:
                    self.disk.remove(self.directory / name)

    def _remove_orphans(self, names: list[str]) -> None:
        for name in names:
            for suffix in SUFFIXES[1:]:
                offset = _offset_of(name, suffix)
                if offset is not None and f"{offset:020d}.log" not in names:
                    self.report(f"{self.directory / name}: an index without a segment is deleted")
                    self.disk.remove(self.directory / name)

    # What was torn

    def _recover_where_needed(self, names: list[str], recovery_point: int | None) -> None:
        """Read what may not have reached the disk, which is all from the recovery point on, and what has lost an index.
        Behind the first torn segment that was not synced, nothing can be trusted at all."""
        log = self.log
        unsynced = len(log.segments) if recovery_point is None else log.segment_number(recovery_point)
        for number, segment in enumerate(list(log.segments)):
            if number >= unsynced:
                if self._recover(segment):
                    rest = log.segments[number + 1 :]
                    if rest:
                        self.report(f"{self.directory}: {len(rest)} segments behind it are deleted")
                    log.delete_segments(rest)
                    break
            elif not self._has_indexes(segment, names):
                self.report(f"{segment.path('.log')}: an index is missing or corrupt and is built anew")
                self._recover(segment)

    def _has_indexes(self, segment: Segment, names: list[str]) -> bool:
        """Kafka too looks only whether they are there: after a crash they are built anew, and otherwise trusted."""
        if segment.path(".index").name not in names or segment.path(".timeindex").name not in names:
            return segment.size == 0
        try:
            segment.transaction_index.check()
        except CorruptTransactionIndex:
            return False
        return True

    def _recover(self, segment: Segment) -> int:
        """How many bytes were cut off."""
        log = self.log
        following = log.segments[log.segments.index(segment) + 1 :]
        log.segments = [each for each in log.segments if each not in following]
        log.end_offset = segment.base_offset
        others = log.segments[:-1]
        if others:
            log.segments = others
            log.reload_producers(self.now_ms)
        else:
            log.producers.truncate_and_reload(log.start_offset, segment.base_offset, self.now_ms)
        recovered = recover_segment(segment, log.epochs, log.producers)
        log.segments = [*others, segment, *following]
        if recovered.removed_bytes:
            self.report(
                f"{segment.path('.log')}: {recovered.removed_bytes} bytes from byte {segment.size} on (offset "
                f"{recovered.next_offset}) are cut off: {recovered.reason}"
            )
        log.producers.take_snapshot()
        return recovered.removed_bytes

    # What is known then

    def _find_end(self, start_offset: int) -> None:
        log = self.log
        if log.segments:
            try:
                log.end_offset = log.active.read_next_offset()
            except CorruptSegment as error:
                # Closed cleanly, and damaged since: then nothing that is remembered of this segment counts.
                self.report(f"{error}; the segment is recovered")
                self._recover(log.active)
                log.end_offset = log.active.read_next_offset()
        if log.segments and log.end_offset < start_offset:
            self.report(f"{self.directory}: ends at {log.end_offset}, before its start {start_offset}: it begins anew")
            log.delete_segments(list(log.segments))
            log.epochs.clear()
        if not log.segments:
            log.segments.append(log.new_segment(start_offset, self.now_ms))
            log.end_offset = start_offset
            log.producers.truncate_fully_and_start_at(start_offset)
        log.start_offset = max(start_offset, log.segments[0].base_offset)

    def _settle_epochs(self, start_offset: int) -> None:
        log = self.log
        log.epochs.truncate_from_end(log.end_offset)
        log.epochs.truncate_from_start(start_offset)
        if log.epochs.dirty:
            log.epochs.save(self.disk, self.directory)

    def _settle_producers(self) -> None:
        log = self.log
        log.producers.snapshots.delete_strays([segment.base_offset for segment in log.segments])
        log.reload_producers(self.now_ms)


def _say_nothing(_line: str) -> None:
    """For those who do not want to know."""


def _offset_of(name: str, suffix: str) -> int | None:
    digits = name.removesuffix(suffix)
    return int(digits) if digits != name and len(digits) == 20 and digits.isdecimal() else None


def _any_offset_of(name: str, ending: str) -> int | None:
    """The offset of any file of a segment that has the further ending."""
    for suffix in SUFFIXES:
        offset = _offset_of(name, suffix + ending)
        if offset is not None:
            return offset
    return None


def _is_deleted_index(name: str) -> bool:
    return _any_offset_of(name, ".deleted") is not None
