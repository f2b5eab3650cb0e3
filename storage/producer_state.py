"""What one partition knows of its producers: enough to refuse a gap, to recognise a batch that was sent twice, to fence
off who was replaced, and to say up to where all transactions are decided.

`check` is pure and comes before the append; `apply` follows it, and is the very call that replays the log.

Not here yet: Kafka's verification that the transaction coordinator knows of a transaction (VerificationGuard, KIP-890).
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import NamedTuple

from barnabas.protocol.batches import Attributes, Batch
from barnabas.protocol.control import ControlRecordType
from barnabas.protocol.records.producer_snapshot import ProducerEntry
from barnabas.storage.disk import File
from barnabas.storage.producer import AppendOrigin, Producer, RememberedBatch, read_marker
from barnabas.storage.producer_snapshots import ProducerSnapshots

__all__ = ["AppendOrigin", "CompletedTransaction", "Producer", "ProducerState", "RememberedBatch"]


class CompletedTransaction(NamedTuple):
    producer_id: int
    first_offset: int
    last_offset: int
    """Of the marker."""
    aborted: bool
    last_stable_offset: int
    """Right after the marker, once that is replicated."""


class ProducerState:
    """The producers of one partition, up to `end_offset`."""

    def __init__(self, snapshots: ProducerSnapshots, expiration_ms: int) -> None:
        self.snapshots = snapshots
        self.expiration_ms = expiration_ms
        """producer.id.expiration.ms, which may change at any time."""
        self.end_offset = 0
        """Behind the last batch applied; the log also sets it where a segment begins, or where replaying does."""
        self._snapshot_offset = 0
        """A snapshot is only worth taking behind this."""
        self._producers: dict[int, Producer] = {}
        self._ongoing: list[int] = []
        """First offsets, ascending, of the transactions that have not ended: one at most for each producer."""
        self._unreplicated: list[tuple[int, int]] = []
        """First and last offsets, ascending, of those whose marker the high watermark has not passed."""

    @property
    def producers(self) -> Mapping[int, Producer]:
        """By producer id; to be looked at only."""
        return MappingProxyType(self._producers)

    def in_transaction(self, producer_id: int) -> bool:
        producer = self._producers.get(producer_id)
        return producer is not None and producer.transaction_first_offset is not None

    @property
    def is_empty(self) -> bool:
        return not self._producers and not self._unreplicated

    # Before an append.

    def check(
        self, batch: Batch, origin: AppendOrigin, transaction_version: int | None = None
    ) -> RememberedBatch | None:
        """None when the batch may be appended; when that was done before, what is remembered of it.

        Raises KafkaError when it must not be. `transaction_version` is the one by which the coordinator ends the
        transaction of a marker; who replicates markers does not know it.
        """
        if batch.producer_id < 0:
            return None
        producer = self._producers.get(batch.producer_id)
        if producer is None:
            if batch.attributes & Attributes.CONTROL or batch.producer_epoch < 0:
                Producer(batch.producer_id).check(batch, origin, transaction_version)
            return None
        if origin is AppendOrigin.CLIENT:
            duplicate = producer.find(batch)
            if duplicate is not None:
                return duplicate
        producer.check(batch, origin, transaction_version)
        return None

    def check_all(
        self, batches: Sequence[Batch], origin: AppendOrigin, transaction_version: int | None = None
    ) -> RememberedBatch | None:
        """`check` for batches that are appended together or not at all: each follows those before it."""
        if len(batches) == 1:
            return self.check(batches[0], origin, transaction_version)
        following: dict[int, Producer] = {}
        for batch in batches:
            producer_id = batch.producer_id
            if producer_id < 0:
                continue
            known = self._producers.get(producer_id)
            if known is not None and origin is AppendOrigin.CLIENT:
                duplicate = known.find(batch)
                if duplicate is not None:
                    return duplicate
            producer = following.get(producer_id)
            if producer is None:
                producer = following[producer_id] = known.copy() if known is not None else Producer(producer_id)
            producer.check(batch, origin, transaction_version)
            producer.apply(batch)
        return None

    # With an append, and when the log is replayed.

    def completion(self, batch: Batch) -> CompletedTransaction | None:
        """The transaction that this batch ends, which is in the log but not applied yet.

        An aborted one goes into the transaction index first: only then `apply` may let the last stable offset pass it.
        """
        producer = self._producers.get(batch.producer_id)
        if producer is None or producer.transaction_first_offset is None:
            return None
        found = read_marker(batch)
        if found is None:
            return None
        first_offset = producer.transaction_first_offset
        # In rising order: of the first two, one is another's.
        others = [offset for offset in self._ongoing[:2] if offset != first_offset]
        return CompletedTransaction(
            producer_id=batch.producer_id,
            first_offset=first_offset,
            last_offset=batch.base_offset,
            aborted=found[0].type is ControlRecordType.ABORT,
            last_stable_offset=others[0] if others else batch.base_offset + 1,
        )

    def apply(self, batch: Batch) -> None:
        """Take note of a batch that is in the log, its offsets and timestamps as they are there.

        Of every batch, also those without a producer. Nothing is refused; only a control batch that cannot be read,
        which `check` does not let pass, raises MalformedFrame.
        """
        if batch.producer_id >= 0:
            producer = self._producers.get(batch.producer_id)
            if producer is None:
                producer = Producer(batch.producer_id)
            before = producer.transaction_first_offset
            producer.apply(batch)
            self._producers[batch.producer_id] = producer
            after = producer.transaction_first_offset
            if before != after:
                self._follow_transaction(before, after, batch.base_offset)
        self.end_offset = batch.next_offset

    def _follow_transaction(self, before: int | None, after: int | None, marker_offset: int) -> None:
        if before is not None:
            del self._ongoing[bisect_left(self._ongoing, before)]
            insort(self._unreplicated, (before, marker_offset))
        if after is not None:
            insort(self._ongoing, after)

    # What consumers may see.

    @property
    def first_undecided_offset(self) -> int | None:
        """Where the oldest transaction begins that has not ended."""
        return self._ongoing[0] if self._ongoing else None

    @property
    def first_unstable_offset(self) -> int | None:
        """Where the oldest transaction begins that has not ended, or whose marker may still be lost."""
        undecided = self._ongoing[0] if self._ongoing else None
        if not self._unreplicated:
            return undecided
        unreplicated = self._unreplicated[0][0]
        return unreplicated if undecided is None else min(undecided, unreplicated)

    def last_stable_offset(self, high_watermark: int, log_start_offset: int = 0) -> int:
        """Up to where those consumers read that want only what is committed. What was deleted holds up nobody."""
        if not (self._ongoing or self._unreplicated):
            return high_watermark
        first = self.first_unstable_offset
        return high_watermark if first is None else min(max(first, log_start_offset), high_watermark)

    def on_high_watermark_advanced(self, high_watermark: int) -> None:
        if self._unreplicated:
            self._unreplicated = [ends for ends in self._unreplicated if ends[1] >= high_watermark]

    def on_log_start_offset_increased(self, log_start_offset: int) -> None:
        """Snapshots go with their segments, and producers with their age: neither is dropped here."""
        self.on_high_watermark_advanced(log_start_offset)
        self.end_offset = max(self.end_offset, log_start_offset)
        latest = self.snapshots.latest
        self._snapshot_offset = log_start_offset if latest is None else latest

    # Forgetting, and remembering again.

    def expire(self, now_ms: int) -> None:
        """Forget the producers that have been idle for too long, but none with a transaction going on."""
        for producer in [one for one in self._producers.values() if self._expired(one, now_ms)]:
            del self._producers[producer.producer_id]

    def take_snapshot(self, *, sync: bool = True) -> File | None:
        """Write a snapshot at `end_offset`, unless there is one there or behind it."""
        if self.end_offset <= self._snapshot_offset or self.confirm_snapshot():
            return None
        file = self.snapshots.write(self.end_offset, self._entries(), sync=sync)
        self._snapshot_offset = self.end_offset
        return file

    def confirm_snapshot(self) -> bool:
        """Whether the one at `end_offset`, which had come into doubt, says what is known."""
        if not self.snapshots.confirm(self.end_offset, self._entries()):
            return False
        self._snapshot_offset = self.end_offset
        return True

    def _entries(self) -> list[ProducerEntry]:
        """Kafka writes the producers in the order of a hash table, which has no meaning; ours ascend."""
        return [self._producers[producer_id].to_entry() for producer_id in sorted(self._producers)]

    def truncate_and_reload(
        self, log_start_offset: int, log_end_offset: int, now_ms: int, *, in_doubt: bool = False
    ) -> None:
        """Go back to the newest snapshot between the two offsets; from `end_offset` on, the log is to be replayed.

        Snapshots outside are deleted, or those behind come `in_doubt`. A log is never cut off below its high watermark,
        so that no transaction of what remains is unreplicated.
        """
        self.snapshots.delete_before(log_start_offset + 1)
        if in_doubt:
            self.snapshots.doubt_after(log_end_offset)
        else:
            self.snapshots.delete_after(log_end_offset)
        if log_end_offset == self.end_offset:
            self.on_log_start_offset_increased(log_start_offset)
            return
        self._clear()
        offset, entries = self.snapshots.load_newest() or (log_start_offset, [])
        self.end_offset = self._snapshot_offset = offset
        for producer in map(Producer.from_entry, entries):
            if not self._expired(producer, now_ms):
                self._producers[producer.producer_id] = producer
                if producer.transaction_first_offset is not None:
                    insort(self._ongoing, producer.transaction_first_offset)

    def truncate_fully_and_start_at(self, offset: int) -> None:
        self._clear()
        self.snapshots.delete_all()
        self.end_offset = offset
        self._snapshot_offset = 0

    def _clear(self) -> None:
        self._producers.clear()
        self._ongoing.clear()
        self._unreplicated.clear()

    def _expired(self, producer: Producer, now_ms: int) -> bool:
        return producer.transaction_first_offset is None and now_ms - producer.last_timestamp >= self.expiration_ms
