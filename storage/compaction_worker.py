"""A process that compacts: `python -m barnabas.storage.compaction_worker [--nice N]`.

It receives jobs over its standard input, one after the other, and sends back what it has made over its standard output
(compaction_messages.py says how). It reads the log's segments and writes `.cleaned` files; it renames nothing, and
nothing that a reader of the log may meet is ever touched by it.

It may be killed at any instant. What is left then are `.cleaned` files, which the next compaction of the log removes
before it begins, and so does whoever opens the log. When its owner dies, its input ends, and it ends too; one that
still waits for the disk then keeps the log's directory locked, so that no other worker writes the same files.

This is a program beside the library: it has a clock and waits, as no other file of storage/ may. Nobody imports it.
"""

from __future__ import annotations

import select
import signal
import sys
import time
import traceback
from argparse import ArgumentParser
from collections import deque
from collections.abc import Sequence
from io import FileIO

from barnabas.storage.compaction import compact
from barnabas.storage.compaction_job import CompactionJob
from barnabas.storage.compaction_messages import (
    Cancel,
    Cancelled,
    Cleaned,
    Continue,
    Done,
    Failed,
    Failure,
    Message,
    MessageReader,
    Progress,
    Rate,
    Ready,
    Start,
    encode_message,
)
from barnabas.storage.disk import DirectoryLock, DiskLocked, SystemDisk, lower_priority
from barnabas.storage.segment_reading import CorruptSegment
from barnabas.storage.throttle import Throttle
from barnabas.storage.transaction_index import CorruptTransactionIndex

PROGRESS_BYTES = 16 << 20
"""A word about it after so many."""

_INPUT_BYTES = 1 << 16


class _Stop(Exception):  # noqa: N818 - nothing is wrong
    """The owner cancels the job."""


class _End(Exception):  # noqa: N818 - nothing is wrong
    """The owner is gone."""


class Worker:
    def __init__(self, source: FileIO, sink: FileIO) -> None:
        self._source = source
        self._sink = sink
        self._reader = MessageReader()
        self._poll = select.poll()
        self._poll.register(source, select.POLLIN)
        self._waiting: deque[Message] = deque()
        """Messages that came in together with one before them."""
        self._throttle = Throttle(None)
        self._moved_bytes = 0
        self._told_bytes = 0

    def run(self) -> None:
        try:
            self._send(Ready())
            while True:
                message = self._next()
                if isinstance(message, Start):
                    self._send(self._work(message))
        except _End:
            return

    def _work(self, start: Start) -> Message:
        """The one message with which every job ends."""
        self._throttle = Throttle(start.bytes_per_second)
        self._moved_bytes = self._told_bytes = 0
        try:
            self._compact(start.job)
        except _Stop:
            return Cancelled()
        except CorruptSegment as error:
            return Failed(Failure.DAMAGED, f"{error.message}; nothing of this log is compacted until that is mended")
        except CorruptTransactionIndex as error:
            return Failed(Failure.DAMAGED, f"{error}; it is built anew when the log is opened after a crash")
        except DiskLocked as error:
            return Failed(Failure.DISK, f"{error.path} is still written to by a worker without an owner")
        except OSError as error:
            what = f"{error.filename}: {error.strerror}" if error.filename else error.strerror or str(error)
            return Failed(Failure.DISK, f"compacting {start.job.directory} failed: {what}")
        except _End:
            raise
        except Exception as error:  # noqa: BLE001 - the owner is told, and has other jobs for us
            traceback.print_exc()
            what = f"{type(error).__name__}: {error}"
            return Failed(Failure.INTERNAL, f"compacting {start.job.directory} failed, which is a bug: {what}")
        return Done(self._moved_bytes)

    def _compact(self, job: CompactionJob) -> None:
        lock = DirectoryLock(job.directory)
        try:
            for cleaned in compact(job, SystemDisk(), throttle=self._moving, check=self._check):
                self._send(Cleaned(cleaned))
                while not isinstance(message := self._next(), Continue):
                    self._heed(message)
        finally:
            lock.release()

    # What `compact` calls as it goes

    def _moving(self, bytes_: int) -> None:
        self._moved_bytes += bytes_
        if self._moved_bytes - self._told_bytes >= PROGRESS_BYTES:
            self._told_bytes = self._moved_bytes
            self._send(Progress(self._moved_bytes))
        wait_ms = self._throttle.wait_ms(bytes_, _now_ms())
        while wait_ms > 0:
            self._check(wait_ms)
            wait_ms = self._throttle.wait_ms(0, _now_ms())

    def _check(self, wait_ms: int = 0) -> None:
        """Hear what the owner has to say, waiting for it at most so long."""
        if not self._waiting and self._poll.poll(wait_ms):
            self._receive()
        while self._waiting:
            self._heed(self._waiting.popleft())

    def _heed(self, message: Message) -> None:
        if isinstance(message, Cancel):
            raise _Stop
        assert isinstance(message, Rate), f"{type(message).__name__} in the middle of a job"
        self._throttle.bytes_per_second = message.bytes_per_second

    # The pipes

    def _next(self) -> Message:
        while not self._waiting:
            self._receive()
        return self._waiting.popleft()

    def _receive(self) -> None:
        data = self._source.read(_INPUT_BYTES)
        if not data:
            raise _End
        self._waiting.extend(self._reader.feed(data))

    def _send(self, message: Message) -> None:
        rest = memoryview(encode_message(message))
        try:
            while rest:
                rest = rest[self._sink.write(rest) :]
        except BrokenPipeError:
            raise _End from None


def _now_ms() -> float:
    return time.monotonic() * 1_000


def main(arguments: Sequence[str]) -> None:
    parser = ArgumentParser("barnabas.storage.compaction_worker", description="Compacts logs for the process above it.")
    parser.add_argument("--nice", type=int, default=0, help="how much lower than its owner's its priority is")
    given = parser.parse_args(arguments)
    # An interrupt at the terminal is for the owner, which then closes our input.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if given.nice:
        lower_priority(given.nice)
    Worker(FileIO(sys.stdin.fileno(), "rb", closefd=False), FileIO(sys.stdout.fileno(), "wb", closefd=False)).run()


if __name__ == "__main__":
    main(sys.argv[1:])
