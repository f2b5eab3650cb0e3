"""Which batches of a fetch a reader is shown: no markers of transactions, and none of what was aborted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, control_record_type
from barnabas.protocol.messages.fetch import AbortedTransaction
from barnabas.protocol.record import read_records

__all__ = ["visible"]


def visible(batches: Iterable[Batch], aborted: Iterable[AbortedTransaction]) -> Iterator[Batch]:
    """`aborted`: what the broker told with them; nothing if aborted records are wanted too."""
    waiting = sorted(aborted, key=lambda each: each.first_offset, reverse=True)
    open_producers: set[int] = set()
    for batch in batches:
        while waiting and waiting[-1].first_offset <= batch.last_offset:
            open_producers.add(waiting.pop().producer_id)
        if batch.control:
            if batch.producer_id in open_producers and _is_abort(batch):
                open_producers.remove(batch.producer_id)
        elif not (batch.transactional and batch.producer_id in open_producers):
            yield batch


def _is_abort(batch: Batch) -> bool:
    return any(control_record_type(record.key) is ControlRecordType.ABORT for record in read_records(batch))
