"""One replica of a partition: its log, its role, and up to where its records count.

log_end          behind the last record that is here
safe             behind the last one that this replica will not lose: log_end, or what has been synced
high_watermark   behind the last record that every replica in sync has: consumers see no further
last_stable      behind the last record whose transaction is decided
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.replication.watermark import Watermark
from barnabas.storage.durability import Unsynced
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.log import Appended, Log
from barnabas.storage.log_directory import TopicPartition
from barnabas.storage.producer_state import AppendOrigin

__all__ = ["Partition"]


class Partition:
    def __init__(
        self,
        name: TopicPartition,
        topic_id: Uuid,
        log: Log,
        *,
        high_watermark: int = 0,
        needs_sync: Callable[[Partition], None] | None = None,
        on_growth: Callable[[Partition], None] | None = None,
        on_failure: Callable[[Partition, KafkaError], None] | None = None,
    ) -> None:
        """`needs_sync` is told of every append where a record only counts when it is on the disk, and has `synced`
        called when it is. `on_growth` is told when the log has got another segment, the active one `look_at_size`
        bytes, or the log another start; `on_failure` what the disk said when it failed."""
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.leads = False
        self.leader_epoch = -1
        self.in_sync: tuple[int, ...] = ()
        self.replica_count = 1
        self._needs_sync = needs_sync
        self._on_growth = on_growth
        self._on_failure = on_failure
        self.look_at_size = 0
        """Set by whoever is told of growth."""
        self._active = log.active
        self.log_end = Watermark(log.end_offset)
        self.safe = self.log_end if needs_sync is None else Watermark(log.synced_offset)
        self.high_watermark = Watermark(max(min(high_watermark, log.end_offset), log.start_offset))
        self.last_stable = Watermark(self._last_stable_offset())

    def __repr__(self) -> str:
        role = f"leads in epoch {self.leader_epoch}" if self.leads else "does not lead"
        return f"<Partition {self.name} {role}, high watermark {self.high_watermark.offset}, {self.log}>"

    # Roles

    def lead(self, leader_epoch: int, in_sync: tuple[int, ...], replica_count: int = 1) -> None:
        """What is here counts at once if nobody else is in sync."""
        if leader_epoch > self.leader_epoch:
            self.log.begin_epoch(leader_epoch)
        if not self.leads:
            for watermark in (self.log_end, self.safe, self.high_watermark, self.last_stable):
                watermark.renew()
        self.leads = True
        self.replica_count = replica_count
        self.leader_epoch = leader_epoch
        self.in_sync = in_sync
        self._advance()

    def resign(self, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """Whoever waits for this leader is told that it is none any more."""
        self.leads = False
        failure = KafkaError(code, f"{self.name} is not led here any more")
        for watermark in (self.log_end, self.safe, self.high_watermark, self.last_stable):
            watermark.fail(failure)

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """That it leads, in the epoch that the asker knows (-1: any)."""
        if not self.leads:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name} is not led by this broker")
        if current_leader_epoch not in (-1, self.leader_epoch):
            older = current_leader_epoch < self.leader_epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise KafkaError(code, f"{self.name} is led in epoch {self.leader_epoch}, not {current_leader_epoch}")

    # Records

    def append(
        self,
        batches: Sequence[Batch],
        now_ms: int,
        *,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        all_in_sync: bool = False,
        transaction_version: int | None = None,
    ) -> Appended:
        """As the leader. `all_in_sync` refuses what fewer than min.insync.replicas would have, or fewer than all."""
        if not self.leads:
            self.check_leader()
        if all_in_sync and len(self.in_sync) < min(self.log.config.min_insync_replicas, self.replica_count):
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self.name} has {len(self.in_sync)} replicas in sync, and "
                f"min.insync.replicas={self.log.config.min_insync_replicas}",
            )
        try:
            appended = self.log.append_as_leader(
                batches, self.leader_epoch, now_ms, origin=origin, transaction_version=transaction_version
            )
        except KafkaError as error:
            self._failed(error)
            raise
        self._advance()
        active = self.log.segments[-1]
        if active is not self._active or active.size >= self.look_at_size:
            self._grew()
        return appended

    def _grew(self) -> None:
        self._active = self.log.active
        if self._on_growth is not None:
            self._on_growth(self)

    def _failed(self, error: KafkaError) -> None:
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR and self._on_failure is not None:
            self._on_failure(self, error)

    def _advance(self) -> None:
        log = self.log
        self.log_end.advance(log.end_offset)
        if self._needs_sync is not None:
            self.safe.advance(log.synced_offset)
            if log.synced_offset < log.end_offset:
                self._needs_sync(self)
        if self.high_watermark.advance(self.safe.offset):
            log.producers.on_high_watermark_advanced(self.safe.offset)
            self.last_stable.advance(self._last_stable_offset())

    def synced(self, work: Unsynced) -> None:
        self.log.records_synced(work)
        self._advance()

    def read(self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool) -> FileSlice:
        try:
            return self.log.read(offset, max_bytes, end_offset=end_offset, at_least_one=at_least_one)
        except KafkaError as error:
            self._failed(error)
            raise

    def delete_records(self, offset: int) -> int:
        """The new start of the log; -1 stands for the high watermark."""
        if offset == -1:
            offset = self.high_watermark.offset
        if not 0 <= offset <= self.high_watermark.offset:
            raise KafkaError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{self.name} has records up to offset {self.high_watermark.offset} that count, not up to {offset}",
            )
        if self.log.advance_start(offset):
            self.start_moved()
            self._grew()
        return self.log.start_offset

    def start_moved(self) -> None:
        """The log begins later than before."""
        self.high_watermark.advance(self.log.start_offset)
        self.last_stable.advance(self._last_stable_offset())

    def replace_log(self, log: Log) -> None:
        """By its copy in another directory, which has everything. What is being synced of the old log says nothing of
        the new one."""
        log.cuts = max(log.cuts, self.log.cuts) + 1
        self.log = log
        log.producers.on_high_watermark_advanced(self.high_watermark.offset)
        if self.leads:
            log.begin_epoch(self.leader_epoch)
        self._advance()

    def _last_stable_offset(self) -> int:
        return self.log.producers.last_stable_offset(self.high_watermark.offset, self.log.start_offset)
