"""Rows of indexes, held against the batches that they lead to, as Kafka's tool does it."""

from __future__ import annotations

from bisect import bisect_right
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.files import INDEX_ROW, TIME_ROW, LogFile, base_offset_of, read_rows
from barnabas.protocol.batches import NO_TIMESTAMP, Batch
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.transaction_index import CorruptTransactionIndex, TransactionIndex

if TYPE_CHECKING:
    from barnabas.cli.log.dumping import Dumping

__all__ = ["offset_index", "time_index", "transaction_index"]


def offset_index(dumping: Dumping, path: Path) -> None:
    base = _base(path)
    rows = read_rows(path, INDEX_ROW)
    if not rows:
        dumping.sink.line(f"{path} is empty.")
        return
    if dumping.sanity_only:
        _sane(path, rows[-1][0], INDEX_ROW.size)
        dumping.sink.line(f"{path} passed sanity check.")
        dumping.sink.json({"file": str(path), "kind": "sane"})
        return
    mismatches = {}
    with _log_of(path) as log:
        for number, (relative, position) in enumerate(rows):
            if relative == 0 and number:
                break  # what follows is allocated and not written
            batch = _batch_at(log, position, dumping.max_message_bytes)
            if batch is None or batch.last_offset != base + relative:
                mismatches[base + relative] = None if batch is None else batch.last_offset
            if not dumping.verify_only:
                dumping.sink.line(f"offset: {base + relative} position: {position}")
                dumping.sink.json({"file": str(path), "kind": "row", "offset": base + relative, "position": position})
    if mismatches:
        lines = [
            f"  Index offset: {offset}, log offset: {'no batch' if found is None else found}"
            for offset, found in sorted(mismatches.items(), reverse=True)
        ]
        values = [{"indexOffset": offset, "logOffset": found} for offset, found in sorted(mismatches.items())]
        dumping.note(path, "Mismatches in :", lines, values)


def time_index(dumping: Dumping, path: Path) -> None:
    base = _base(path)
    rows = read_rows(path, TIME_ROW)
    if dumping.sanity_only:
        if rows and rows[-1][0] < rows[0][0]:
            raise _corrupt(path, f"its last time {rows[-1][0]} is before its first, {rows[0][0]}")
        _sane(path, rows[-1][1] if rows else 0, TIME_ROW.size)
        dumping.sink.line(f"{path} passed sanity check.")
        dumping.sink.json({"file": str(path), "kind": "sane"})
        return
    wrong, unordered, missing = [], [], []
    previous = NO_TIMESTAMP
    with _log_of(path) as log:
        places = _positions(path.with_suffix(".index"), base)
        for number, (timestamp, relative) in enumerate(rows):
            offset = base + relative
            if relative == 0 and number:
                break
            batch = _batch_with(log, offset, places)
            if batch is None or batch.last_offset != offset:
                missing.append((offset, -1 if batch is None else batch.last_offset))
            else:
                latest = max((record.timestamp for record in read_records(batch)), default=NO_TIMESTAMP)
                if latest != timestamp:
                    wrong.append((timestamp, latest))
                if previous >= timestamp:
                    unordered.append((timestamp, previous))
            if not dumping.verify_only:
                dumping.sink.line(f"timestamp: {timestamp} offset: {offset}")
                dumping.sink.json({"file": str(path), "kind": "row", "timestamp": timestamp, "offset": offset})
            previous = timestamp
    for found, title, words, names in (
        (wrong, "Found timestamp mismatch in :", "  Index timestamp: {}, log timestamp: {}", ("index", "log")),
        (
            unordered,
            "Found out of order timestamp in :",
            "  Index timestamp: {}, Previously indexed timestamp: {}",
            ("index", "previous"),
        ),
        (
            missing,
            "The following indexed offsets are not found in :",
            "Indexed offset: {}, found log offset: {}",
            ("indexOffset", "logOffset"),
        ),
    ):
        if found:
            values = [dict(zip(names, pair, strict=True)) for pair in found]
            dumping.note(path, title, [words.format(*pair) for pair in found], values)


def transaction_index(dumping: Dumping, path: Path) -> None:
    try:
        for aborted in TransactionIndex(ReadOnlyDisk(), path, _base(path)):
            said = {
                "version": 0,
                "producerId": aborted.producer_id,
                "firstOffset": aborted.first_offset,
                "lastOffset": aborted.last_offset,
                "lastStableOffset": aborted.last_stable_offset,
            }
            dumping.sink.line(" ".join(f"{name}: {value}" for name, value in said.items()))
            dumping.sink.json({"file": str(path), "kind": "aborted", **said})
    except CorruptTransactionIndex as error:
        raise CommandFailed(f"{error}: delete the file's segment indexes, and a start makes them anew.") from None


def _base(path: Path) -> int:
    try:
        return base_offset_of(path)
    except ValueError as error:
        raise CommandFailed(f"{path} is no index of a segment ({error}).") from None


def _log_of(path: Path) -> LogFile:
    log = path.with_suffix(".log")
    try:
        return LogFile(log)
    except FileNotFoundError:
        raise CommandFailed(f"{path} cannot be held against its segment: {log} is missing.") from None


def _sane(path: Path, last_relative: int, row_size: int) -> None:
    if last_relative < 0:
        raise _corrupt(path, "its last offset is before its segment's first")
    size = path.stat().st_size
    if size % row_size:
        raise _corrupt(path, f"its {size} bytes are no multiple of {row_size}")


def _corrupt(path: Path, why: str) -> CommandFailed:
    return CommandFailed(f"{path} is corrupt: {why}; the next start builds it anew.")


def _batch_at(log: LogFile, position: int, max_bytes: int) -> Batch | None:
    """The batch that begins there, if it is no longer than may be read."""
    if not 0 <= position < log.size:
        return None
    try:
        found = next(log.batches(position), None)
    except MalformedFrame:
        return None
    return found[1] if found is not None and found[1].size <= max_bytes else None


def _positions(index: Path, base: int) -> list[tuple[int, int]]:
    try:
        rows = read_rows(index, INDEX_ROW)
    except OSError:
        return []
    return [(base + offset, position) for offset, position in rows if offset or position]


def _batch_with(log: LogFile, offset: int, places: list[tuple[int, int]]) -> Batch | None:
    found = bisect_right(places, offset, key=lambda place: place[0])
    begin = places[found - 1][1] if found else 0
    try:
        return next((batch for _, batch in log.batches(begin) if batch.last_offset >= offset), None)
    except MalformedFrame:
        return None
