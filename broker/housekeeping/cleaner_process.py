"""One process that compacts logs, `python -m barnabas.storage.compaction_worker`, as the node has it. Jobs follow one
another; whoever waits for an answer may cancel the job meanwhile."""

from __future__ import annotations

import subprocess
import sys
from collections import deque
from contextlib import suppress

import trio

from barnabas.protocol.errors import MalformedFrame
from barnabas.storage.compaction_job import CompactionJob
from barnabas.storage.compaction_messages import (
    Cancel,
    Message,
    MessageReader,
    Rate,
    Ready,
    Start,
    encode_message,
)

__all__ = ["CleanerDied", "CleanerProcess"]

NICE = 5
"""How much those who answer clients come first."""

_READ_BYTES = 1 << 16


class CleanerDied(Exception):  # noqa: N818 - a state of the process
    """It is not there any more, or says what none of ours says."""


class CleanerProcess:
    """`start` it, and in any case `end` it."""

    def __init__(self) -> None:
        self._reader = MessageReader()
        self._waiting: deque[Message] = deque()
        self._sending = trio.Lock()
        self._process: trio.Process | None = None

    async def start(self) -> None:
        """OSError if there can be none."""
        self._process = await trio.lowlevel.open_process(
            [sys.executable, "-P", "-m", "barnabas.storage.compaction_worker", "--nice", str(NICE)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        if not isinstance(await self.next(), Ready):
            raise CleanerDied("it did not say that it is ready")

    @property
    def is_alive(self) -> bool:
        return self._process is not None and self._process.poll() is None

    @property
    def process(self) -> trio.Process:
        assert self._process is not None
        return self._process

    async def begin(self, job: CompactionJob, bytes_per_second: float | None) -> None:
        await self.send(Start(job, bytes_per_second))

    async def cancel(self) -> None:
        """Also of one that is gone: whoever follows its job learns of that."""
        with suppress(CleanerDied):
            await self.send(Cancel())

    async def set_rate(self, bytes_per_second: float | None) -> None:
        with suppress(CleanerDied):
            await self.send(Rate(bytes_per_second))

    async def send(self, message: Message) -> None:
        assert self.process.stdin is not None
        try:
            async with self._sending:
                await self.process.stdin.send_all(encode_message(message))
        except (trio.BrokenResourceError, trio.ClosedResourceError):
            raise CleanerDied("its process has ended") from None

    async def next(self) -> Message:
        assert self.process.stdout is not None
        while not self._waiting:
            try:
                data = await self.process.stdout.receive_some(_READ_BYTES)
                self._waiting.extend(self._reader.feed(bytes(data)))
            except (trio.BrokenResourceError, trio.ClosedResourceError, MalformedFrame) as error:
                raise CleanerDied(f"its process cannot be understood: {error}") from None
            if not data:
                raise CleanerDied("its process has ended")
        return self._waiting.popleft()

    async def end(self) -> None:
        """At once: it may be killed at any instant."""
        if self._process is None:
            return
        with trio.CancelScope(shield=True):
            self._process.kill()
            for stream in (self._process.stdin, self._process.stdout):
                if stream is not None:
                    await stream.aclose()
            await self._process.wait()
