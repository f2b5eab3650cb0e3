"""What a dump says of one file of a log, by its kind: the lines of Kafka's tool, or JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.decoders import Decoder, readable
from barnabas.cli.log.files import LogFile, base_offset_of, check_batch, position_of
from barnabas.cli.log.lines import batch_line, control_json, record_line
from barnabas.cli.log.sink import Sink
from barnabas.coordination.cluster.bootstrap import BOOTSTRAP_CHECKPOINT
from barnabas.coordination.cluster.snapshot_file import SnapshotId
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.java_text import split_lines
from barnabas.protocol.record import Record, read_records
from barnabas.storage.producer_snapshots import CorruptSnapshot, decode_snapshot

__all__ = ["Dumping", "is_text_file"]

_NOTHING_BEFORE = -1
_GAPS = "Non-consecutive offsets in "
_TITLES = (
    "Mismatches in :",
    "Found timestamp mismatch in :",
    "Found out of order timestamp in :",
    "The following indexed offsets are not found in :",
    _GAPS,
)


@dataclass
class Dumping:
    sink: Sink
    decoder: Decoder | None
    """None: the records are not shown."""
    deep: bool = False
    skip_metadata: bool = False
    max_bytes: int | None = None
    max_message_bytes: int = 5 << 20
    verify_only: bool = False
    sanity_only: bool = False
    first_offset: int | None = None
    end_offset: int | None = None
    gaps: dict[Path, dict[int, int]] = field(default_factory=dict)
    """By file: behind which offset another follows than the next."""
    notes: list[tuple[str, Path, list[str], list[Any]]] = field(default_factory=list)
    """What is wrong, by title and file: lines for people, and values for programs."""

    def note(self, path: Path, title: str, lines: list[str], values: list[Any]) -> None:
        self.notes.append((title, path, lines, values))

    def tell_notes(self) -> None:
        """In the end, as Kafka's tool does it, and by kind."""
        for path, pairs in self.gaps.items():
            lines = [f"  {before} is followed by {after}" for before, after in sorted(pairs.items())]
            values = [{"offset": before, "followedBy": after} for before, after in sorted(pairs.items())]
            self.note(path, _GAPS, lines, values)
        for title, path, lines, values in sorted(self.notes, key=lambda note: _TITLES.index(note[0])):
            value = {"file": str(path), "kind": "problem", "problem": title.strip(" :"), "found": values}
            self.sink.problem("\n".join([f"{title}{path.absolute()}", *lines]), value)

    def dump(self, path: Path) -> bool:
        """False for a file of a kind that nobody knows."""
        from barnabas.cli.log import index_dumping

        kinds: Mapping[str, Callable[[Path], None]] = {
            ".log": self.batches,
            ".checkpoint": self.batches,
            ".index": lambda one: index_dumping.offset_index(self, one),
            ".timeindex": lambda one: index_dumping.time_index(self, one),
            ".txnindex": lambda one: index_dumping.transaction_index(self, one),
            ".snapshot": self.producers,
        }
        self.sink.line(f"Dumping {path}")
        kind = kinds.get(path.suffix) or (self.text if is_text_file(path) else None)
        if kind is None:
            self.sink.problem(f"Ignoring unknown file {path}", {"file": str(path), "kind": "unknown"})
            return False
        kind(path)
        return True

    # Batches and records

    def batches(self, path: Path) -> None:
        self._say_where(path)
        with LogFile(path, max_bytes=self.max_bytes) as log:
            begin = position_of(path, self.first_offset) if self.first_offset and path.suffix == ".log" else 0
            last = _NOTHING_BEFORE
            position = begin
            try:
                for position, batch in log.batches(begin):
                    if self.first_offset is not None and batch.last_offset < self.first_offset:
                        continue
                    if self.end_offset is not None and batch.base_offset >= self.end_offset:
                        return
                    last = self._batch(path, position, batch, last)
            except MalformedFrame as error:
                self.sink.flush()
                raise CommandFailed(
                    f"{path} cannot be read behind byte {log.position} ({error}): barnabas log verify says what a start"
                    " would do about it."
                ) from None
            rest = log.size - log.position
            if rest > 0 and self.max_bytes is None:
                self.sink.line(f"Found {rest} invalid bytes at the end of {path.name}")
                self.sink.json({"file": str(path), "kind": "rest", "position": log.position, "bytes": rest})

    def _say_where(self, path: Path) -> None:
        if path.suffix == ".log":
            self.sink.line(f"Log starting offset: {_offset(path)}")
        elif path.name == BOOTSTRAP_CHECKPOINT:
            self.sink.line("KRaft bootstrap snapshot")
        else:
            snapshot = SnapshotId.parse(path.name)
            if snapshot is None:
                raise CommandFailed(f"{path} is no snapshot of metadata: their names are OFFSET-EPOCH.checkpoint.")
            self.sink.line(f"Snapshot end offset: {snapshot.end_offset}, epoch: {snapshot.epoch}")

    def _batch(self, path: Path, position: int, batch: Batch, last: int) -> int:
        if self.sink.as_json:
            return self._batch_json(path, position, batch, last)
        line = self.sink.line
        line(batch_line(batch, position))
        if not self.deep:
            return last
        for record in read_records(batch):
            self._follow(path, last, record.offset)
            last = record.offset
            if self._wanted(record):
                line(self._record_text(batch, record))
        return last

    def _record_text(self, batch: Batch, record: Record) -> str:
        text = "" if self.skip_metadata else record_line(batch, record)
        if self.decoder is None or batch.control:
            return text
        said = self.decoder(record).text()
        return text + said if text or not said else f"|{said}"

    def _wanted(self, record: Record) -> bool:
        return not (
            (self.first_offset is not None and record.offset < self.first_offset)
            or (self.end_offset is not None and record.offset >= self.end_offset)
        )

    def _follow(self, path: Path, last: int, offset: int) -> None:
        if offset != last + 1 and not (last == _NOTHING_BEFORE and self.first_offset is not None):
            self.gaps.setdefault(path, {})[last] = offset

    def _batch_json(self, path: Path, position: int, batch: Batch, last: int) -> int:
        said: dict[str, Any] = {
            "file": str(path),
            "kind": "batch",
            "position": position,
            "size": batch.size,
            "magic": batch.magic,
            "baseOffset": batch.base_offset,
            "lastOffset": batch.last_offset,
            "count": batch.record_count,
            "baseSequence": batch.base_sequence,
            "lastSequence": batch.last_sequence,
            "producerId": batch.producer_id,
            "producerEpoch": batch.producer_epoch,
            "partitionLeaderEpoch": batch.partition_leader_epoch,
            "isTransactional": batch.transactional,
            "isControl": batch.control,
            "deleteHorizonMs": batch.delete_horizon_ms,
            "timestampType": batch.timestamp_type.name,
            "maxTimestamp": batch.max_timestamp,
            "compression": batch.compression.name.lower(),
            "crc": batch.crc,
            "isValid": check_batch(batch),
        }
        if self.deep:
            said["records"] = records = []
            for record in read_records(batch):
                self._follow(path, last, record.offset)
                last = record.offset
                if self._wanted(record):
                    records.append(self._record_json(batch, record))
        self.sink.json(said)
        return last

    def _record_json(self, batch: Batch, record: Record) -> dict[str, Any]:
        said: dict[str, Any] = {"offset": record.offset, "timestamp": record.timestamp}
        if batch.control:
            return {**said, "control": control_json(record)}
        if self.decoder is not None:
            key, value = self.decoder(record)
            said |= {"key": _if_text(key, record.key), "value": _if_text(value, record.value)}
        said["headers"] = [{"key": name, "value": readable(value)} for name, value in record.headers]
        return said

    # What else lies there

    def producers(self, path: Path) -> None:
        try:
            entries = decode_snapshot(path.read_bytes())
        except CorruptSnapshot as error:
            self.sink.problem(str(error), {"file": str(path), "kind": "corrupt", "reason": str(error)})
            return
        for entry in entries:
            said = {
                "producerId": entry.producer_id,
                "producerEpoch": entry.epoch,
                "coordinatorEpoch": entry.coordinator_epoch,
                "currentTxnFirstOffset": entry.current_txn_first_offset,
                "lastTimestamp": entry.timestamp,
            }
            begun = entry.current_txn_first_offset
            words = [f"{name}: {value}" for name, value in said.items()]
            words[3] = f"currentTxnFirstOffset: {f'OptionalLong[{begun}]' if begun >= 0 else 'OptionalLong.empty'}"
            if entry.last_offset >= 0:
                batch = {
                    "firstSequence": _first_sequence(entry.last_sequence, entry.offset_delta),
                    "lastSequence": entry.last_sequence,
                    "lastOffset": entry.last_offset,
                    "offsetDelta": entry.offset_delta,
                    "timestamp": entry.timestamp,
                }
                said |= batch
                words += [f"{name}: {value}" for name, value in batch.items()]
            self.sink.line(" ".join(words))
            self.sink.json({"file": str(path), "kind": "producer", **said})

    def text(self, path: Path) -> None:
        """Checkpoints, and the other small files that are text."""
        lines = split_lines(path.read_bytes().decode(errors="replace"))
        for line in lines:
            self.sink.line(line)
        self.sink.json({"file": str(path), "kind": "text", "lines": lines})


def is_text_file(path: Path) -> bool:
    return path.name in ("partition.metadata", "meta.properties", "quorum-state", ".kafka_cleanshutdown") or (
        path.name.endswith("-checkpoint")
    )


def _first_sequence(last: int, delta: int) -> int:
    first = last - delta
    return first if first >= 0 else first + (1 << 31)


def _offset(path: Path) -> int:
    try:
        return base_offset_of(path)
    except ValueError as error:
        raise CommandFailed(
            f"{path} is no segment of a log ({error}): name files as they lie in a directory."
        ) from None


def _if_text(said: Any, data: bytes | None) -> Any:
    """A program gets the bytes themselves where a text would have lost some."""
    if isinstance(said, str) and "\ufffd" in said:
        return readable(data)
    return said
