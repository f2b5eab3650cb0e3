"""Connections in memory, as TCP would have them: bytes in their order in either direction, over links that are slow, or
cut one way or both, between hosts that may stop answering.

What is cut off is sent again when the link is back; how late depends on how long it was away, as in TCP. A process that
ends has its connections closed by its system; a machine that loses power says nothing, and who goes on sending there is
told when it is back, or after GIVE_UP_S.
"""

from __future__ import annotations

import errno
import os
import random
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

import trio

from tests.simulation.moments import Moments

__all__ = ["End", "Host", "Link", "Links"]

GIVE_UP_S = 20.0
RETRANSMIT_S = (0.2, 1.0)
"""After a link is back."""


class Host:
    """What has an address: a machine of a node, or a client."""

    def __init__(self, name: str) -> None:
        self.name = name
        self.powered = True
        self.ends: dict[int, End] = {}
        """By number, of connections that are open here."""

    def __repr__(self) -> str:
        return f"<Host {self.name}>"


class Link:
    """From one host to another, in that direction."""

    def __init__(self, latency_s: float, jitter_s: float, bytes_per_s: float) -> None:
        self.latency_s = latency_s
        self.jitter_s = jitter_s
        self.bytes_per_s = bytes_per_s
        self.cuts = 0
        """As many as say so; none: it carries."""
        self.stuck: dict[_Pipe, None] = {}

    @property
    def cut(self) -> bool:
        return self.cuts > 0


class Links:
    """All of them, with what a seed makes of them. Connections are made here."""

    def __init__(self, moments: Moments, generator: random.Random) -> None:
        self.moments = moments
        self.generator = generator
        self._links: dict[tuple[str, str], Link] = {}
        self.latency_s = generator.choice([0.0002, 0.001, 0.005])
        self.jitter_s = self.latency_s * generator.choice([0.1, 1, 4])
        self.splits = generator.choice([0.0, 0.0, 0.05])
        """How many packets arrive in two parts."""
        self.room = generator.choice([4 << 10, 64 << 10, 1 << 20])
        """Bytes that are on their way or wait to be read, in one direction of a connection."""
        self._numbers = 0

    def between(self, source: Host, target: Host) -> Link:
        link = self._links.get((source.name, target.name))
        if link is None:
            factor = 0.01 if source is target else 1.0
            link = Link(self.latency_s * factor, self.jitter_s * factor, 1e9)
            self._links[source.name, target.name] = link
        return link

    def cut(self, source: Host, target: Host) -> None:
        self.between(source, target).cuts += 1

    def mend(self, source: Host, target: Host) -> None:
        link = self.between(source, target)
        link.cuts -= 1
        if not link.cut:
            stuck, link.stuck = link.stuck, {}
            for pipe in stuck:
                pipe.send_again()

    def connect(self, client: Host, client_address: tuple[str, int], server: Host, address: tuple[str, int]) -> End:
        """The client's end; the server's is its peer, to which nothing gets sooner than the connection."""
        near, far = End(client, client_address, address), End(server, address, client_address)
        near.peer, far.peer = far, near
        for end in (near, far):
            self._numbers += 1
            end.number = self._numbers
            end.host.ends[end.number] = end
            end.pipe = _Pipe(self, self.between(end.host, end.peer.host), end, end.peer)
        return near


class _Packet(NamedTuple):
    moment_s: float
    data: bytes
    ends: OSError | None
    """With no data: the connection ends here, properly or with that error."""


