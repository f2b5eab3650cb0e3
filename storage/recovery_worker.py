"""A process that recovers logs for a node that starts after a kill: `python -m barnabas.storage.recovery_worker NAME`.

Reading a batch holds Python's lock, so that threads do not help; processes do. The node writes jobs to the standard
input, one line of JSON each, and reads answers from the standard output:

    {"path": "/data/orders-0", "recovery_point": 1500, ...}
    {"advance": 1073741824}
    {"report": "/data/orders-0/00000000000000001500.log: 4 bytes from byte ..."}
    {"path": "/data/orders-0", "recovery_point": 1764}
    {"path": "/data/orders-1", "error": "Input/output error"}

An answered log is whole and safe on disk, and as a clean stop leaves it: opening it reads no batch again. A worker that
dies has lost nothing: a log that it had begun is recovered from its beginning by whoever opens it. It ends with its
input. Until then it holds a lock in every log directory in which it worked, so that no other node begins to write
there while it still cuts.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple, Self

from barnabas.storage.directory_names import worker_lock
from barnabas.storage.disk import Disk, Lock, SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.topic_config import TopicConfig

__all__ = [
    "Advanced",
    "RecoveredPartition",
    "RecoveryFailed",
    "RecoveryJob",
    "Said",
    "parse_answer",
    "recover_partition",
]


@dataclass(frozen=True, slots=True, kw_only=True)
class RecoveryJob:
    path: Path
    """The partition's directory."""
    config: TopicConfig
    recovery_point: int
    start_offset: int
    now_ms: int
    producer_expiration_ms: int = 86_400_000

    def to_json(self) -> str:
        return json.dumps({**asdict(self), "path": str(self.path)})

    @classmethod
    def from_json(cls, line: str) -> Self:
        said = json.loads(line)
        config: dict[str, Any] = said["config"]
        config = {name: tuple(value) if isinstance(value, list) else value for name, value in config.items()}
        return cls(**{**said, "path": Path(said["path"]), "config": TopicConfig(**config)})


class RecoveredPartition(NamedTuple):
    path: Path
    recovery_point: int
    """The end of the log: all of it is whole and safe."""


class RecoveryFailed(NamedTuple):
    """The disk said no; the log is as it was, or as far as it came."""

    path: Path
    error: str


class Said(NamedTuple):
    """A line for people, of what had to be mended."""

    text: str


class Advanced(NamedTuple):
    """So many more bytes have been read: of one segment, in a log that may have many."""

    bytes: int


def recover_partition(
    disk: Disk,
    job: RecoveryJob,
    report: Callable[[str], None] | None = None,
    advance: Callable[[int], None] | None = None,
) -> RecoveredPartition:
    """Make a log whole, on disk: its tail cut, its indexes, epochs and snapshot of producers written and synced."""
    log = open_log(
        disk,
        job.path,
        job.config,
        now_ms=job.now_ms,
        clean=False,
        recovery_point=job.recovery_point,
        start_offset=job.start_offset,
        producer_expiration_ms=job.producer_expiration_ms,
        report=report,
        advance=advance,
    )
    log.close()
    for segment in log.removed:
        segment.remove()
    return RecoveredPartition(job.path, log.recovery_point)


def parse_answer(line: str) -> RecoveredPartition | RecoveryFailed | Said | Advanced:
    """What a line of a worker says, for the one who asked."""
    said = json.loads(line)
    if "report" in said:
        return Said(said["report"])
    if "advance" in said:
        return Advanced(said["advance"])
    if "error" in said:
        return RecoveryFailed(Path(said["path"]), said["error"])
    return RecoveredPartition(Path(said["path"]), said["recovery_point"])


def work(disk: Disk, name: str, lines: Iterable[str], answer: Callable[[str], None]) -> None:
    """Until the lines end, or something unforeseen ends this process, which its node then does itself."""
    locks: dict[Path, Lock] = {}

    def report(text: str) -> None:
        answer(json.dumps({"report": text}))

    def advance(count: int) -> None:
        answer(json.dumps({"advance": count}))

    for line in lines:
        job = RecoveryJob.from_json(line)
        try:
            if job.path.parent not in locks:
                locks[job.path.parent] = disk.lock(job.path.parent / worker_lock(name), f"recovery worker {name}")
            recovered = recover_partition(disk, job, report, advance)
        except OSError as error:
            answer(json.dumps({"path": str(job.path), "error": error.strerror or str(error)}))
        else:
            answer(json.dumps({"path": str(job.path), "recovery_point": recovered.recovery_point}))
    for directory, lock in locks.items():
        disk.remove(directory / worker_lock(name))
        lock.release()


def main() -> None:
    def answer(line: str) -> None:
        sys.stdout.write(line + "\n")
        sys.stdout.flush()

    work(SystemDisk(), sys.argv[1] if len(sys.argv) > 1 else "0", sys.stdin, answer)


if __name__ == "__main__":
    main()
