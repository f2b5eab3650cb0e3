"""How much memory the requests and answers of all connections may hold, and who is not read while it is too much.

Small ones are not counted: a connection holds one read's worth of them at most. Beyond the bound of requests nobody
goes on with a large frame but one, so that one after the other gets through. Beyond the bound of answers no request is
begun. Who then neither sends nor reads for `PATIENCE_MS`, while others wait for him, is closed.
"""

from __future__ import annotations

from typing import Protocol

from barnabas.broker.configuration.node_config import NodeConfig

__all__ = ["COUNTED_BYTES", "Holder", "Memory", "requests_bound"]

COUNTED_BYTES = 64 * 1024
PATIENCE_MS = 10_000


def requests_bound(config: NodeConfig) -> int:
    """Kafka's own bound counts too, where it is set."""
    own, theirs = config.barnabas_memory_requests_max_bytes, config.queued_max_request_bytes
    return min(own, theirs) if theirs > 0 else own


class Holder(Protocol):
    """A connection."""

    is_open: bool
    held: int
    """Bytes of requests that are counted."""
    owed: int
    """Bytes of answers that are counted."""

    def pause(self) -> None: ...

    def resume(self) -> None: ...

    def close(self, reason: str) -> None: ...


class Memory:
    def __init__(self, requests_max_bytes: int, answers_max_bytes: int) -> None:
        self._requests_max = requests_max_bytes
        self._answers_max = answers_max_bytes
        self.requests = 0
        self.answers = 0
        self.is_full = False
        """No request is begun."""
        self._paused: dict[Holder, None] = {}
        self._favoured: Holder | None = None
        """The one that goes on with its frame."""
        self._owing: dict[Holder, None] = {}
        self._is_going_on = False
        self._last_look: tuple[Holder | None, int, int] = (None, 0, 0)

    def __repr__(self) -> str:
        return f"<Memory: {self.requests} bytes of requests, {self.answers} of answers, {len(self._paused)} wait>"

    # Requests

    def hold(self, holder: Holder, size: int, *, incomplete: bool) -> None:
        """So many bytes of a connection's requests are here now; `incomplete` if it wants to go on with a frame."""
        counted = size if size > COUNTED_BYTES else 0
        before, holder.held = holder.held, counted
        self.requests += counted - before
        if not (incomplete and counted) and self._favoured is holder:
            self._favoured = None
        if self.requests > self._requests_max and incomplete and counted and not self._favours(holder):
            self._paused[holder] = None
            holder.pause()
        if counted < before:
            self._go_on()

    def _favours(self, holder: Holder) -> bool:
        if self._favoured is None:
            self._favoured = holder
        return self._favoured is holder

    # Answers

    def owe(self, holder: Holder, size: int) -> None:
        """So many bytes wait in memory to be sent to it."""
        counted = size if size > COUNTED_BYTES else 0
        before, holder.owed = holder.owed, counted
        self.answers += counted - before
        if counted:
            self._owing[holder] = None
        else:
            self._owing.pop(holder, None)
        self.is_full = self.answers > self._answers_max
        if not self.is_full and counted < before:
            self._go_on()

    def wait(self, holder: Holder) -> None:
        """It has a request that may not be begun."""
        self._paused[holder] = None
        holder.pause()

    def forget(self, holder: Holder) -> None:
        """It is closed."""
        self._paused.pop(holder, None)
        if self._favoured is holder:
            self._favoured = None
        self.owe(holder, 0)
        self.hold(holder, 0, incomplete=False)
        self._go_on()

    def _go_on(self) -> None:
        """Who waits is read again, as far as there is room; if there is none, one of them at least."""
        if self._is_going_on:
            return  # what a resumed connection frees is seen by the loop that resumed it
        self._is_going_on = True
        try:
            while self._paused and not self.is_full:
                holder = next(iter(self._paused))
                if self.requests > self._requests_max and not self._favours(holder):
                    return
                del self._paused[holder]
                holder.resume()
        finally:
            self._is_going_on = False

    # From time to time

    def look(self, now_ms: int) -> None:
        """Close the one for whom all others wait, if nothing has come of it."""
        if not self._paused:
            self._last_look = (None, 0, 0)
            return
        if self.is_full:
            culprit: Holder | None = max(self._owing, key=lambda holder: holder.owed)
        else:
            culprit = self._favoured
        if culprit is None:
            return
        size = culprit.owed if self.is_full else culprit.held
        known, known_size, since_ms = self._last_look
        if known is not culprit or known_size != size:
            self._last_look = (culprit, size, now_ms)
        elif now_ms - since_ms >= PATIENCE_MS:
            what = "does not read its answers" if self.is_full else "does not send the rest of its request"
            culprit.close(f"it {what}, and others wait for the memory of {size} bytes")
