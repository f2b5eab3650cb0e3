"""What a connection still has to send: bytes, and parts of files that are never read into this process."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Sequence

from barnabas.broker.cold_reads import is_cached, read_cached
from barnabas.protocol.codec import Chunk
from barnabas.storage.file_slice import FileSlice

__all__ = ["Outgoing"]

READ_RATHER_THAN_SENDFILE = 64 * 1024
"""A part of a file that is not larger goes out in one call with its neighbours, which is cheaper."""

SENDFILE_BYTES = 1024 * 1024
"""At once: what the loop would wait for at the worst, where the cache lost it after it was asked."""


class Outgoing:
    """Chunks in their order. `flush` sends what the socket takes."""

    __slots__ = ("_chunks", "_socket", "cold", "size")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.size = 0
        """Bytes."""
        self.cold: FileSlice | None = None
        """What comes next, if it has to be read from a disk first; then `warmed` is to be told of its beginning."""
        self._chunks: deque[bytes | bytearray | memoryview | FileSlice] = deque()

    def __bool__(self) -> bool:
        return bool(self._chunks)

    @property
    def in_memory(self) -> int:
        """Bytes."""
        return sum(len(chunk) for chunk in self._chunks if not isinstance(chunk, FileSlice))

    def add(self, chunks: Sequence[Chunk]) -> None:
        """Neighbours in memory become one."""
        try:
            self._add_joined(b"".join(chunks))  # type: ignore[arg-type] # it raises where that is not so
            return
        except TypeError:
            pass  # a part of a file is among them
        run: list[bytes | bytearray | memoryview] = []
        for chunk in chunks:
            if not isinstance(chunk, FileSlice):
                run.append(chunk)  # type: ignore[arg-type] # files are all that is not in memory
            elif (chunk.length <= READ_RATHER_THAN_SENDFILE or chunk.file.descriptor is None) and (
                data := read_cached(chunk)
            ) is not None:
                run.append(data)
            else:
                self._add_run(run)
                run = []
                self._chunks.append(chunk)
                self.size += chunk.length
        self._add_run(run)

    def _add_run(self, run: list[bytes | bytearray | memoryview]) -> None:
        if run:
            self._add_joined(b"".join(run))

    def _add_joined(self, data: bytes) -> None:
        self._chunks.append(data)
        self.size += len(data)

    def flush(self) -> bool:
        """Whether all is sent. OSError if the connection is broken."""
        if self.cold is not None:
            return False
        chunks = self._chunks
        while chunks:
            first = chunks[0]
            try:
                if isinstance(first, FileSlice):
                    sent = self._send_file(first)
                    if not sent:
                        self.cold = first
                        return False
                else:
                    sent = self._socket.send(first, socket.MSG_MORE if len(chunks) > 1 else 0)
            except BlockingIOError:
                return False
            self.size -= sent
            if sent == len(first):
                chunks.popleft()
            elif isinstance(first, FileSlice):
                chunks[0] = FileSlice(first.file, first.position + sent, first.length - sent)
            else:
                chunks[0] = memoryview(first)[sent:]
        return True

    def warmed(self, data: bytes) -> None:
        """The beginning of what was cold; it goes out from here, since nobody knows how long the cache keeps it."""
        part, self.cold = self.cold, None
        assert part is not None
        chunks = self._chunks
        chunks.popleft()
        if len(data) < part.length:
            chunks.appendleft(FileSlice(part.file, part.position + len(data), part.length - len(data)))
        chunks.appendleft(data)

    def _send_file(self, part: FileSlice) -> int:
        """How many bytes; none if they have to be read first."""
        descriptor = part.file.descriptor
        assert descriptor is not None
        length = min(part.length, SENDFILE_BYTES)
        if not is_cached(descriptor, part.position, length):
            return 0
        sent = os.sendfile(self._socket.fileno(), descriptor, part.position, length)
        if sent == 0:
            raise OSError(f"{part.file.path} ends before byte {part.position + part.length}")
        return sent
