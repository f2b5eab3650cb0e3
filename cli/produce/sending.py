"""Sends records, counts how they end, and says in the end what became of them."""

from __future__ import annotations

import threading
from collections.abc import Iterable

from barnabas.cli.clients.producing import Outgoing, RecordProducer
from barnabas.cli.clients.words import more_telling, sentence_for

__all__ = ["Tally", "send_all"]


class Tally:
    """What has become of the records; counted from the library's threads too."""

    def __init__(self) -> None:
        self.read = 0
        self.sent = 0
        self.failed = 0
        self.skipped = 0
        self.bytes = 0
        self.first_failure: BaseException | None = None
        self.first_skipped = ""
        self._lock = threading.Lock()

    def count(self, size: int, error: BaseException | None) -> None:
        with self._lock:
            if error is None:
                self.sent += 1
                self.bytes += size
            else:
                self.failed += 1
                self.first_failure = more_telling(self.first_failure, error)

    def skip(self, error: Exception) -> None:
        self.skipped += 1
        self.first_skipped = self.first_skipped or str(error)

    @property
    def lost(self) -> int:
        """Those of which nothing was heard."""
        return self.read - self.sent - self.failed

    @property
    def trouble(self) -> str:
        """A sentence; empty if there was none."""
        if self.failed and self.first_failure is not None:
            return f"{self.failed:,} of {self.read:,} records were not taken: {sentence_for(self.first_failure)}."
        if self.lost:
            return f"Of {self.lost:,} of {self.read:,} records it is not known whether they were taken."
        return ""


def send_all(records: Iterable[Outgoing], producer: RecordProducer, tally: Tally, *, one_by_one: bool) -> None:
    """Whatever ends it, what was read before is sent: of what comes through a pipe nobody has a second copy."""
    try:
        for record in records:
            size = record.size
            producer.send(record, lambda error, size=size: tally.count(size, error))  # type: ignore[misc]
            tally.read += 1
            if one_by_one:
                producer.flush()
                if tally.failed:
                    break
    finally:
        producer.flush()
