"""How long something may be away: it is said once that it is, once that it is back, and at the end why all ends."""

from __future__ import annotations

import time
from collections.abc import Callable, Hashable

from barnabas.cli.refusals import sentence_of
from barnabas.client.errors import ClientError
from barnabas.protocol.errors import KafkaError

__all__ = ["Patience"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 2.0
_TELL_AFTER_S = 3.0
"""A new leader is mostly there by then, and nobody has to know."""


class Patience:
    """With one cluster; what is tried again has a key."""

    def __init__(self, who: str, patience_s: float, note: Callable[[str], None], ended: Callable[[], bool]) -> None:
        """`ended`: somebody has said that it is enough."""
        self._who = who
        self._patience_s = patience_s
        self._note = note
        self._ended = ended
        self._troubles: dict[Hashable, tuple[float, float, float]] = {}
        """Since when, when it may be tried again, and how long it is to be left alone after that."""
        self._told = False

    def may_try(self, key: Hashable) -> bool:
        trouble = self._troubles.get(key)
        return trouble is None or time.monotonic() >= trouble[1]

    def wait(self, key: Hashable) -> None:
        """Until it may be tried again."""
        trouble = self._troubles.get(key)
        if trouble is not None:
            time.sleep(max(0.0, trouble[1] - time.monotonic()))

    def well(self, key: Hashable) -> None:
        if self._troubles.pop(key, None) is not None and not self._troubles and self._told:
            self._told = False
            self._note(f"The {self._who} answers again.")

    def forget(self, key: Hashable) -> None:
        """It is nobody's any more."""
        self.well(key)

    def bear(self, key: Hashable, error: ClientError | KafkaError) -> None:
        """Raises the error when it was borne for too long, when it will not pass, or when somebody has ended us."""
        now_s = time.monotonic()
        since_s, _, pause_s = self._troubles.get(key, (now_s, 0.0, _FIRST_PAUSE_S))
        lasts = isinstance(error, KafkaError) and not error.code.retriable
        if lasts or self._ended() or now_s - since_s > self._patience_s:
            raise error
        self._troubles[key] = since_s, now_s + pause_s, min(pause_s * 2, _LONGEST_PAUSE_S)
        if not self._told and now_s - since_s > _TELL_AFTER_S:
            self._told = True
            why = sentence_of(error) or str(error)
            self._note(f"The {self._who}: {why} Trying again for {self._patience_s:g} s.")
