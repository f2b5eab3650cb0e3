"""Compaction of one log: of each key the last record stays.

    facts = gather_facts(log, last_stable_offset, checkpoint.offset(...))       the log's owner
    plan  = plan_compaction(facts, now_ms)                                      and if it is due:
    job   = compaction_job(log, plan, now_ms)
    for cleaned in compact(job, SystemDisk()):                                  any process: it reads and writes files
        swap_in(log, job, cleaned)                                              the log's owner again
    checkpoint.set(..., cleaned.clean_offset)                                   after the last one

`compact` reads the dirty part into a map of keys, then writes the whole log anew, some segments at a time into one
`.cleaned`. Jobs and results are plain values that can be pickled. Between the two ends the log goes on: it is appended
to and read. It is not truncated, and no segment is deleted from its front, before the compaction has been cancelled,
as in Kafka; `swap_in` refuses a result where that was forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from barnabas.protocol.batches import LOG_OVERHEAD_BYTES, Batch, iterate_batches
from barnabas.protocol.compression import decompress
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.compaction_filter import CompactionFilter, Retained
from barnabas.storage.compaction_job import CLEANED, CleanedSegment, CompactionJob, SourceSegment
from barnabas.storage.compaction_transactions import CleanedTransactions
from barnabas.storage.disk import Disk
from barnabas.storage.index import MAX_RELATIVE_OFFSET
from barnabas.storage.offset_map import OffsetMap
from barnabas.storage.record_spans import record_spans
from barnabas.storage.segment import Segment
from barnabas.storage.segment_reading import CorruptSegment
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex

__all__ = ["compact"]

READ_BYTES = 1 << 20

WRITE_BACK_BYTES = 8 << 20
"""A sync after so many bytes. A system that is left with hundreds of dirty megabytes makes others wait for them."""

# More rows than segment.index.bytes allows do no harm in a segment that is closed, and missing ones cost time.
_INDEX_MAX_BYTES = 1 << 30

Throttle = Callable[[int], None]
Check = Callable[[], None]


def compact(
    job: CompactionJob, disk: Disk, *, throttle: Throttle | None = None, check: Check | None = None
) -> Iterator[CleanedSegment]:
    """Write the new segments, from the first on; each is to be swapped in, or discarded, before the next is asked for.

    `throttle` is told of bytes before more are read or written, and may wait. `check` is called as often, and ends
    everything by raising. CorruptSegment says that bytes of the log are damaged: then nothing may be compacted.
    """
    yield from _Compaction(job, disk, throttle or _no_limit, check or _go_on).run()


class _Compaction:
    def __init__(self, job: CompactionJob, disk: Disk, throttle: Throttle, check: Check) -> None:
        self._job = job
        self._disk = disk
        self._throttle = throttle
        self._check = check
        self._position = 0
        self._written_back = 0

    def run(self) -> Iterator[CleanedSegment]:
        job = self._job
        self._remove_remains()
        offsets = self.map_offsets()
        clean_offset = offsets.latest_offset + 1
        transactions = CleanedTransactions()
        batch_filter = CompactionFilter(
            offsets,
            transactions,
            job.last_records,
            end_offset=job.end_offset,
            now_ms=job.now_ms,
            delete_retention_ms=job.delete_retention_ms,
        )
        sources = [source for source in job.sources if source.base_offset < clean_offset]
        old_tombstones_until_ms = self._old_tombstones_until_ms()
        groups = self._grouped(sources)
        for number, group in enumerate(groups):
            cleaned = self._new_segment(group[0].base_offset)
            try:
                for source in group:
                    transactions.announce(self._aborted_in(source))
                    batch_filter.keep_old_tombstones = self._modified_ms(source) > old_tombstones_until_ms
                    last = all(not each.size for each in group if each.base_offset > source.base_offset)
                    with self._well_formed(source):
                        self._clean_into(cleaned, source, batch_filter, last)
                    for aborted in transactions.kept:
                        cleaned.transaction_index.append(aborted)
                    transactions.kept.clear()
                cleaned.seal()
                cleaned.sync()
                cleaned.let_go()
                self._keep_time(cleaned, group[-1])
                self._disk.sync_directory(job.directory)
            except BaseException:
                cleaned.remove()
                raise
            yield CleanedSegment(
                cleaned.base_offset,
                cleaned.size,
                tuple(group),
                clean_offset,
                number + 1 == len(groups),
                batch_filter.keyless_records,
            )

    # The map

    def map_offsets(self) -> OffsetMap:
        """Of the dirty part, or as much of it as the map can hold."""
        job = self._job
        offsets = OffsetMap(job.map_bytes, job.map_load_factor, job.end_offset - job.first_dirty_offset)
        dirty = [
            (source, end) for source, end in zip(job.sources, job.ends, strict=True) if end > job.first_dirty_offset
        ]
        transactions = CleanedTransactions()
        transactions.announce(self._aborted(dirty[0][0], job.first_dirty_offset, job.end_offset))
        for source, end in dirty:
            with self._well_formed(source):
                if not self._map_segment(source, offsets, transactions):
                    break
            offsets.latest_offset = end - 1
        return offsets

    def _map_segment(self, source: SourceSegment, offsets: OffsetMap, transactions: CleanedTransactions) -> bool:
        """False if the map is full before the segment ends."""
        for batches in self._read(source):
            for batch in batches:
                if batch.last_offset < self._job.first_dirty_offset:
                    continue
                if not (transactions.is_discardable(batch) or batch.control or self._note_keys(batch, offsets)):
                    return False
                offsets.latest_offset = batch.last_offset
        return True

    def _note_keys(self, batch: Batch, offsets: OffsetMap) -> bool:
        """False if the map is full before the batch ends. As in Kafka, it is so too where a key is there already."""
        first = self._job.first_dirty_offset
        for offset, key in _keys_of(batch):
            if key is not None and offset >= first:
                if offsets.is_full:
                    return False
                offsets.latest_offset = offset
                offsets.put(key)
        return True

    # The segments

    def _grouped(self, sources: Sequence[SourceSegment]) -> list[list[SourceSegment]]:
        """Neighbours that together are no larger than one segment may be, so that segments do not become ever smaller.
        An index of a group counts as those of its parts, and its offsets have to fit into an index."""
        job = self._job
        groups: list[list[SourceSegment]] = []
        sizes = [0, 0, 0]
        for number, source in enumerate(sources):
            more = [source.size, *(self._size_of(source, suffix) for suffix in (".index", ".timeindex"))]
            total = [one + other for one, other in zip(sizes, more, strict=True)]
            if (
                groups
                and total[0] <= job.segment_bytes
                and max(total[1:]) <= job.segment_index_bytes
                and (not source.size or job.ends[number] - 1 - groups[-1][0].base_offset <= MAX_RELATIVE_OFFSET)
            ):
                groups[-1].append(source)
                sizes = total
            else:
                groups.append([source])
                sizes = more
        return groups

    def _clean_into(
        self, cleaned: Segment, source: SourceSegment, batch_filter: CompactionFilter, is_last_source: bool
    ) -> None:
        end = 0
        for batches in self._read(source):
            kept: list[Retained] = []
            for batch in batches:
                end += batch.size
                retained = batch_filter.retain(batch, ends_segment=is_last_source and end == source.size)
                if retained is not None:
                    kept.append(retained)
            if kept:
                self._throttle(sum([len(one.data) for one in kept]))
                cleaned.append([one.batch for one in kept], [one.data for one in kept])
                if cleaned.size - self._written_back >= WRITE_BACK_BYTES:
                    cleaned.file.sync()
                    self._written_back = cleaned.size

    def _remove_remains(self) -> None:
        """Of a compaction that was killed. Whoever opens the log later would take a `.cleaned` for a sign that a result
        behind it is not whole, and throw away one that has taken the place of what it was made of."""
        for name in self._disk.names(self._job.directory):
            if name.endswith(CLEANED):
                self._disk.remove(self._job.directory / name)

    def _keep_time(self, cleaned: Segment, last: SourceSegment) -> None:
        """Of the last one that went into it, as in Kafka: the records did not become younger."""
        modified_ms = self._modified_ms(last)
        for suffix in (".log", ".index", ".timeindex"):
            self._disk.set_modified_ms(cleaned.path(suffix), modified_ms)

    def _new_segment(self, base_offset: int) -> Segment:
        self._written_back = 0
        return Segment(
            self._disk,
            self._job.directory,
            base_offset,
            index_max_bytes=_INDEX_MAX_BYTES,
            index_interval_bytes=self._job.index_interval_bytes,
            created_ms=self._job.now_ms,
            suffix=CLEANED,
        )

    # Reading

    def _read(self, source: SourceSegment) -> Iterator[list[Batch]]:
        """All batches of a segment, some at a time, their checksums right. They are read and not mapped: that a
        truncation forgot to cancel us must not be a signal."""
        path = self._job.path(source.base_offset, ".log")
        file = self._disk.open(path, create=False)
        position = 0
        length = READ_BYTES
        while position < source.size:
            self._check()
            length = min(length, source.size - position)
            self._throttle(length)
            data = file.read(position, length)
            found = iterate_batches(data)
            batches: list[Batch] = []
            try:
                for batch in found:
                    batch.check()
                    batches.append(batch)
                whole = found.position or _size_of_first(data)
            except MalformedFrame as error:
                begin = batches[-1].end if batches else 0
                raise CorruptSegment(path, position + begin, str(error)) from None
            if not batches and (len(data) < length or position + whole > source.size):
                raise CorruptSegment(path, position, f"a batch of {whole} bytes ends behind the file")
            if batches:
                self._position = position
                yield batches
            position += found.position
            length = READ_BYTES if batches else whole

    @contextmanager
    def _well_formed(self, source: SourceSegment) -> Iterator[None]:
        """A producer may put nonsense between a right header and a right checksum."""
        try:
            yield
        except MalformedFrame as error:
            raise CorruptSegment(self._job.path(source.base_offset, ".log"), self._position, str(error)) from None

    def _aborted_in(self, source: SourceSegment) -> list[AbortedTransaction]:
        return self._aborted(source, source.base_offset, self._job.ends[self._job.sources.index(source)])

    def _aborted(self, source: SourceSegment, offset: int, end_offset: int) -> list[AbortedTransaction]:
        """As Log.aborted_transactions."""
        found: list[AbortedTransaction] = []
        bases = [one.base_offset for one in self._job.sources if one.base_offset >= source.base_offset]
        for base_offset in (*bases, *self._job.following):
            index = TransactionIndex(self._disk, self._job.path(base_offset, ".txnindex"), base_offset)
            some = index.collect(offset, end_offset)
            found += some.found
            if some.complete:
                break
        return found

    def _old_tombstones_until_ms(self) -> int:
        """Tombstones of old formats carry no time: those of a segment go that was last written to so long before the
        last clean one."""
        clean = [source for source in self._job.sources if source.base_offset < self._job.first_dirty_offset]
        return self._modified_ms(clean[-1]) - self._job.delete_retention_ms if clean else -1

    def _modified_ms(self, source: SourceSegment) -> int:
        return self._disk.modified_ms(self._job.path(source.base_offset, ".log"))

    def _size_of(self, source: SourceSegment, suffix: str) -> int:
        path = self._job.path(source.base_offset, suffix)
        return self._disk.size(path) if self._disk.exists(path) else 0


def _keys_of(batch: Batch) -> Iterator[tuple[int, bytes | None]]:
    if batch.magic < 2:
        for record in read_records(batch):
            yield record.offset, record.key
    elif batch.record_count:
        base_offset = batch.base_offset
        data = decompress(batch.compression, batch.records)
        for span in record_spans(data, batch.record_count):
            yield base_offset + span.offset_delta, span.key


def _size_of_first(data: bytes) -> int:
    return LOG_OVERHEAD_BYTES + int.from_bytes(data[8:12], "big", signed=True)


def _no_limit(_size: int) -> None:
    """As fast as it goes."""


def _go_on() -> None:
    """Nobody cancels."""
