"""Putting a compacted segment into the place of those from which it was made, so that a crash at any point leaves the
log as it was before or as it is after, when loading.py has opened it:

0. Epochs that begin in the old ones and are not in the file yet are saved: the records that tell where may be gone.
1. `.cleaned` files are renamed `.swap`. While any `.cleaned` is left, all is as before; then the new one counts.
2. The old ones are renamed `.deleted`.
3. The new one gets its names.

Between the steps the directory is synced, because a power cut may keep a later rename and lose an earlier one. Kafka
leaves that to the file system; it takes milliseconds, and on a busy disk many. So `swap_steps` hands each sync to
whoever has a thread for it:

    for sync in swap_steps(log, job, cleaned):
        await trio.to_thread.run_sync(sync)
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.storage.compaction_job import CLEANED, CleanedSegment, CompactionJob
from barnabas.storage.disk import Disk
from barnabas.storage.log import Log
from barnabas.storage.segment import Segment
from barnabas.storage.segment_reading import SUFFIXES

__all__ = ["StaleCompaction", "discard", "swap_in", "swap_steps"]

SWAP = ".swap"


class StaleCompaction(Exception):  # noqa: N818 - nothing is wrong, it came too late
    """The log is not the one any more that was compacted. The result has been discarded."""


def swap_in(log: Log, job: CompactionJob, cleaned: CleanedSegment) -> None:
    """All of `swap_steps` at once, for who may wait for the disk."""
    for sync in swap_steps(log, job, cleaned):
        sync()


def swap_steps(log: Log, job: CompactionJob, cleaned: CleanedSegment) -> Iterator[Callable[[], None]]:
    """Each function that comes is to be called, in any thread, before the next is asked for. Meanwhile the log may be
    appended to, rolled and read, but not truncated, and no segment of it deleted.

    A KafkaError, also from one of the functions, says that the disk failed halfway: then the log has to be opened
    again, which completes this or undoes it. The files of the old segments wait in `log.removed` afterwards.
    """
    reason = _stale(log, job, cleaned)
    if reason:
        discard(log.disk, job, cleaned)
        raise StaleCompaction(f"{log.directory}: {reason}")

    def sync() -> None:
        try:
            log.disk.sync_directory(log.directory)
        except OSError as error:
            raise _failed(log, error) from error

    def save_epochs() -> None:
        try:
            log.epochs_file.save_below(end)
        except OSError as error:
            raise _failed(log, error) from error

    number = log.segment_number(cleaned.base_offset)
    old = log.segments[number : number + len(cleaned.sources)]
    end = log.segments[number + len(old)].base_offset
    if not log.epochs_file.covers(end):
        yield save_epochs
    try:
        new = Segment(
            log.disk,
            log.directory,
            cleaned.base_offset,
            index_max_bytes=log.config.segment_index_bytes,
            index_interval_bytes=log.config.index_interval_bytes,
            created_ms=old[0].created_ms,
            suffix=CLEANED,
        )
        new.rename(SWAP)
        yield sync
        for _ in log.replace_segments(new, old):
            yield sync
    except OSError as error:
        raise _failed(log, error) from error


def _failed(log: Log, error: OSError) -> KafkaError:
    reason = f"{log.directory}: the result of a compaction could not be put in place: {error.strerror or error}"
    return KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, reason)


def discard(disk: Disk, job: CompactionJob, cleaned: CleanedSegment) -> None:
    for suffix in SUFFIXES:
        path = job.path(cleaned.base_offset, suffix)
        disk.remove(path.with_name(path.name + CLEANED))


def _stale(log: Log, job: CompactionJob, cleaned: CleanedSegment) -> str:
    if log.cuts != job.cuts:
        return "it has been truncated since its compaction began"
    number = log.segment_number(cleaned.base_offset)
    found = [(one.base_offset, one.size) for one in log.segments[number : number + len(cleaned.sources)]]
    if found != list(cleaned.sources) or number + len(found) == len(log.segments):
        return "segments have been deleted since its compaction began"
    path = job.path(cleaned.base_offset, ".log")
    path = path.with_name(path.name + CLEANED)
    if not log.disk.exists(path) or log.disk.size(path) != cleaned.size:
        return f"{path} is gone or not the one that was written"
    return ""
