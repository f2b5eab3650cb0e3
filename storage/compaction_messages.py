"""What the owner of the logs and a process that compacts them (compaction_worker.py) say to each other.

    owner                                        worker
                                                 Ready
    Start(job, bytes_per_second)                 Progress(moved_bytes), now and then
                                                 Cleaned(segment)
      swap_in, and then Continue                 Progress, Cleaned, ...
    Rate(bytes_per_second), at any time          Done(moved_bytes), Failed(kind, reason) or Cancelled
    Cancel, at any time

A job ends with exactly one of the last three, also where a Cancel crosses one of the others; a Cancel that comes later
is for nobody. After `Cleaned` the worker waits, so that no more than one result lies beside the log, and an owner that
cancels then has to `discard` it.

A message is four bytes of length and JSON. Both ends are of the same version, and nothing is executed by reading it.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import fields
from enum import Enum
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.compaction_filter import LastRecord
from barnabas.storage.compaction_job import CleanedSegment, CompactionJob, SourceSegment

__all__ = [
    "MAX_MESSAGE_BYTES",
    "Cancel",
    "Cancelled",
    "Cleaned",
    "Continue",
    "Done",
    "Failed",
    "Failure",
    "Message",
    "MessageReader",
    "Progress",
    "Rate",
    "Ready",
    "Start",
    "encode_message",
]

MAX_MESSAGE_BYTES = 256 << 20
"""Longer than any job: one with five million producers."""

_LENGTH_BYTES = 4


class Failure(Enum):
    DAMAGED = "damaged"
    """Bytes of the log are not what was written. Until they are mended or deleted, nothing of it may be compacted."""
    DISK = "disk"
    """It is full, or fails, or the log went away."""
    INTERNAL = "internal"
    """We are broken; the worker's standard error has the traceback."""


class Start(NamedTuple):
    job: CompactionJob
    bytes_per_second: float | None


class Rate(NamedTuple):
    """How fast to go from now on."""

    bytes_per_second: float | None


class Continue(NamedTuple):
    """The result has been swapped in."""


class Cancel(NamedTuple):
    """Stop and answer; a result that was not swapped in is not wanted any more."""


class Ready(NamedTuple):
    """Sent once, when the process has started."""


class Progress(NamedTuple):
    moved_bytes: int
    """Read and written in this job so far. Reading will be about `CompactionJob.bytes_to_read` of it."""


class Cleaned(NamedTuple):
    segment: CleanedSegment


class Done(NamedTuple):
    moved_bytes: int


class Failed(NamedTuple):
    kind: Failure
    reason: str
    """One sentence for people, with the file and, where it is damaged, the position."""


class Cancelled(NamedTuple):
    """Nothing that was not sent has been left behind."""


Message = Start | Rate | Continue | Cancel | Ready | Progress | Cleaned | Done | Failed | Cancelled


def encode_message(message: Message) -> bytes:
    data = json.dumps([type(message).__name__, *_plain(message)], separators=(",", ":")).encode()
    assert len(data) <= MAX_MESSAGE_BYTES, f"a message of {len(data)} bytes"
    return len(data).to_bytes(_LENGTH_BYTES, "big") + data


class MessageReader:
    """Bytes as they come in, messages out."""

    def __init__(self) -> None:
        self._rest = bytearray()

    def feed(self, data: bytes) -> list[Message]:
        """MalformedFrame if the other end is none of ours."""
        self._rest += data
        found = []
        while len(self._rest) >= _LENGTH_BYTES:
            length = int.from_bytes(self._rest[:_LENGTH_BYTES], "big")
            if length > MAX_MESSAGE_BYTES:
                raise MalformedFrame(f"a message of {length} bytes between a log's owner and its compaction")
            end = _LENGTH_BYTES + length
            if len(self._rest) < end:
                break
            found.append(_decoded(bytes(self._rest[_LENGTH_BYTES:end])))
            del self._rest[:end]
        return found


def _decoded(data: bytes) -> Message:
    try:
        name, *values = json.loads(data)
        return _READERS[name](*values)
    except (ValueError, TypeError, LookupError) as error:
        raise MalformedFrame(f"{data[:100]!r} is no message of a compaction: {error}") from None


def _plain(message: Message) -> tuple[Any, ...]:
    if isinstance(message, Start):
        return _plain_job(message.job), message.bytes_per_second
    if isinstance(message, Failed):
        return message.kind.value, message.reason
    return message


def _plain_job(job: CompactionJob) -> dict[str, Any]:
    values = {field.name: getattr(job, field.name) for field in fields(job)}
    # A path that is no UTF-8 is text with lone surrogates, which JSON escapes.
    values["directory"] = str(job.directory)
    values["last_records"] = [(key, *last) for key, last in job.last_records.items()]
    return values


def _read_start(job: dict[str, Any], bytes_per_second: float | None) -> Start:
    job["directory"] = Path(job["directory"])
    job["sources"] = tuple(SourceSegment(*source) for source in job["sources"])
    job["following"] = tuple(job["following"])
    job["last_records"] = {key: LastRecord(offset, epoch) for key, offset, epoch in job["last_records"]}
    return Start(CompactionJob(**job), bytes_per_second)


def _read_cleaned(values: list[Any]) -> Cleaned:
    cleaned = CleanedSegment(*values)
    return Cleaned(cleaned._replace(sources=tuple(SourceSegment(*source) for source in cleaned.sources)))


def _read_failed(kind: str, reason: str) -> Failed:
    return Failed(Failure(kind), reason)


_READERS: dict[str, Callable[..., Message]] = {
    **{each.__name__: each for each in (Rate, Continue, Cancel, Ready, Progress, Done, Cancelled)},
    "Start": _read_start,
    "Cleaned": _read_cleaned,
    "Failed": _read_failed,
}
