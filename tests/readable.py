"""Whether something came, on files of any number: select() takes none above 1,023, and a crowd of clients has more."""

from __future__ import annotations

import select
import socket
from typing import IO

__all__ = ["readable"]


def readable(*files: int | socket.socket | IO[bytes], within_s: float) -> bool:
    poll = select.poll()
    for file in files:
        poll.register(file, select.POLLIN)
    return bool(poll.poll(max(0.0, within_s) * 1_000))
