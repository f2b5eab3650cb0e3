"""From where a replay can go on: of each partition the first offset of which it is not known that it has arrived."""

from __future__ import annotations

import threading
from collections.abc import Mapping

from barnabas.cli.clients.words import more_telling
from barnabas.client.cluster import Partition

__all__ = ["Ledger"]


class Ledger:
    """Answers come from the library's threads, and not in the order of the questions."""

    def __init__(self, starts: Mapping[Partition, int]) -> None:
        self._next = dict(starts)
        """What is read next."""
        self._waiting: dict[Partition, dict[int, None]] = {partition: {} for partition in starts}
        """In the order in which they were sent, which is that of their offsets."""
        self._lock = threading.Lock()
        self.replayed = 0
        self.bytes = 0
        self.first_failure: BaseException | None = None

    def read_up_to(self, partition: Partition, offset: int) -> None:
        """What is before it and was not sent need not be."""
        with self._lock:
            self._next[partition] = max(self._next[partition], offset)

    def sent(self, partition: Partition, offset: int) -> None:
        with self._lock:
            self._waiting[partition][offset] = None
            self._next[partition] = offset + 1

    def ended(self, partition: Partition, offset: int, size: int, error: BaseException | None) -> None:
        with self._lock:
            if error is not None:
                self.first_failure = more_telling(self.first_failure, error)
                return
            self._waiting[partition].pop(offset, None)
            self.replayed += 1
            self.bytes += size

    @property
    def in_doubt(self) -> int:
        with self._lock:
            return sum(map(len, self._waiting.values()))

    def go_on_at(self) -> dict[Partition, int]:
        with self._lock:
            return {
                partition: next(iter(waiting), self._next[partition]) for partition, waiting in self._waiting.items()
            }