class _Pipe:
    """One direction of a connection."""

    def __init__(self, links: Links, link: Link, source: End, target: End) -> None:
        self._links = links
        self._link = link
        self._source = source
        self._target = target
        self._packets: deque[_Packet] = deque()
        self._last_s = 0.0
        self._unanswered_since_s: float | None = None
        self.held = 0
        """Bytes under way, or not read yet."""

    @property
    def room(self) -> int:
        return max(self._links.room - self.held, 0)

    def send(self, data: bytes) -> int:
        data = data[: self.room]
        self.held += len(data)
        if len(data) > 1 and self._links.generator.random() < self._links.splits:
            middle = self._links.generator.randrange(1, len(data))
            self._put(data[:middle], None)
            self._put(data[middle:], None)
        else:
            self._put(data, None)
        return len(data)

    def end(self, error: OSError | None) -> None:
        self._put(b"", error)

    def _put(self, data: bytes, ends: OSError | None) -> None:
        link, now_s = self._link, trio.current_time()
        takes_s = link.latency_s + link.jitter_s * self._links.generator.random() + len(data) / link.bytes_per_s
        self._last_s = max(self._last_s, now_s + takes_s)
        self._packets.append(_Packet(self._last_s, data, ends))
        if link.cut:
            link.stuck[self] = None
        else:
            self._links.moments.at(self._last_s, self._arrive)

    def send_again(self) -> None:
        """The link is back."""
        if self._packets:
            self._last_s = trio.current_time() + self._links.generator.uniform(*RETRANSMIT_S)
            self._packets = deque(packet._replace(moment_s=self._last_s) for packet in self._packets)
            self._links.moments.at(self._last_s, self._arrive)

    def _arrive(self) -> None:
        while self._packets and self._packets[0].moment_s <= trio.current_time():
            if self._link.cut:
                self._link.stuck[self] = None
                return
            if self._target.vanished and not self._target.host.powered:
                self._try_later()
                return
            packet = self._packets.popleft()
            if self._target.vanished:
                self._packets.clear()
                if packet.data and not self._source.vanished:
                    self._target.pipe.end(_error(errno.ECONNRESET))
            elif packet.data:
                self._target.arrived(packet.data)
            else:
                self._target.ended(packet.ends)

    def _try_later(self) -> None:
        now_s = trio.current_time()
        if self._unanswered_since_s is None:
            self._unanswered_since_s = now_s
        if now_s - self._unanswered_since_s >= GIVE_UP_S:
            self._packets.clear()
            self._source.ended(_error(errno.ETIMEDOUT))
            return
        self._last_s = now_s + 1.0
        self._packets = deque(packet._replace(moment_s=self._last_s) for packet in self._packets)
        self._links.moments.at(self._last_s, self._arrive)


class End:
    """One end of a connection. What would block raises BlockingIOError."""

    peer: End
    pipe: _Pipe
    number: int

    def __init__(self, host: Host, address: tuple[str, int], other: tuple[str, int]) -> None:
        self.host = host
        self.address = address
        self.other = other
        self._received = bytearray()
        self._at_end = False
        self._error: OSError | None = None
        self.is_open = True
        self.vanished = False
        """Nobody here knows the connection any more."""
        self.on_change: Callable[[], None] | None = None
        """It may have become readable or writable."""

    # What its owner does

    def send(self, data: bytes | bytearray | memoryview) -> int:
        self._check()
        if self.pipe.room == 0:
            raise BlockingIOError
        return self.pipe.send(bytes(data[: self.pipe.room]))

    def receive(self, most: int) -> bytes:
        """Nothing: the other side has said all it has to say."""
        if self._received and self.is_open:
            data = bytes(self._received[:most])
            del self._received[:most]
            self.peer.pipe.held -= len(data)
            self.peer.changed()
            return data
        self._check()
        if self._at_end:
            return b""
        raise BlockingIOError

    def _check(self) -> None:
        if not self.is_open:
            raise _error(errno.EBADF)
        if self._error is not None:
            raise self._error

    def close(self) -> None:
        """What was sent still arrives; what comes is answered with a reset."""
        if self.is_open:
            self.is_open = False
            if self._error is None:
                self.pipe.end(_error(errno.ECONNRESET) if self._received else None)
            self._forget()

    def vanish(self) -> None:
        """The machine has lost power."""
        self.is_open = False
        self._forget()

    def _forget(self) -> None:
        self.vanished = True
        self.on_change = None
        self.host.ends.pop(self.number, None)

    @property
    def readable(self) -> bool:
        return bool(self._received) or self.ending

    @property
    def writable(self) -> bool:
        return self.pipe.room > 0 or self.broken

    @property
    def ending(self) -> bool:
        return self._at_end or self.broken

    @property
    def broken(self) -> bool:
        return self._error is not None

    # What the network does

    def arrived(self, data: bytes) -> None:
        self._received += data
        self.changed()

    def ended(self, error: OSError | None) -> None:
        if error is None:
            self._at_end = True
        else:
            self._error = error
        self.changed()

    def changed(self) -> None:
        if self.on_change is not None:
            self.on_change()


def _error(code: int) -> OSError:
    return OSError(code, os.strerror(code))
