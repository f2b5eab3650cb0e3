"""One replica of a partition: its log, its role, and up to where its records count.

log_end          behind the last record that is here
safe             behind the last one that this replica will not lose: log_end, or what has been synced
high_watermark   behind the last record that every replica in sync has: consumers see no further; a follower's is what
                 its leader told it, as far as its log goes
last_stable      behind the last record whose transaction is decided
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.coordination.cluster.partition import NO_LEADER
from barnabas.coordination.cluster.partition import Partition as PartitionState
from barnabas.protocol.batches import Batch, batch_at
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.schema import Uuid
from barnabas.protocol.varint import Bytes
from barnabas.replication.leading import Leading, Surroundings
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
        surroundings: Surroundings | None = None,
        needs_sync: Callable[[Partition], None] | None = None,
        on_growth: Callable[[Partition], None] | None = None,
        on_failure: Callable[[Partition, KafkaError], None] | None = None,
        write_cut: Callable[[Partition], None] | None = None,
    ) -> None:
        """Without `surroundings` it leads only where there is no other replica. `needs_sync` is told of every append
        where a record only counts when it is on the disk, and has `synced` called when it is. `on_growth` is told when
        the log has got another segment, the active one `look_at_size` bytes, or the log another start; `on_failure`
        what the disk said when it failed. `write_cut` makes the last cut safe before something is appended, where
        whoever made it has not come to that; KafkaError if it cannot."""
        self.name = name
        self.topic_id = topic_id
        self.log = log
        self.leads = False
        self.follows = False
        self.leader = NO_LEADER
        """Whom a follower follows."""
        self.leader_epoch = -1
        self._surroundings = surroundings
        self.epoch_start = -1
        """Where the log ended when this leader's epoch began."""
        self.leading: Leading | None = None
        """Where it leads and there are other replicas."""
        self._needs_sync = needs_sync
        self._on_growth = on_growth
        self._on_failure = on_failure
        self._write_cut = write_cut
        self.look_at_size = 0
        """Set by whoever is told of growth."""
        self._active = log.active
        self.log_end = Watermark(log.end_offset)
        self.safe = self.log_end if needs_sync is None else Watermark(log.synced_offset)
        self.high_watermark = Watermark(max(min(high_watermark, log.end_offset), log.start_offset))
        self.last_stable = Watermark(self._last_stable_offset())

    def __repr__(self) -> str:
        role = "leads" if self.leads else f"follows {self.leader}" if self.follows else "has no role"
        role += f" in epoch {self.leader_epoch}"
        return f"<Partition {self.name} {role}, high watermark {self.high_watermark.offset}, {self.log}>"

    # Roles

    def lead(self, state: PartitionState) -> None:
        """As the metadata says, in which this broker is the leader. What is here counts at once if there is no other
        replica."""
        is_new_leader = not self.leads
        is_new_epoch = state.leader_epoch > self.leader_epoch
        epoch_start = self.log.end_offset if is_new_epoch or is_new_leader else self.epoch_start
        if not self._take(state, epoch_start, is_new_leader):
            return
        if is_new_epoch:
            self.log.begin_epoch(state.leader_epoch)
        if is_new_leader:
            self._renew_watermarks("is led here from now on")
        self.leads = True
        self.follows = False
        self.leader = state.leader
        self.leader_epoch = state.leader_epoch
        self.epoch_start = epoch_start
        self.advance()

    def _take(self, state: PartitionState, epoch_start: int, is_new_leader: bool) -> bool:
        """False if the controller has answered with something later already."""
        if state.replicas == state.isr == (state.leader,):
            if self.leading is not None:
                self.leading.low_watermark.advance(self.log.start_offset)
                self.leading = None
            return True
        if self.leading is None:
            assert self._surroundings is not None, f"{self.name} has other replicas, of which nothing is known"
            self.leading = Leading(self, state.leader, self._surroundings)
        return self.leading.take(state, epoch_start, is_new_leader=is_new_leader)

    def follow(self, leader: int, leader_epoch: int) -> None:
        """What comes from that broker is what the log gets from now on; NO_LEADER: nothing, until there is one."""
        self._end_leading(ErrorCode.NOT_LEADER_OR_FOLLOWER)
        self._renew_watermarks("is not led here any more")
        self.follows = True
        self.leader = leader
        self.leader_epoch = leader_epoch

    def resign(self, code: ErrorCode = ErrorCode.NOT_LEADER_OR_FOLLOWER) -> None:
        """It neither leads nor follows, and whoever waits for it is told."""
        self._end_leading(code)
        self.follows = False
        self.leader = NO_LEADER
        failure = KafkaError(code, f"{self.name} is not led here any more")
        for watermark in (self.log_end, self.safe, self.high_watermark, self.last_stable):
            watermark.fail(failure)

    def _end_leading(self, code: ErrorCode) -> None:
        self.leads = False
        if self.leading is not None:
            self.leading.low_watermark.fail(KafkaError(code, f"{self.name} is not led here any more"))
            self.leading = None

    def _renew_watermarks(self, why: str) -> None:
        """At what the log has. Whoever waits for the old ones would wait for records that may be others by then."""
        log = self.log
        old = (self.log_end, self.safe, self.high_watermark, self.last_stable)
        self.log_end = Watermark(log.end_offset)
        self.safe = self.log_end if self._needs_sync is None else Watermark(log.synced_offset)
        self.high_watermark = Watermark(max(min(self.high_watermark.offset, log.end_offset), log.start_offset))
        self.last_stable = Watermark(self._last_stable_offset())
        failure = KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name} {why}")
        for watermark in old:
            watermark.fail(failure)

    def check_epoch(self, current_leader_epoch: int) -> None:
        """That the asker knows the epoch; -1: he does not say."""
        if current_leader_epoch not in (-1, self.leader_epoch):
            older = current_leader_epoch < self.leader_epoch
            code = ErrorCode.FENCED_LEADER_EPOCH if older else ErrorCode.UNKNOWN_LEADER_EPOCH
            raise KafkaError(code, f"{self.name} is led in epoch {self.leader_epoch}, not {current_leader_epoch}")

    def check_leader(self, current_leader_epoch: int = -1) -> None:
        """That it leads, in the epoch that the asker knows."""
        self.check_epoch(current_leader_epoch)
        if not self.leads:
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name} is not led by this broker")

    def check_readable(self, current_leader_epoch: int = -1) -> None:
        """That it leads or follows, in the epoch that the asker knows."""
        self.check_epoch(current_leader_epoch)
        if not (self.leads or self.follows):
            raise KafkaError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"{self.name} has no replica here any more")

    @property
    def is_unsettled(self) -> bool:
        """It leads, and does not know yet how much of what was there when it began had counted."""
        return self.leads and self.epoch_start > self.high_watermark.offset

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
        if all_in_sync and self.leading is not None:
            self.leading.check_enough()
        if self.log.checkpoints_unsaved and self._write_cut is not None:
            self._write_cut(self)
        try:
            appended = self.log.append_as_leader(
                batches, self.leader_epoch, now_ms, origin=origin, transaction_version=transaction_version
            )
        except KafkaError as error:
            self._failed(error)
            raise
        self.advance()
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

    def advance(self) -> None:
        log = self.log
        self.log_end.advance(log.end_offset)
        if self._needs_sync is not None:
            self.safe.advance(log.synced_offset)
            if log.synced_offset < log.end_offset:
                self._needs_sync(self)
        if not self.leads:
            return
        counts = self.safe.offset
        if self.leading is not None:
            counts = self.leading.high_watermark(counts)
        if self.high_watermark.advance(counts):
            log.producers.on_high_watermark_advanced(counts)
            self.last_stable.advance(self._last_stable_offset())

    def synced(self, work: Unsynced) -> None:
        self.log.records_synced(work)
        self.advance()

    def read(self, offset: int, max_bytes: int, end_offset: int, *, at_least_one: bool) -> FileSlice:
        try:
            return self.log.read(offset, max_bytes, end_offset=end_offset, at_least_one=at_least_one)
        except KafkaError as error:
            self._failed(error)
            raise

    def delete_records(self, offset: int) -> int:
        """Up to the offset, which is returned; -1 stands for the high watermark."""
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
        return offset

    def start_moved(self) -> None:
        """The log begins later than before."""
        self.high_watermark.advance(self.log.start_offset)
        self.last_stable.advance(self._last_stable_offset())
        if self.leading is not None:
            self.leading.settle_low_watermark()

    # As a follower

    def append_from_leader(self, records: Bytes, now_ms: int) -> None:
        """What the leader has behind the end of this log. If the log is empty, its first batch may begin earlier: where
        records were deleted on demand, the leader begins within a batch."""
        log = self.log
        if log.checkpoints_unsaved and self._write_cut is not None:
            self._write_cut(self)
        try:
            if log.end_offset == log.start_offset:
                first = batch_at(records)
                if first is not None and first.base_offset < log.end_offset <= first.last_offset:
                    self.begin_at(first.base_offset, now_ms)
            log.append_as_follower(records, now_ms, leader_epoch=self.leader_epoch)
        except MalformedFrame as error:
            raise KafkaError(ErrorCode.CORRUPT_MESSAGE, f"{self.name}: {error}") from None
        except KafkaError as error:
            self._failed(error)
            raise
        self.advance()
        active = log.segments[-1]
        if active is not self._active or active.size >= self.look_at_size:
            self._grew()

    def learn(self, high_watermark: int, start_offset: int) -> None:
        """From the leader, as far as this log goes. A new leader may know less of what counts than the old one."""
        log = self.log
        high_watermark = max(min(high_watermark, log.end_offset), log.start_offset)
        if high_watermark != self.high_watermark.offset:
            if not self.high_watermark.advance(high_watermark):
                self.high_watermark.begin(high_watermark)
            log.producers.on_high_watermark_advanced(high_watermark)
            self.last_stable.begin(self._last_stable_offset())
        if start_offset > log.start_offset and log.advance_start(min(start_offset, high_watermark)):
            self.start_moved()
            self._grew()

    def cut_to(self, offset: int, now_ms: int) -> None:
        """Drop what the leader does not have."""
        self._cut(self.log.truncate_to, offset, now_ms)

    def begin_at(self, offset: int, now_ms: int) -> None:
        """Drop everything, and begin where the leader begins."""
        self._cut(self.log.truncate_fully_and_start_at, offset, now_ms)

    def _cut(self, cut: Callable[[int, int], object], offset: int, now_ms: int) -> None:
        failure: KafkaError | None = None
        try:
            cut(offset, now_ms)
        except OSError as error:
            failure = KafkaError(ErrorCode.KAFKA_STORAGE_ERROR, f"{self.name} cannot be cut: {error.strerror or error}")
            failure.__cause__ = error
        # Whoever waits here looks again: what he waits for may have gone.
        self._renew_watermarks("was cut to what its leader has")
        self._grew()
        if failure is not None:
            self._failed(failure)
            raise failure

    def replace_log(self, log: Log) -> None:
        """By its copy in another directory, which has everything. What is being synced of the old log says nothing of
        the new one."""
        log.cuts = max(log.cuts, self.log.cuts) + 1
        self.log = log
        log.producers.on_high_watermark_advanced(self.high_watermark.offset)
        if self.leads:
            log.begin_epoch(self.leader_epoch)
        self.advance()

    def _last_stable_offset(self) -> int:
        return self.log.producers.last_stable_offset(self.high_watermark.offset, self.log.start_offset)
