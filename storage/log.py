"""The log of one partition: segments, one after the other, and what is known of producers and leaders. What is asked
of it is in log_reading.py; this is what changes it.

Batches come in with their headers checked (protocol/batch_rules.py) and are appended as they are; the leader only
stamps their offsets and its epoch. Nothing here waits or knows of other replicas: what is to be synced or deleted is
handed to whoever has a thread for it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path
from struct import Struct
from typing import NamedTuple

from barnabas.protocol.batches import (
    LOG_OVERHEAD_BYTES,
    NO_TIMESTAMP,
    Batch,
    TimestampType,
    iterate_batches,
    set_max_timestamp,
)
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.varint import Bytes
from barnabas.storage.birth import Birth
from barnabas.storage.disk import Disk, File
from barnabas.storage.durability import Unsynced
from barnabas.storage.epochs_file import EpochsFile
from barnabas.storage.log_reading import ReadableLog
from barnabas.storage.producer_state import AppendOrigin, ProducerState
from barnabas.storage.segment import Segment
from barnabas.storage.topic_config import TopicConfig

__all__ = ["Appended", "Log"]

# What a leader decides of a batch, and the length that stands between.
_STAMP = Struct(">qii")
_STAMP_BYTES = _STAMP.size


class Appended(NamedTuple):
    first_offset: int
    last_offset: int
    append_time_ms: int
    """The time that the broker gave the records; -1 where they keep their own."""
    duplicate: bool = False
    """The batch was there already, at these offsets, and was not appended again."""


class Log(ReadableLog):
    """One partition's log, opened by loading.py.

    synced_offset    records below it are safe from a power cut, though what leads to them may have to be made anew
    recovery_point   below it everything is synced, so that after a crash nothing of it has to be read
    """

    def __init__(
        self,
        disk: Disk,
        directory: Path,
        config: TopicConfig,
        *,
        segments: list[Segment],
        producers: ProducerState,
        epochs_file: EpochsFile,
        start_offset: int,
        end_offset: int,
        recovery_point: int,
    ) -> None:
        super().__init__(directory, segments, start_offset, end_offset)
        self.disk = disk
        self.configure(config)
        self.producers = producers
        self.epochs_file = epochs_file
        self.epochs = epochs_file.epochs
        self.synced_offset = self.recovery_point = recovery_point
        self.highest_recovery_point = recovery_point
        """Since the log was opened, or before: a log that is cut takes its recovery point back, and until somebody has
        written that down, whoever opens it does not read what is below this."""
        self.checkpoints_unsaved = False
        """A cut took the recovery point or the start back, and what the files of the log directory say may be too high:
        they have to be written before anything is appended. `LogDirectory.write_recovery_points` does."""
        self.removed: list[Segment] = []
        """Segments that are no part of the log any more and are named `.deleted`; somebody has to `remove` them."""
        self.cuts = 0
        """How often the log has been truncated: what was compacted before then is no part of it any more."""
        self.birth: Birth | None = None
        """Of a log that is new, and not safe yet: a power cut may take all of it."""
        self._unsynced_snapshots: list[tuple[int, File]] = []
        self.epochs_unsaved = False
        """The file of epochs has to be written before anything is appended: the records that whoever opens the log will
        read would not tell what it does not know; or it knows epochs of records that are gone, in whose place others
        would pass for theirs."""

    def configure(self, config: TopicConfig, roll_jitter_ms: int = 0) -> None:
        """Also later, when the topic's configuration changes: it holds for the segments to come."""
        self.config = config
        self._roll_bytes = config.roll_bytes
        self._roll_ms = config.roll_ms - roll_jitter_ms
        self._gives_append_time = config.message_timestamp_type == "LogAppendTime"

    # Appending

    def append_as_leader(
        self,
        batches: Sequence[Batch],
        leader_epoch: int,
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        transaction_version: int | None = None,
    ) -> Appended:
        """Give the batches the next offsets and append them, all or none."""
        append_time_ms = NO_TIMESTAMP
        if self._gives_append_time:
            append_time_ms = now_ms
            batches = [_with_append_time(batch, now_ms) for batch in batches]
        duplicate = self.producers.check_all(batches, origin, transaction_version)
        if duplicate is not None:
            return Appended(duplicate.base_offset, duplicate.last_offset, duplicate.timestamp, duplicate=True)
        chunks: list[bytes | memoryview] = []
        offset = first_offset = self.end_offset
        for batch in batches:
            batch.base_offset = offset
            batch.partition_leader_epoch = leader_epoch
            chunks.append(_STAMP.pack(offset, batch.length, leader_epoch))
            chunks.append(memoryview(batch.buffer)[batch.position + _STAMP_BYTES : batch.end])
            offset += batch.last_offset_delta + 1
        self._append(batches, chunks, now_ms)
        return Appended(first_offset, self.end_offset - 1, append_time_ms)

    def append_as_follower(self, records: Bytes, now_ms: int, *, leader_epoch: int | None = None) -> Appended | None:
        """Append what the leader sent, with the offsets and epochs that it gave; None if that is no whole batch.

        What follows the last whole batch is left alone. Offsets may leave gaps and never go back. A batch of an epoch
        that is later than the one in which the leader was asked ends it, too: it may have been written after the leader
        had lost its leadership, and had come back with another log.
        """
        found = iterate_batches(records)
        batches: list[Batch] = []
        following = self.end_offset
        end = 0
        for batch in found:
            if leader_epoch is not None and batch.partition_leader_epoch > leader_epoch:
                break
            try:
                batch.check()
            except MalformedFrame as error:
                raise KafkaError(ErrorCode.CORRUPT_MESSAGE, str(error)) from None
            if batch.base_offset < following:
                raise KafkaError(
                    ErrorCode.OFFSET_OUT_OF_RANGE,
                    f"{self.directory.name} expects offset {following} or a later one, not {batch.base_offset}",
                )
            following = batch.next_offset
            batches.append(batch)
            end = found.position
        if not batches:
            return None
        self.producers.check_all(batches, AppendOrigin.REPLICATION)
        if batches[0].base_offset > self.end_offset:
            # An epoch that begins in the gap is told by no record.
            latest = self.epochs.latest
            self.epochs_unsaved |= latest is not None and latest.start_offset >= self.end_offset
        for some in [batches] if end <= self._roll_bytes else _portions(batches, self._roll_bytes):
            self._append(some, [memoryview(records)[some[0].position : some[-1].end]], now_ms)
        return Appended(batches[0].base_offset, self.end_offset - 1, NO_TIMESTAMP)

    def _append(self, batches: Sequence[Batch], chunks: Sequence[bytes | memoryview], now_ms: int) -> None:
        size, latest_timestamp = 0, NO_TIMESTAMP
        for batch in batches:
            size += LOG_OVERHEAD_BYTES + batch.length
            if batch.max_timestamp > latest_timestamp:
                latest_timestamp = batch.max_timestamp
        if size > self._roll_bytes:
            raise KafkaError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes of records exceed the segment size of {self._roll_bytes} bytes",
            )
        before = self.end_offset
        try:
            self._begin_epochs(batches)
            segment = self.segments[-1]
            last_offset = batches[-1].last_offset
            if not segment.has_room(size, last_offset, latest_timestamp, now_ms, self._roll_bytes, self._roll_ms):
                segment = self.roll(now_ms, batches[0].base_offset)
            segment.append(batches, chunks)
        except OSError as error:
            raise self._failed("append", error) from error
        self.end_offset = self.producers.end_offset = last_offset + 1
        try:
            for batch in batches:
                if batch.producer_id >= 0:
                    segment.apply(self.producers, batch)
        except OSError as error:
            # Only the transaction index can fail here. Without its entry an aborted transaction would be read. Nobody
            # has seen the batches yet, and an epoch too many does no harm: so that less is done than by `truncate_to`.
            self.end_offset = before
            segment.truncate(before)
            self.reload_producers(now_ms)
            raise self._failed("append", error) from error

    def _begin_epochs(self, batches: Sequence[Batch]) -> None:
        """Note where an epoch begins before its first record is there: an entry too many does no harm."""
        latest = self.epochs.latest_epoch
        for batch in batches:
            if batch.partition_leader_epoch != latest and batch.partition_leader_epoch >= 0:
                self.begin_epoch(batch.partition_leader_epoch, batch.base_offset)
        if self.epochs_unsaved:
            self._save_epochs()

    def begin_epoch(self, epoch: int, start_offset: int | None = None) -> None:
        """At the end of the log, where it is not said where. Whoever leads says so before it writes: a follower that
        asks where an older epoch ended is told of this one.

        It is saved when its records are synced, if until then whoever opens the log learns it from the first of them:
        that one will be read, and its epoch is later than all before."""
        if start_offset is None:
            start_offset = self.end_offset
        latest = self.epochs.latest_epoch
        if self.epochs.assign(epoch, start_offset):
            contradicts = latest is not None and epoch <= latest
            self.epochs_unsaved |= contradicts or start_offset < self.highest_recovery_point

    def _save_epochs(self) -> None:
        self.epochs_unsaved = True
        self.epochs_file.save()
        self.epochs_unsaved = False

    # Segments

    def roll(self, now_ms: int, base_offset: int | None = None) -> Segment:
        """Seal the active segment and begin another one, at the end of the log or behind it."""
        base_offset = max(self.end_offset, base_offset or 0)
        active = self.active
        if active.base_offset == base_offset:
            # It is empty, and full all the same: its indexes are too small, or its base is too far away. Whatever fails
            # here, the log has a last segment.
            active.truncate(base_offset)
            active.forget_indexes()
            self.segments[-1] = self.new_segment(base_offset, now_ms)
            return self.active
        active.seal()
        if self.birth is not None:
            # A power cut that takes this segment's name and leaves the next one's would take the log's beginning.
            self.disk.sync_directory(self.directory)
        self.producers.end_offset = base_offset
        self.take_snapshot()
        self.segments.append(self.new_segment(base_offset, now_ms))
        return self.active

    def take_snapshot(self) -> None:
        """Of the producers; it is synced with the segment before it."""
        snapshot = self.producers.take_snapshot(sync=False)
        if snapshot is not None:
            self._unsynced_snapshots.append((self.producers.end_offset, snapshot))

    def new_segment(self, base_offset: int, now_ms: int) -> Segment:
        return Segment(
            self.disk,
            self.directory,
            base_offset,
            index_max_bytes=self.config.segment_index_bytes,
            index_interval_bytes=self.config.index_interval_bytes,
            created_ms=now_ms,
        )

    def delete_segments(self, segments: Sequence[Segment]) -> None:
        """Take segments out of the log. Their files are renamed and wait in `removed`."""
        for segment in segments:
            self.segments.remove(segment)
            segment.rename(".deleted")
            self.producers.snapshots.delete(segment.base_offset)
            self.removed.append(segment)

    def replace_segments(self, new: Segment, old: Sequence[Segment]) -> Iterator[None]:
        """Put a segment that is named `.swap` into the place of neighbours. It counts already, and is safe. Wherever
        this yields, the directory is to be synced before it goes on; the log is whole there, and may be used."""
        for segment in old:
            segment.rename(".deleted")
        yield
        new.rename("")
        first = self.segments.index(old[0])
        assert self.segments[first : first + len(old)] == list(old), f"{self} was cut while segments were replaced"
        self.segments[first : first + len(old)] = [new]
        yield
        self.removed += old
        for segment in old[1:]:
            self.producers.snapshots.delete(segment.base_offset)

    # Cutting

    def truncate_to(self, offset: int, now_ms: int) -> bool:
        """Drop every record from `offset` on, and say whether there were any. Nor is an epoch left that has begun at
        the end and written nothing: its leader may not have it.

        Before anything is appended, the recovery point has to be written down where it was (checkpoints_unsaved)."""
        if offset >= self.end_offset:
            self.epochs_unsaved |= self.epochs.truncate_from_end(self.end_offset)
            return False
        self.cuts += 1
        if offset < self.segments[0].base_offset:
            self.truncate_fully_and_start_at(offset, now_ms)
            return True
        # From the end, so that a process that dies here leaves no hole.
        behind = [segment for segment in reversed(self.segments[1:]) if segment.base_offset > offset]
        # If it cannot be read there, nothing is cut.
        self.segments[-1 - len(behind)].find(offset)
        if behind:
            self.delete_segments(behind)
            self._sync_deletion()
        self.active.truncate(offset)
        self.end_offset = offset
        self._unsync(offset)
        self.start_offset = min(self.start_offset, offset)
        self.epochs.truncate_from_end(offset)
        self.epochs_unsaved = True
        self.reload_producers(now_ms)
        self._sync_cut()
        self._save_epochs()
        return True

    def _sync_deletion(self) -> None:
        """Before anything else is cut: segments that a power cut brings back below the recovery point are trusted, and
        so have to find what was there before and behind them, and their epochs."""
        self.disk.sync_directory(self.directory)

    def _sync_cut(self) -> None:
        """For once the log waits for the disk. What was cut off and came back after a power cut, behind records that
        were appended since, would pass for theirs: epochs and offsets would fit, and no follower would find out. The
        epochs are written after that, for what comes back needs them; where there is no room for them it is done
        before the next append."""
        self.active.sync()
        self.disk.sync_directory(self.directory)

    def truncate_fully_and_start_at(self, offset: int, now_ms: int) -> None:
        """Drop everything; the next record gets `offset`. Whatever fails, the log has a segment."""
        self.cuts += 1
        first = next((segment for segment in self.segments if segment.base_offset == offset), None)
        kept = first or self.new_segment(offset, now_ms)
        self.delete_segments([segment for segment in self.segments if segment is not kept])
        self.segments = [kept]
        if first is not None:
            first.truncate(offset)
            first.forget_indexes()
        self._unsync(offset)
        self.start_offset = self.end_offset = offset
        self.epochs.clear()
        self.epochs_unsaved = True
        self.producers.truncate_fully_and_start_at(offset)
        self._sync_deletion()
        self._sync_cut()
        self.synced_offset = offset
        self._save_epochs()

    def advance_start(self, offset: int) -> bool:
        """Records below `offset` may be read no more; whole segments of them become due for deletion."""
        if offset > self.end_offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.directory.name} ends at offset {self.end_offset}, before {offset}",
            )
        if offset <= self.start_offset:
            return False
        self.start_offset = offset
        # That is saved with the next epoch: whoever opens the log finds its start by itself.
        self.epochs.truncate_from_start(offset)
        self.producers.on_log_start_offset_increased(offset)
        return True

    def reload_producers(self, now_ms: int, *, in_doubt: bool = False) -> None:
        """What is known of producers, from the newest snapshot and the log behind it."""
        self.producers.truncate_and_reload(self.start_offset, self.end_offset, now_ms, in_doubt=in_doubt)
        begin = self.producers.end_offset
        for segment in self.segments[self.segment_number(begin) :] if begin < self.end_offset else ():
            for place in segment.places_before(begin):
                if place.batch.last_offset >= begin:
                    self.producers.apply(segment.whole(place))
        self.producers.end_offset = self.end_offset

    # Syncing and closing

    def unsynced(self) -> Unsynced:
        """Everything behind the recovery point. Tell `synced` when it has been synced."""
        # The segment before a recovery point between two has been sealed since it was synced.
        first = self.segment_number(self.recovery_point - 1)
        snapshots = [file for _, file in self._unsynced_snapshots]
        return self._unsynced(snapshots, self.segments[first:], self.end_offset)

    def unsynced_sealed(self) -> Unsynced:
        """The same without the active segment. Tell `synced`, too."""
        first = self.segment_number(self.recovery_point - 1)
        end = self.active.base_offset
        snapshots = [file for offset, file in self._unsynced_snapshots if offset <= end]
        return self._unsynced(snapshots, self.segments[first:-1], end)

    def _unsynced(self, snapshots: Sequence[File], segments: Sequence[Segment], end: int) -> Unsynced:
        return Unsynced(
            self.disk, snapshots, segments, self.directory, end, self.cuts, self.birth, epochs_file=self.epochs_file
        )

    def synced(self, work: Unsynced) -> None:
        if work.cuts == self.cuts and self.epochs_file.covers(work.offset):
            self.recovery_point = max(self.recovery_point, work.offset)
            self.highest_recovery_point = max(self.highest_recovery_point, work.offset)
        # One at the offset itself may have been taken since then.
        self._unsynced_snapshots = [one for one in self._unsynced_snapshots if one[0] >= work.offset]
        self.records_synced(work)

    def unsynced_records(self) -> Unsynced:
        """No more than what keeps the records themselves: recovery makes the rest anew. All that wait to be
        acknowledged share this; tell `records_synced`."""
        segments = self.segments[self.segment_number(self.synced_offset) :]
        # A segment that begins there is new, and so its name may not be safe.
        directory = self.directory if segments[-1].base_offset >= self.synced_offset else None
        files = [segment.file for segment in segments]
        return Unsynced(self.disk, files, [], directory, self.end_offset, self.cuts, self.birth)

    def records_synced(self, work: Unsynced) -> None:
        if work.birth is self.birth:
            self.birth = None
        if work.cuts == self.cuts:
            self.synced_offset = max(self.synced_offset, work.offset)

    def _unsync(self, offset: int) -> None:
        self.checkpoints_unsaved |= offset < self.recovery_point or offset < self.start_offset
        self.recovery_point = min(self.recovery_point, offset)
        self.synced_offset = min(self.synced_offset, offset)

    def close(self) -> None:
        """Cleanly: synced, and so that the next one to open it reads no batch."""
        self.producers.take_snapshot()
        self.active.seal()
        # Of a new log that nobody has written to, nothing has to be safe: the metadata makes it again.
        if self.end_offset or self.birth is None:
            work = self.unsynced()
            work.sync()
            self.synced(work)
        for segment in self.segments:
            segment.let_go()


def _with_append_time(batch: Batch, now_ms: int) -> Batch:
    stamped = bytearray(memoryview(batch.buffer)[batch.position : batch.end])
    set_max_timestamp(stamped, 0, TimestampType.LOG_APPEND_TIME, now_ms)
    return Batch(stamped)


def _portions(batches: Sequence[Batch], most_bytes: int) -> list[list[Batch]]:
    """What is more than a segment can hold came from several of them."""
    portions: list[list[Batch]] = []
    room = 0
    for batch in batches:
        if batch.size > room:
            portions.append([])
            room = most_bytes
        portions[-1].append(batch)
        room -= batch.size
    return portions
