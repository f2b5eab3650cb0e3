"""Parts of files that may have left the page cache: asked for without waiting, and where the answer is no, read by a
thread, so that the loop never waits for a disk.

Reading with RWF_NOWAIT says no where it would wait. Where a file system cannot be asked so, the loop reads as it always
did: most of those keep their files in memory anyway.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable
from pathlib import Path

import trio

from barnabas.storage.file_slice import FileSlice

__all__ = ["ColdReads", "is_cached", "read_cached"]

PROBE_BYTES = 256 * 1024
"""One byte of every so many is asked for. What was read in a row leaves the cache in a row."""

_NOWAIT = getattr(os, "RWF_NOWAIT", None)
_CANNOT_SAY = (errno.EOPNOTSUPP, errno.EINVAL)


def read_cached(part: FileSlice) -> bytes | bytearray | None:
    """The bytes, or None if a disk has to be waited for."""
    descriptor = part.file.descriptor
    if descriptor is None or _NOWAIT is None:
        return part.read()
    buffer = bytearray(part.length)
    try:
        count = os.preadv(descriptor, [buffer], part.position, _NOWAIT)
    except BlockingIOError:
        return None
    except OSError as error:
        if error.errno in _CANNOT_SAY:
            return part.read()
        raise
    return buffer if count == part.length else None


def is_cached(descriptor: int, position: int, length: int) -> bool:
    """Whether sending it would most likely not wait."""
    if _NOWAIT is None:
        return True
    byte = bytearray(1)
    end = position + length - 1
    try:
        for at in range(position, end, PROBE_BYTES):
            os.preadv(descriptor, [byte], at, _NOWAIT)
        os.preadv(descriptor, [byte], end, _NOWAIT)
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno in _CANNOT_SAY:
            return True
        raise
    return True


class ColdReads:
    """The threads that wait for the disk."""

    def __init__(self, max_bytes: int, threads: int, on_failure: Callable[[Path, OSError], None]) -> None:
        self.max_bytes = max_bytes
        self._limiter = trio.CapacityLimiter(threads)
        self._on_failure = on_failure

    async def read(self, part: FileSlice) -> bytes:
        """As much of it as one thread reads at once. OSError if the disk fails or the file has become shorter."""
        first = FileSlice(part.file, part.position, min(part.length, self.max_bytes))
        try:
            data = await trio.to_thread.run_sync(first.read, limiter=self._limiter)
        except OSError as error:
            self._on_failure(part.file.path, error)
            raise
        if len(data) < first.length:
            raise OSError(f"{part.file.path} ends before byte {first.position + first.length}")
        return data
