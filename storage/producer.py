"""One producer, as one partition knows it: its epoch, its last five batches, and its transaction.

As in Kafka 4.3, a producer that is unknown, because it is new or was idle for too long, may begin with any sequence
number; a batch that is sent again when five others have followed it is OUT_OF_ORDER_SEQUENCE_NUMBER, and neither
UNKNOWN_PRODUCER_ID nor DUPLICATE_SEQUENCE_NUMBER is ever answered.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import NamedTuple

from barnabas.protocol.batches import (
    MAX_SEQUENCE,
    NO_PRODUCER_EPOCH,
    NO_SEQUENCE,
    NO_TIMESTAMP,
    Attributes,
    Batch,
)
from barnabas.protocol.control import EndTransactionMarker, read_end_transaction_marker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import read_records
from barnabas.protocol.records.producer_snapshot import ProducerEntry

__all__ = ["REMEMBERED_BATCHES", "AppendOrigin", "Producer", "RememberedBatch", "read_marker"]

REMEMBERED_BATCHES = 5  # as many as a producer may have in flight
_MAX_EPOCH = 2**15 - 1


class AppendOrigin(Enum):
    """Where an append comes from decides how much of it is checked."""

    REPLICATION = "replication"
    """The leader has checked it: only that transactions are not mixed up."""
    COORDINATOR = "coordinator"
    """Offset commits and transaction markers: epochs too, but no sequence numbers."""
    RAFT_LEADER = "raft leader"
    """As COORDINATOR."""
    CLIENT = "client"
    """Everything."""


class RememberedBatch(NamedTuple):
    """What is remembered of a batch, and answered when it comes again."""

    last_sequence: int
    last_offset: int
    offset_delta: int
    timestamp: int

    @property
    def base_sequence(self) -> int:
        base = self.last_sequence - self.offset_delta
        return base if base >= 0 else base + MAX_SEQUENCE + 1

    @property
    def base_offset(self) -> int:
        return self.last_offset - self.offset_delta


@dataclass(slots=True)
class Producer:
    producer_id: int
    epoch: int = NO_PRODUCER_EPOCH
    coordinator_epoch: int = -1
    last_timestamp: int = NO_TIMESTAMP
    transaction_first_offset: int | None = None
    """Of the transaction that is going on."""
    batches: deque[RememberedBatch] = field(default_factory=lambda: deque(maxlen=REMEMBERED_BATCHES))
    """Of this epoch."""

    @property
    def last_sequence(self) -> int:
        return self.batches[-1].last_sequence if self.batches else NO_SEQUENCE

    @property
    def last_data_offset(self) -> int:
        """-1 when only transaction markers are known."""
        return self.batches[-1].last_offset if self.batches else -1

    def find(self, batch: Batch) -> RememberedBatch | None:
        """The very batch, if it is one of the last five."""
        if batch.producer_epoch == self.epoch:
            last_sequence = batch.last_sequence
            for remembered in self.batches:
                if remembered.last_sequence == last_sequence and remembered.base_sequence == batch.base_sequence:
                    return remembered
        return None

    def check(self, batch: Batch, origin: AppendOrigin, transaction_version: int | None) -> None:
        """Raise KafkaError unless the batch, which is not one that `find` finds, may follow."""
        if batch.attributes & Attributes.CONTROL:
            self._check_marker(batch, origin, transaction_version)
        else:
            self._check_data(batch, origin)

    def apply(self, batch: Batch) -> None:
        """Take note of a batch that is in the log."""
        if batch.attributes & Attributes.CONTROL:
            self._apply_marker(batch)
            return
        timestamp = batch.max_timestamp
        if batch.producer_epoch != self.epoch:
            self._start_epoch(batch.producer_epoch)
        self.batches.append(RememberedBatch(batch.last_sequence, batch.last_offset, batch.last_offset_delta, timestamp))
        self.last_timestamp = timestamp
        if batch.attributes & Attributes.TRANSACTIONAL and self.transaction_first_offset is None:
            self.transaction_first_offset = batch.base_offset

    def copy(self) -> Producer:
        return replace(self, batches=self.batches.copy())

    @classmethod
    def from_entry(cls, entry: ProducerEntry) -> Producer:
        first_offset = entry.current_txn_first_offset if entry.current_txn_first_offset >= 0 else None
        producer = cls(entry.producer_id, entry.epoch, entry.coordinator_epoch, entry.timestamp, first_offset)
        if entry.last_offset >= 0:
            producer.batches.append(
                RememberedBatch(entry.last_sequence, entry.last_offset, entry.offset_delta, entry.timestamp)
            )
        return producer

    def to_entry(self) -> ProducerEntry:
        """A snapshot has room for the last batch only."""
        return ProducerEntry(
            producer_id=self.producer_id,
            epoch=self.epoch,
            last_sequence=self.last_sequence,
            last_offset=self.last_data_offset,
            offset_delta=self.batches[-1].offset_delta if self.batches else 0,
            timestamp=self.last_timestamp,
            coordinator_epoch=self.coordinator_epoch,
            current_txn_first_offset=-1 if self.transaction_first_offset is None else self.transaction_first_offset,
        )

    def _check_data(self, batch: Batch, origin: AppendOrigin) -> None:
        if batch.producer_epoch < self.epoch and origin is not AppendOrigin.REPLICATION:
            self._refuse(ErrorCode.INVALID_PRODUCER_EPOCH, batch, f"epoch {self.epoch} is known")
        if origin is AppendOrigin.CLIENT and self.epoch != NO_PRODUCER_EPOCH:
            last_sequence = self.last_sequence if batch.producer_epoch == self.epoch else NO_SEQUENCE
            due = last_sequence + 1 if last_sequence < MAX_SEQUENCE else 0
            if batch.base_sequence != due:
                self._refuse(ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, batch, f"sequence number {due} is due")
        if self.transaction_first_offset is not None and not batch.attributes & Attributes.TRANSACTIONAL:
            reason = f"its transaction, begun at offset {self.transaction_first_offset}, has not ended"
            self._refuse(ErrorCode.INVALID_TXN_STATE, batch, reason)

    def _check_marker(self, batch: Batch, origin: AppendOrigin, transaction_version: int | None) -> None:
        """Since transaction version 2 a marker has an epoch higher than its transaction's. One that comes again when
        the transaction has ended is harmless; and one that began with the highest of all epochs must end somehow."""
        marker = read_marker(batch)
        if marker is None or origin is AppendOrigin.REPLICATION:
            return
        if transaction_version is None:
            raise ValueError("who writes a transaction marker says of which transaction version")
        due = self.epoch
        if transaction_version >= 2 and self.transaction_first_offset is not None and due < _MAX_EPOCH:
            due += 1
        if batch.producer_epoch < due:
            self._refuse(ErrorCode.INVALID_PRODUCER_EPOCH, batch, f"a marker needs epoch {due}")
        if marker[0].coordinator_epoch < self.coordinator_epoch:
            reason = f"coordinator epoch {self.coordinator_epoch} is known, this is {marker[0].coordinator_epoch}"
            self._refuse(ErrorCode.TRANSACTION_COORDINATOR_FENCED, batch, reason)

    def _apply_marker(self, batch: Batch) -> None:
        found = read_marker(batch)
        if found is None:
            return
        marker, timestamp = found
        self._start_epoch(batch.producer_epoch)
        self.coordinator_epoch = marker.coordinator_epoch
        self.last_timestamp = timestamp
        self.transaction_first_offset = None

    def _start_epoch(self, epoch: int) -> None:
        """Sequence numbers begin anew with each epoch."""
        if epoch != self.epoch:
            self.epoch = epoch
            self.batches.clear()

    def _refuse(self, code: ErrorCode, batch: Batch, reason: str) -> None:
        sent = f"producer {self.producer_id} sent epoch {batch.producer_epoch}, sequence {batch.base_sequence}"
        raise KafkaError(code, f"{sent}: {reason}")


def read_marker(batch: Batch) -> tuple[EndTransactionMarker, int] | None:
    """The marker and its timestamp; None for data, and for a control batch that the cleaner has emptied because the
    whole transaction is gone. Raises MalformedFrame for a control batch of a producer that ends no transaction."""
    if not batch.attributes & Attributes.CONTROL:
        return None
    for record in read_records(batch):
        return read_end_transaction_marker(record), record.timestamp
    return None
