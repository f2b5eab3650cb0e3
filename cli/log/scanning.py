"""One walk through the batches of a segment: what is wrong with them, and what the indexes beside them should say.

Batches of magic 2 go through a loop that looks at numbers and checksums alone; records are unpacked only where they
are asked for, or say how a transaction ended.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from struct import Struct

from barnabas.cli.log.files import LogFile
from barnabas.cli.log.findings import Finding
from barnabas.protocol import checksum
from barnabas.protocol.batches import ATTRIBUTES_AT, HEADER_BYTES, LOG_OVERHEAD_BYTES, Attributes, Batch, batch_at
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.index import MAX_RELATIVE_OFFSET
from barnabas.storage.transaction_index import AbortedTransaction

__all__ = ["Scan", "Writer", "scan_segment"]

_HEADER = Struct(">qiibIhi8xqqhi")
"""Base offset, length, leader epoch, magic, crc, attributes, last offset delta, max timestamp, producer id and epoch,
base sequence."""

_WINDOW_BYTES = 1 << 18
_LEAST_LENGTH = HEADER_BYTES - LOG_OVERHEAD_BYTES
_READERS = "readers that come there are told that it is corrupt"
_GROWING_TRIES = 100


@dataclass(slots=True)
class Writer:
    """A producer, as the batches so far show it."""

    epoch: int
    last_sequence: int
    last_offset: int
    first_offset: int | None = None
    """Of the transaction that is open."""


@dataclass(slots=True)
class Scan:
    """What the batches of one partition say, segment after segment."""

    deep: bool = False
    """Unpack the records of every batch."""
    next_offset: int = 0
    epoch: int = -1
    epochs: list[tuple[int, int, Path, int]] = field(default_factory=list)
    """Each leader epoch with its first offset, and the file and the byte where it begins."""
    writers: dict[int, Writer] = field(default_factory=dict)
    latest_ms: int = -1
    """Of the segment."""
    largest_batch: int = 0
    starts: dict[int, tuple[int, int]] = field(default_factory=dict)
    """Of the segment: of the positions that were asked for, the first and the last offset of the batch there."""
    stamped: list[tuple[int, int, int, int]] = field(default_factory=list)
    """Of the segment: first and last offset, latest time so far, and latest time, of each batch whose time is new."""
    aborted: list[AbortedTransaction] = field(default_factory=list)
    """Of the segment; the last stable offset is not known here."""
    findings: list[Finding] = field(default_factory=list)
    batches: int = 0


def scan_segment(
    scan: Scan,
    path: Path,
    base_offset: int,
    end_offset: int | None,
    wanted_positions: set[int],
    advance: Callable[[int], None],
    *,
    grows: bool,
    spare: bool = False,
) -> int:
    """Up to which byte there are batches. `end_offset` is where the next segment begins; `grows`, a broker may be
    writing to the end; `spare`, space may be allocated there that is not used. FileNotFoundError where it is gone."""
    scan.starts, scan.stamped, scan.aborted, scan.latest_ms, scan.largest_batch = {}, [], [], -1, 0
    scan.next_offset = max(scan.next_offset, base_offset)
    with LogFile(path) as log:
        walk = _Walk(scan, log, base_offset, end_offset, wanted_positions, spare=spare)
        said = 0
        for _ in range(_GROWING_TRIES):
            while walk.go_on():
                advance(walk.position - said)
                said = walk.position
            # What looked like a torn batch was one that was being written.
            if walk.stopped or walk.position == log.size or not (grows and log.look_again()):
                break
        if not walk.stopped and walk.position < log.size:
            rest = log.size - walk.position
            if grows:
                walk.position = log.size
            else:
                walk.complain(f"the last {rest} bytes are no whole batch", "it is not read")
        advance(max(log.size - said, 0))
        return walk.position


class _Walk:
    def __init__(
        self,
        scan: Scan,
        log: LogFile,
        base_offset: int,
        end_offset: int | None,
        wanted_positions: set[int],
        *,
        spare: bool,
    ) -> None:
        self.scan = scan
        self.log = log
        self.base_offset = base_offset
        self.end_offset = end_offset
        self.wanted = wanted_positions
        self.spare = spare
        self._buffer = memoryview(bytearray(_WINDOW_BYTES))
        self.position = 0
        self.stopped = False
        """What stands there does not say where the next batch begins."""

    def complain(self, what: str, then: str, position: int | None = None) -> None:
        where = self.position if position is None else position
        self.scan.findings.append(Finding(self.log.path, where, what, then))

    def go_on(self) -> bool:
        """One window; False if there is no whole batch any more."""
        if self.stopped or self.position >= self.log.size:
            return False
        rest = self.log.size - self.position
        # Nothing that is read is kept.
        view = self._buffer[: self.log.read_into(self.position, self._buffer[:rest])]
        if len(view) >= LOG_OVERHEAD_BYTES:
            length = LOG_OVERHEAD_BYTES + int.from_bytes(view[8:12], "big", signed=True)
            if len(view) < length <= rest:
                view = memoryview(self.log.read(self.position, length))
        begin = self.position
        self._window(view, begin)
        return self.position > begin

    def _window(self, view: memoryview, origin: int) -> None:
        """The loop that all batches go through; what is not plain leaves it for a moment."""
        scan, wanted, end = self.scan, self.wanted, len(view)
        unpack, crc32c = _HEADER.unpack_from, checksum.crc32c
        highest = self.base_offset + MAX_RELATIVE_OFFSET
        if self.end_offset is not None:
            highest = min(highest, self.end_offset - 1)
        at, following, latest, largest, count = 0, scan.next_offset, scan.latest_ms, scan.largest_batch, 0
        while at <= end - HEADER_BYTES:
            (
                base,
                length,
                epoch,
                magic,
                crc,
                attributes,
                delta,
                time_ms,
                producer,
                producer_epoch,
                sequence,
            ) = unpack(view, at)
            behind = at + LOG_OVERHEAD_BYTES + length
            if magic != 2 or length < _LEAST_LENGTH or behind > end:
                break
            last = base + delta
            if crc32c(view[at + ATTRIBUTES_AT : behind]) != crc:
                self.complain("the checksum of the batch is wrong", _READERS, origin + at)
            elif not following <= base <= last <= highest:
                self._misplaced(base, last, following, highest, origin + at)
            else:
                following = last + 1
                if time_ms > latest:
                    latest = time_ms
                    scan.stamped.append((base, last, latest, time_ms))
                if epoch != scan.epoch:
                    self._epoch(epoch, base, origin + at)
                if producer >= 0:
                    self._producer(view, at, base, last, producer, producer_epoch, sequence, attributes, origin)
                if scan.deep:
                    self._records(Batch(view, at), origin + at)
            if origin + at in wanted:
                scan.starts[origin + at] = base, last
            largest = max(largest, behind - at)
            count += 1
            at = behind
        scan.next_offset, scan.latest_ms, scan.largest_batch = following, latest, largest
        scan.batches += count
        self.position = origin + at
        if at <= end - LOG_OVERHEAD_BYTES:
            self._odd(view, at, highest)

    def _odd(self, view: memoryview, at: int, highest: int) -> None:
        """An old format, the end of the window, or nonsense. Each message of an old format is taken singly."""
        try:
            batch = batch_at(view, at)
        except MalformedFrame as error:
            self.stopped = True
            rest = self.log.size - self.position
            if not (self.spare and _is_zero(self.log, self.position)):
                self.complain(f"{rest} bytes from here on are no batch: {error}", "nothing behind it can be read")
            return
        if batch is None:
            length = int.from_bytes(view[at + 8 : at + 12], "big", signed=True)
            if at == 0 and length > self.log.size:
                self.complain(
                    f"the batch should have {length} bytes, which the file has not", "nothing behind it can be read"
                )
                self.stopped = True
            return
        scan = self.scan
        scan.batches += 1
        if not batch.crc_matches():
            self.complain("the checksum of the message is wrong", _READERS)
        elif not (scan.next_offset <= batch.last_offset <= highest):
            self._misplaced(batch.base_offset, batch.last_offset, scan.next_offset, highest, self.position)
        else:
            scan.next_offset = batch.next_offset
            if batch.max_timestamp > scan.latest_ms:
                scan.latest_ms = batch.max_timestamp
                scan.stamped.append((batch.base_offset, batch.last_offset, scan.latest_ms, batch.max_timestamp))
            if scan.deep:
                self._records(batch, self.position)
        if self.position in self.wanted:
            scan.starts[self.position] = batch.base_offset, batch.last_offset
        scan.largest_batch = max(scan.largest_batch, batch.size)
        self.position += batch.size

    def _misplaced(self, base: int, last: int, following: int, highest: int, position: int) -> None:
        if last > highest and base >= following:
            bound = "the next segment begins" if self.end_offset is not None else "a segment may reach"
            what = f"offsets {base} to {last}, and {bound} at {highest + 1}"
        else:
            what = f"offsets {base} to {last}, where {following} or a later one was due"
        self.complain(what, "readers may get these records twice, or not at all", position)

    def _epoch(self, epoch: int, base: int, position: int) -> None:
        scan = self.scan
        if epoch < scan.epoch:
            self.complain(
                f"leader epoch {epoch} follows {scan.epoch}",
                "followers and consumers may cut off the wrong records",
                position,
            )
        else:
            scan.epochs.append((epoch, base, self.log.path, position))
        scan.epoch = max(scan.epoch, epoch)

    def _producer(
        self,
        view: memoryview,
        at: int,
        base: int,
        last: int,
        producer: int,
        epoch: int,
        sequence: int,
        attributes: int,
        origin: int,
    ) -> None:
        scan = self.scan
        writer = scan.writers.get(producer)
        if writer is None:
            writer = scan.writers[producer] = Writer(epoch, -1, -1)
        writer.epoch = epoch
        if attributes & Attributes.CONTROL:
            self._marker(Batch(view, at), writer, origin + at)
            return
        writer.last_offset = last
        # Behind 2^31-1 comes 0.
        writer.last_sequence = -1 if sequence < 0 else (sequence + last - base) & 0x7FFFFFFF
        if attributes & Attributes.TRANSACTIONAL and writer.first_offset is None:
            writer.first_offset = base

    def _marker(self, batch: Batch, writer: Writer, position: int) -> None:
        try:
            record = next(read_records(batch), None)
            kind = None if record is None else control_record_type(record.key)
        except MalformedFrame as error:
            self.complain(
                f"a control batch cannot be read: {error}", "how its transaction ended is not known", position
            )
            return
        if kind is ControlRecordType.ABORT and writer.first_offset is not None:
            aborted = AbortedTransaction(batch.producer_id, writer.first_offset, batch.base_offset, -1)
            self.scan.aborted.append(aborted)
        if kind in (ControlRecordType.ABORT, ControlRecordType.COMMIT):
            writer.first_offset = None

    def _records(self, batch: Batch, position: int) -> None:
        try:
            offsets = [record.offset for record in read_records(batch)]
        except MalformedFrame as error:
            self.complain(f"the records of the batch cannot be read: {error}", "consumers stop there", position)
            return
        if offsets != sorted(set(offsets)) or (offsets and not batch.base_offset <= offsets[0] <= offsets[-1]):
            self.complain("the offsets of the batch's records do not rise", "consumers may stop there", position)


def _is_zero(log: LogFile, position: int) -> bool:
    while position < log.size and (data := log.read(position, _WINDOW_BYTES)):
        if any(data):
            return False
        position += len(data)
    return True
