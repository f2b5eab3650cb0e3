"""The files beside a segment, held against what its batches say."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path
from struct import Struct

from barnabas.cli.log.files import INDEX_ROW, TIME_ROW
from barnabas.cli.log.findings import Finding
from barnabas.cli.log.scanning import Scan
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.producer_snapshots import CorruptSnapshot, decode_snapshot
from barnabas.storage.transaction_index import CorruptTransactionIndex, TransactionIndex

__all__ = ["check_offset_index", "check_snapshot", "check_time_index", "check_transaction_index", "rows_of"]

_SLOWER = "what it should lead to is looked for from further in front"
_WRONG_TIMES = "records are looked up by time, and kept, as if they were of another time"


def rows_of(path: Path, row: Struct) -> tuple[list[tuple[int, ...]] | None, list[Finding]]:
    """Without the space at the end that is not used yet, which in a running Kafka's are ten megabytes of zeros; None
    where the file is missing."""
    try:
        data = path.read_bytes()
    except FileNotFoundError:
        return None, []
    wrong = []
    whole = len(data) - len(data) % row.size
    if whole < len(data):
        wrong.append(Finding(path, whole, f"{len(data)} bytes are no multiple of {row.size}", _SLOWER))
    used = len(data[:whole].rstrip(b"\0"))
    return list(row.iter_unpack(data[: used + -used % row.size])), wrong


def check_offset_index(
    path: Path, base: int, rows: list[tuple[int, ...]], scan: Scan, size: int, interval: int
) -> Iterator[Finding]:
    """`size`: up to which byte the segment has batches."""
    before = (-1, -1)
    for number, (relative, position) in enumerate(rows):
        at = number * INDEX_ROW.size
        offset = base + relative
        if relative <= before[0] or position <= before[1]:
            yield Finding(path, at, f"offset {offset} at {position} does not rise", _SLOWER)
        elif position not in scan.starts:
            yield Finding(path, at, f"offset {offset} leads to byte {position}, where no batch begins", _SLOWER)
        elif not scan.starts[position][0] <= offset < scan.next_offset:
            first, last = scan.starts[position]
            what = f"offset {offset} leads to byte {position}, where offsets {first} to {last} are"
            yield Finding(path, at, what, "readers may miss the records before it")
        before = max(before[0], relative), max(before[1], position)
    # A row comes with the first batch behind the interval: this much may be without one.
    most = 2 * (interval + scan.largest_batch)
    places = [0, *(position for _, position in rows if 0 <= position <= size), size]
    for here, following in pairwise(places):
        if following - here > most:
            yield Finding(path, None, f"no row leads to bytes {here} to {following} of the segment", _SLOWER)
            return


def check_time_index(
    path: Path, base: int, rows: list[tuple[int, ...]], scan: Scan, *, sealed: bool
) -> Iterator[Finding]:
    before = (-2, -1)
    batches = iter([*scan.stamped, (2**63 - 1, 2**63 - 1, 2**63 - 1, 0)])
    batch = next(batches)
    latest = -1
    for number, (timestamp, relative) in enumerate(rows):
        at = number * TIME_ROW.size
        offset = base + relative
        if timestamp <= before[0] or relative < before[1]:
            yield Finding(path, at, f"time {timestamp} at offset {offset} does not rise", _WRONG_TIMES)
            continue
        before = timestamp, relative
        while batch[0] <= offset:
            latest = batch[2]
            batch = next(batches)
        if latest > timestamp:
            what = f"time {timestamp} at offset {offset}, and there is {latest} before"
            yield Finding(path, at, what, _WRONG_TIMES)
        elif latest < timestamp:
            what = f"time {timestamp} at offset {offset}, and the latest record so far is of {latest}"
            yield Finding(path, at, what, _WRONG_TIMES)
    if sealed and scan.latest_ms >= 0 and (rows[-1][0] if rows else -1) < scan.latest_ms:
        yield Finding(path, None, f"the latest record, of {scan.latest_ms}, is not in it", _WRONG_TIMES)


def check_transaction_index(path: Path, base: int, scan: Scan, start_offset: int) -> Iterator[Finding]:
    """`start_offset` is the log's: of what begins before it, it is not known when."""
    try:
        index = TransactionIndex(ReadOnlyDisk(), path, base)
        index.check()
        found = list(index)
    except CorruptTransactionIndex as error:
        yield Finding(path, None, str(error), "readers of committed records may see what was aborted")
        return
    there = {(one.producer_id, one.last_offset): one.first_offset for one in found}
    for one in scan.aborted:
        first = there.pop((one.producer_id, one.last_offset), None)
        if first is None or first > one.first_offset >= start_offset:
            what = f"producer {one.producer_id} aborted offsets {one.first_offset} to {one.last_offset}"
            yield Finding(
                path, None, f"{what}, which is not in it", "readers of committed records see what was aborted"
            )
    for (producer, last), first in there.items():
        if first >= start_offset:
            what = f"says that producer {producer} aborted offsets {first} to {last}, which it did not"
            yield Finding(path, None, what, "readers of committed records do not see what was committed")


def check_snapshot(path: Path, scan: Scan, start_offset: int) -> Iterator[Finding]:
    """Where a segment ends, `scan` has come as far as the snapshot that was taken there. Producers that have been idle
    for long are not in it."""
    try:
        entries = decode_snapshot(path.read_bytes())
    except FileNotFoundError:
        return
    except CorruptSnapshot as error:
        yield Finding(path, None, str(error), "an older one is read, and the log behind it")
        return
    for entry in entries:
        writer = scan.writers.get(entry.producer_id)
        if writer is None or entry.last_offset < start_offset or writer.last_sequence < 0:
            continue
        ours = (writer.last_sequence, writer.last_offset)
        if (entry.last_sequence, entry.last_offset) != ours:
            what = (
                f"producer {entry.producer_id} is at sequence {entry.last_sequence} (offset {entry.last_offset}), and "
                f"the log has {writer.last_sequence} (offset {writer.last_offset})"
            )
            yield Finding(path, None, what, "its next batch may be refused, or taken twice")
