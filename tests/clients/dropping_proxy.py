"""A proxy between clients and the broker that lets every Nth answer to a Produce get lost, with its connection."""

from __future__ import annotations

import socket
import struct
from contextlib import suppress
from itertools import count

from tests.golden.proxy import Exchange, Proxy, Recording, frames

PRODUCE = 0


class DroppingProxy(Proxy):
    def __init__(self, every: int) -> None:
        super().__init__(Recording())
        self._every = every
        self._answers = count(1)
        self.dropped = 0

    def _responses(self, server: socket.socket, client: socket.socket, waiting: dict[int, Exchange]) -> None:
        for frame in frames(server):
            exchange = waiting.pop(struct.unpack_from(">i", frame)[0], None)
            if exchange is not None and exchange.api_key == PRODUCE and next(self._answers) % self._every == 0:
                self.dropped += 1
                break
            with suppress(OSError):
                client.sendall(struct.pack(">i", len(frame)) + frame)
        for each in (client, server):
            with suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
