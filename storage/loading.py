"""Opening a partition's log: what a crash left half done is finished or undone, and what it tore is cut off.

After a clean stop no batch is read but the few behind the last row of the active segment's index.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path

from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import Disk
from barnabas.storage.epochs_file import EpochsFile
from barnabas.storage.index import CorruptIndex
from barnabas.storage.log import Log
from barnabas.storage.producer_snapshots import CorruptSnapshot, ProducerSnapshots
from barnabas.storage.producer_state import ProducerState
from barnabas.storage.rebuilding import finish_sealing, rebuild_indexes, why_not_trusted
from barnabas.storage.recovery import recover_segment
from barnabas.storage.segment import Segment
from barnabas.storage.segment_reading import SUFFIXES, CorruptSegment
from barnabas.storage.topic_config import TopicConfig

__all__ = ["open_log"]

_ENDINGS = (".cleaned", ".swap", ".deleted")
"""Of files that somebody has not finished with."""

CLEANED = ".cleaned"
"""The ending of what is not whole: it is worthless after a crash, to Kafka too."""

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
    advance: Callable[[int], None] | None = None,
) -> Log:
    """The log in a directory, which is made if it is missing.

    `clean` says that whoever had it before closed it; otherwise all from `recovery_point` on is read and checked.
    `start_offset` is the checkpointed one. `report` gets a line for each thing that had to be mended, `advance` the
    bytes of each segment that has been recovered.
    """
    loader = _Loader(disk, directory, config, now_ms, producer_expiration_ms, report or _say_nothing, advance)
    return loader.open(clean, recovery_point, start_offset)


class _Loader:
    def __init__(
        self,
        disk: Disk,
        directory: Path,
        config: TopicConfig,
        now_ms: int,
        expiration_ms: int,
        report: Report,
        advance: Callable[[int], None] | None,
    ) -> None:
        if not disk.exists(directory):
            # Files that are safe in a directory that is not are lost with it.
            disk.make_directory(directory)
            disk.sync_directory(directory.parent)
        self.disk = disk
        self.directory = directory
        self.now_ms = now_ms
        self.report = report
        self.advance = advance
        self.names = disk.names(directory)
        if any(name.endswith(_ENDINGS) for name in self.names):
            self._finish_swaps()
            self.names = disk.names(directory)
        self.recovered: tuple[Segment, int] | None = None
        """The last one that was, and its next offset."""
        self.epochs_lost = False
        try:
            epochs_file = EpochsFile.load(disk, directory)
        except MalformedFile as error:
            report(f"{error.where}: {error.reason}; the epochs are read from the records again")
            self.epochs_lost = True
            epochs_file = EpochsFile(disk, directory)
        producers = ProducerState(ProducerSnapshots(disk, directory, self.names, report), expiration_ms)
        self.log = Log(
            disk,
            directory,
            config,
            segments=[],
            producers=producers,
            epochs_file=epochs_file,
            start_offset=0,
            end_offset=0,
            recovery_point=0,
        )

    def open(self, clean: bool, recovery_point: int, start_offset: int) -> Log:
        log, names = self.log, self.names
        self._remove_orphans()
        log.start_offset = start_offset
        bases = sorted(offset for name in names if (offset := _offset_of(name, ".log")) is not None)
        log.segments = [log.new_segment(base_offset, self.now_ms) for base_offset in bases]
        self._recover_where_needed(names, None if clean else recovery_point)
        self._find_end(start_offset)
        log.recovery_point = log.end_offset if clean else min(recovery_point, log.end_offset)
        log.highest_recovery_point = max(log.highest_recovery_point, log.recovery_point, recovery_point)
        self._settle_epochs(start_offset)
        self._settle_producers()
        return log

    # What was half done

    def _finish_swaps(self) -> None:
        """A cleaner writes `.cleaned` files, renames them `.swap` when they are whole, then deletes what they replace,
        and gives them their names last. So `.cleaned` is worthless, and `.swap` counts."""
        names = self.names
        cleaned = [offset for name in names if (offset := _any_offset_of(name, ".cleaned")) is not None]
        swaps = [(name, offset) for name in names if (offset := _any_offset_of(name, ".swap")) is not None]
        worthless = [name for name, offset in swaps if cleaned and offset >= min(cleaned)]
        for name in worthless:
            self.disk.remove(self.directory / name)
        if worthless:
            # Before `.cleaned`, without which they would count.
            self.disk.sync_directory(self.directory)
        for name in names:
            if name.endswith((".cleaned", ".log.deleted")) or _is_deleted_index(name):
                self.disk.remove(self.directory / name)
        left = [name for name in self.disk.names(self.directory) if name.endswith(".swap")]
        if not left:
            return
        offsets = sorted({offset for name in left if (offset := _offset_of(name, ".log.swap")) is not None})
        if offsets:
            self._delete_replaced(offsets)
            # Before the new ones have their names: an old one that came back would hold some offsets a second time.
            self.disk.sync_directory(self.directory)
        for name in sorted(self.disk.names(self.directory), key=lambda name: not name.endswith(".log.swap")):
            # The logs first: as long as one has not got its name, indexes that have are taken for old ones.
            if name.endswith(".swap"):
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
        names = self.disk.names(self.directory)
        for name in names:
            for suffix in SUFFIXES:
                offset = _offset_of(name, suffix)
                if offset is not None and (offsets[0] <= offset < end or offset in offsets):
                    self.disk.remove(self.directory / name)
                    if suffix == ".txnindex" and offset in offsets and f"{name}.swap" not in names:
                        # It may be the new one's already. Without an index that is read, and gets it again.
                        self.disk.remove(self.directory / f"{offset:020d}.index.swap")

    def _remove_orphans(self) -> None:
        for name in self.names:
            if not name.endswith(SUFFIXES[1:]) or f"{name[:20]}.log" in self.names:
                continue
            if any(_offset_of(name, suffix) is not None for suffix in SUFFIXES[1:]):
                self.report(f"{self.directory / name}: an index without a segment is deleted")
                self.disk.remove(self.directory / name)

    # What was torn

    def _recover_where_needed(self, names: list[str], recovery_point: int | None) -> None:
        """Read what may not have reached the disk, which is all from the recovery point on, and what has lost an index.
        Behind the first torn segment that was not synced, nothing can be trusted at all."""
        log = self.log
        unsynced = len(log.segments) if recovery_point is None else log.segment_number(recovery_point)
        # What a segment was sealed with may be younger than the sync that reached its end.
        sealed = unsynced if recovery_point is None else log.segment_number(recovery_point - 1)
        written = [self._written(*both) for both in pairwise(log.segments[unsynced:])]
        for number, segment in enumerate(list(log.segments)):
            rest = log.segments[number + 1 :]
            if number >= unsynced:
                torn = self._recover(segment, recovery_point or 0)
                if torn or (rest and self._ends_early(segment, rest[0], written[number - unsynced])):
                    self._cut_behind(segment, rest)
                    break
                continue
            why = why_not_trusted(log, segment, names)
            if why is None and number >= sealed:
                why = finish_sealing(segment)
            if why is not None:
                self.report(f"{why}; the indexes of this segment are built anew")
                self._rebuild(segment)
        if recovery_point is not None:
            self._drop_empty_behind_gap(unsynced)

    def _written(self, segment: Segment, following: Segment) -> dict[int, int]:
        """How far each producer has written in a segment, by the snapshot that was taken behind it, unless that is
        lost. Recovering a segment drops all later snapshots, so that this is read first."""
        snapshots = self.log.producers.snapshots
        if following.base_offset not in snapshots.offsets:
            return {}
        try:
            entries = snapshots.read(following.base_offset)
        except CorruptSnapshot:
            return {}
        return {entry.producer_id: entry.last_offset for entry in entries if entry.last_offset >= segment.base_offset}

    def _ends_early(self, segment: Segment, following: Segment, written: dict[int, int]) -> bool:
        """A power cut may take whole batches from the end of one segment, and leave the next. If it took those of a
        producer that numbers them, which the snapshot taken between the two tells, what follows has to go: they
        would be sent again, behind their successors. Else a gap is left alone: compaction leaves gaps too, and where
        it does the snapshot may know producers whose last batch is gone."""
        end = segment.read_next_offset()
        lost = [(producer_id, offset) for producer_id, offset in written.items() if offset >= end]
        if end >= following.base_offset or self.log.config.compact or not lost:
            return False
        producer_id, offset = lost[0]
        self.report(
            f"{segment.path('.log')}: ends at offset {end}, and producer {producer_id} has written up to {offset}"
        )
        return True

    def _drop_empty_behind_gap(self, unsynced: int) -> None:
        """An empty last segment that begins behind a gap would let readers wait in the gap for the next record."""
        segments = self.log.segments
        while len(segments) > max(unsynced + 1, 1) and not segments[-1].size and not self.log.config.compact:
            end = segments[-2].read_next_offset()
            if end >= segments[-1].base_offset:
                return
            self.report(f"{segments[-1].path('.log')}: is empty, and the log ends at {end}: it is deleted")
            self._cut_behind(segments[-2], segments[-1:])

    def _cut_behind(self, segment: Segment, rest: list[Segment]) -> None:
        """At once and for good: what was cut off must not come back behind what will be appended."""
        if rest:
            self.report(f"{self.directory}: {len(rest)} segments behind {segment.path('.log').name} are deleted")
        self.log.delete_segments(rest)
        segment.sync()
        self.disk.sync_directory(self.directory)

    def _recover(self, segment: Segment, recovery_point: int) -> int:
        """How many bytes were cut off."""
        log = self.log
        is_last = segment is log.segments[-1]
        self._producers_before(segment)
        recovered = recover_segment(segment, log.epochs, log.producers, goes_on=is_last, synced_offset=recovery_point)
        self.recovered = segment, recovered.next_offset
        if self.advance is not None:
            self.advance(segment.size + recovered.removed_bytes)
        if recovered.removed_bytes:
            self.report(
                f"{segment.path('.log')}: {recovered.removed_bytes} bytes from byte {segment.size} on (offset "
                f"{recovered.next_offset}) are cut off: {recovered.reason}"
            )
        if is_last:
            # The next start begins before it all the same, or the stop takes one.
            log.producers.confirm_snapshot()
        else:
            log.take_snapshot()
        return recovered.removed_bytes

    def _rebuild(self, segment: Segment) -> None:
        """The indexes of a segment at which the next start looks only if one is missing. So it has no `.index` until
        all is safe: a power cut in between must not leave one with rows of both times."""
        index = segment.offset_index
        path = index.path
        index.remove()
        self.disk.sync_directory(self.directory)
        index.path = path.with_name(path.name + CLEANED)
        self._producers_before(segment)
        for damage in rebuild_indexes(segment, self.log.epochs, self.log.producers):
            self.report(f"{damage}; it stays where it is")
        segment.sync()
        index.rename(path)
        self.disk.sync_directory(self.directory)
        self.log.producers.take_snapshot()

    def _producers_before(self, segment: Segment) -> None:
        log = self.log
        segments = log.segments
        log.end_offset = segment.base_offset
        log.segments = segments[: segments.index(segment)]
        if log.segments:
            self._reload_producers(in_doubt=True)
        else:
            log.producers.truncate_and_reload(log.start_offset, segment.base_offset, self.now_ms, in_doubt=True)
        log.segments = segments

    # What is known then

    def _find_end(self, start_offset: int) -> None:
        log = self.log
        if log.segments and self.recovered is not None and self.recovered[0] is log.active:
            log.end_offset = self.recovered[1]
        elif log.segments:
            try:
                self._check_active()
                log.end_offset = log.active.read_next_offset(checked=True)
            except CorruptSegment as error:
                # Closed cleanly, and damaged since: then nothing that is remembered of this segment counts.
                self.report(f"{error}; the segment is recovered")
                self._recover(log.active, sys.maxsize)
                # A file says where it ended when it was closed.
                log.highest_recovery_point = sys.maxsize
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

    def _check_active(self) -> None:
        try:
            self.log.active.check_last_rows()
        except CorruptIndex as error:
            self.report(f"{error}; the indexes of this segment are built anew")
            self.log.active.index_again()

    def _settle_epochs(self, start_offset: int) -> None:
        log = self.log
        if self.epochs_lost:
            self._read_epochs()
        # In this order, so that opening a log twice is opening it once: the start moves an epoch's beginning.
        log.epochs.truncate_from_start(start_offset)
        log.epochs.truncate_from_end(log.end_offset)
        if self.epochs_lost or not log.epochs_file.covers(log.recovery_point):
            # Of records that the next to open the log does not read.
            log.epochs_file.save()
        # What the file says too much does no harm until something is appended: the next to open the log cuts it again.
        log.epochs_unsaved = not log.epochs_file.is_beginning()

    def _read_epochs(self) -> None:
        """From the header of every batch."""
        epochs = self.log.epochs
        epochs.clear()
        for segment in self.log.segments:
            try:
                for batch, _ in segment.places():
                    epochs.learn(batch.partition_leader_epoch, batch.base_offset)
            except CorruptSegment as error:
                self.report(f"{error}; epochs that begin behind it in this segment are not known")

    def _settle_producers(self) -> None:
        log = self.log
        log.producers.snapshots.delete_doubted()
        log.producers.snapshots.delete_strays([segment.base_offset for segment in log.segments])
        self._reload_producers()

    def _reload_producers(self, *, in_doubt: bool = False) -> None:
        try:
            self.log.reload_producers(self.now_ms, in_doubt=in_doubt)
        except CorruptSegment as error:
            self.report(f"{error}; what producers did behind it is not known")
            self.log.producers.end_offset = self.log.end_offset


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
