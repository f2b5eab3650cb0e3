"""Transactions as a compaction meets them: which batches were aborted, and which markers nobody needs any more.

A marker may go when a compaction has met none of its transaction's batches. Aborted batches are known from the
transaction indexes; those entries that still have a batch in front of their marker are kept for the new index.
"""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heappop, heappush

from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.record import read_records
from barnabas.storage.transaction_index import AbortedTransaction

__all__ = ["CleanedTransactions"]


class CleanedTransactions:
    """Fed with every batch, in the order of the log."""

    def __init__(self) -> None:
        self._upcoming: list[tuple[int, AbortedTransaction]] = []
        """A heap, by first offset."""
        self._aborted: dict[int, AbortedTransaction] = {}
        """Those that are going on, by producer."""
        self._met_aborted: set[int] = set()
        """Producers of whose ongoing aborted transaction there has been a batch."""
        self._met: set[int] = set()
        """Producers of whose ongoing other transaction there has been one."""
        self.kept: list[AbortedTransaction] = []
        """What belongs into the index of the new segment; whoever writes that empties this."""

    def announce(self, aborted: Iterable[AbortedTransaction]) -> None:
        """Before the first batch of a segment, all that overlap it. One may be announced by several segments."""
        for transaction in aborted:
            heappush(self._upcoming, (transaction.first_offset, transaction))

    def is_discardable(self, batch: Batch) -> bool:
        """Whether nobody needs the batch: its transaction was aborted, or it ends one of which nothing is left."""
        while self._upcoming and self._upcoming[0][0] <= batch.last_offset:
            _, transaction = heappop(self._upcoming)
            self._aborted.setdefault(transaction.producer_id, transaction)
        if batch.control:
            return self._ends_nothing(batch)
        if not batch.transactional:
            return False
        aborted = batch.producer_id in self._aborted
        (self._met_aborted if aborted else self._met).add(batch.producer_id)
        return aborted

    def _ends_nothing(self, batch: Batch) -> bool:
        record = next(iter(read_records(batch)), None)
        if record is None:
            return True  # emptied by a compaction before this one
        kind = control_record_type(record.key)
        if kind is ControlRecordType.ABORT:
            transaction = self._aborted.pop(batch.producer_id, None)
            if transaction is None or not _taken_out(self._met_aborted, batch.producer_id):
                return True
            self.kept.append(transaction)
            return False
        if kind is ControlRecordType.COMMIT:
            return not _taken_out(self._met, batch.producer_id)
        return False


def _taken_out(producers: set[int], producer_id: int) -> bool:
    """Whether it was there."""
    if producer_id not in producers:
        return False
    producers.remove(producer_id)
    return True
