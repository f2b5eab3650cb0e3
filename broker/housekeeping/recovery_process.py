"""One process that recovers logs, `python -m barnabas.storage.recovery_worker`, as the node has it."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from types import TracebackType
from typing import Self

import trio

from barnabas.storage.recovery_worker import (
    Advanced,
    RecoveredPartition,
    RecoveryFailed,
    RecoveryJob,
    Said,
    parse_answer,
)

__all__ = ["RecoveryProcess"]

_READ_BYTES = 1 << 16
_END_S = 10
"""It ends with its input, once the disk lets it; and else it is killed."""


class RecoveryProcess:
    """Inside `async with` it is there; at its end it has ended."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._rest = b""

    async def __aenter__(self) -> Self:
        # -P: what lies in the directory in which the node was started is no part of Python.
        self.process = await trio.lowlevel.open_process(
            [sys.executable, "-P", "-m", "barnabas.storage.recovery_worker", self._name],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
        )
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        process = self.process
        assert process.stdin is not None
        assert process.stdout is not None
        with trio.CancelScope(shield=True):
            if kind is not None:
                process.kill()
            await process.stdin.aclose()
            with trio.move_on_after(_END_S) as patience:
                await process.wait()
            if patience.cancelled_caught:
                process.kill()
                await process.wait()
            await process.stdout.aclose()

    async def recover(
        self, job: RecoveryJob, report: Callable[[str], None], advance: Callable[[int], None]
    ) -> RecoveredPartition | RecoveryFailed:
        """EOFError if the process has died. `advance` is told of bytes, each time that some have been read."""
        assert self.process.stdin is not None
        try:
            await self.process.stdin.send_all(job.to_json().encode() + b"\n")
        except trio.BrokenResourceError:
            raise EOFError from None
        while True:
            answer = parse_answer(await self._line())
            if isinstance(answer, Said):
                report(answer.text)
            elif isinstance(answer, Advanced):
                advance(answer.bytes)
            else:
                return answer

    async def _line(self) -> str:
        assert self.process.stdout is not None
        while b"\n" not in self._rest:
            data = await self.process.stdout.receive_some(_READ_BYTES)
            if not data:
                raise EOFError
            self._rest += data
        line, _, self._rest = self._rest.partition(b"\n")
        return line.decode()
