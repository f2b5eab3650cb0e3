"""What a connection still has to send: bytes, and parts of files that are never read into this process."""

from __future__ import annotations

import os
import socket
from collections import deque
from collections.abc import Iterable

from barnabas.protocol.codec import Chunk
from barnabas.storage.file_slice import FileSlice

__all__ = ["Outgoing"]

READ_RATHER_THAN_SENDFILE = 64 * 1024
"""A part of a file that is not larger goes out in one call with its neighbours, which is cheaper."""


class Outgoing:
    """Chunks in their order. `flush` sends what the socket takes."""

    __slots__ = ("_chunks", "_socket", "size")

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self.size = 0
        """Bytes."""
        self._chunks: deque[bytes | memoryview | FileSlice] = deque()

    def __bool__(self) -> bool:
        return bool(self._chunks)

    def add(self, chunks: Iterable[Chunk]) -> None:
        """Neighbours in memory become one."""
        run: list[bytes | bytearray | memoryview] = []
        for chunk in chunks:
            if not isinstance(chunk, FileSlice):
                run.append(chunk)  # type: ignore[arg-type] # files are all that is not in memory
            elif chunk.length <= READ_RATHER_THAN_SENDFILE or chunk.file.descriptor is None:
                run.append(chunk.read())
            else:
                self._add_run(run)
                run = []
                self._chunks.append(chunk)
                self.size += chunk.length
        self._add_run(run)

    def _add_run(self, run: list[bytes | bytearray | memoryview]) -> None:
        if run:
            joined = b"".join(run)
            self._chunks.append(joined)
            self.size += len(joined)

    def flush(self) -> bool:
        """Whether all is sent. OSError if the connection is broken."""
        chunks = self._chunks
        while chunks:
            first = chunks[0]
            try:
                if isinstance(first, FileSlice):
                    sent = self._send_file(first)
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

    def _send_file(self, part: FileSlice) -> int:
        descriptor = part.file.descriptor
        assert descriptor is not None
        sent = os.sendfile(self._socket.fileno(), descriptor, part.position, part.length)
        if sent == 0:
            raise OSError(f"{part.file.path} ends before byte {part.position + part.length}")
        return sent
