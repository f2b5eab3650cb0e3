"""Idempotent and transactional producers against one partition, told as stories."""

from __future__ import annotations

from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, build_control_batch, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.record import Record
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.producer_state import AppendOrigin, ProducerState

HOUR_MS = 3_600_000
MAX_EPOCH = 2**15 - 1
MAX_SEQUENCE = 2**31 - 1


class Partition:
    """A partition whose log is a list of batches."""

    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.disk.make_directory(Path("/t-0"))
        self.log: list[Batch] = []
        self.state = self.opened()

    def opened(self) -> ProducerState:
        return ProducerState(ProducerSnapshots(self.disk, Path("/t-0")), expiration_ms=HOUR_MS)

    @property
    def end(self) -> int:
        return self.log[-1].next_offset if self.log else 0

    def send(
        self,
        sequence: int,
        records: int = 1,
        *,
        producer: int = 7,
        epoch: int = 0,
        transactional: bool = False,
        now_ms: int = 0,
        origin: AppendOrigin = AppendOrigin.CLIENT,
    ) -> str:
        """What the producer is told: "offset N", "again offset N", or the name of an error."""
        batch = build_batch(
            [Record(b"k", b"v", timestamp=now_ms)] * records,
            base_offset=self.end,
            producer_id=producer,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=transactional,
        )
        return self.append(Batch(batch), origin)

    def end_transaction(
        self,
        how: ControlRecordType,
        *,
        producer: int = 7,
        epoch: int = 0,
        coordinator_epoch: int = 0,
        version: int = 1,
        now_ms: int = 0,
    ) -> str:
        marker = build_end_transaction_marker(
            how,
            producer_id=producer,
            producer_epoch=epoch,
            coordinator_epoch=coordinator_epoch,
            timestamp=now_ms,
            base_offset=self.end,
        )
        return self.append(Batch(marker), AppendOrigin.COORDINATOR, version)

    def append(self, batch: Batch, origin: AppendOrigin, version: int | None = None) -> str:
        before = describe(self.state)
        try:
            duplicate = self.state.check(batch, origin, version)
        except KafkaError as refused:
            return refused.code.name
        finally:
            assert describe(self.state) == before, "check has changed something"
        if duplicate is not None:
            return f"again offset {duplicate.base_offset}"
        self.log.append(batch)
        self.state.apply(batch)
        return f"offset {batch.base_offset}"

    def restart(self, now_ms: int = 0) -> None:
        self.state = self.opened()
        self.state.truncate_and_reload(0, self.end, now_ms)
        for batch in self.log:
            if batch.base_offset >= self.state.end_offset:
                self.state.apply(batch)


def describe(state: ProducerState) -> object:
    return [repr(one) for one in state.producers.values()], state.end_offset, state.first_unstable_offset


COMMIT, ABORT = ControlRecordType.COMMIT, ControlRecordType.ABORT


@pytest.fixture
def partition() -> Partition:
    return Partition()


def test_batches_in_order_are_appended(partition: Partition) -> None:
    assert partition.send(0, 3) == "offset 0"
    assert partition.send(3, 2) == "offset 3"
    assert partition.send(0, producer=8) == "offset 5"
    assert partition.send(5) == "offset 6"
    assert partition.state.end_offset == 7


def test_each_of_the_last_five_batches_is_answered_with_its_first_offset(partition: Partition) -> None:
    for number in range(6):
        partition.send(2 * number, 2)
    assert partition.send(0, 2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"  # a duplicate, but too old to be known as one
    for number in range(1, 6):
        assert partition.send(2 * number, 2) == f"again offset {2 * number}"
    assert partition.send(12) == "offset 12"


def test_a_duplicate_is_told_with_all_that_is_remembered_of_it(partition: Partition) -> None:
    partition.send(0, 4, now_ms=99)
    remembered = partition.state.check(partition.log[0], AppendOrigin.CLIENT)
    assert remembered is not None
    assert (remembered.base_offset, remembered.last_offset, remembered.timestamp) == (0, 3, 99)
    assert (remembered.base_sequence, remembered.last_sequence) == (0, 3)


def test_a_part_of_a_known_batch_is_no_duplicate(partition: Partition) -> None:
    partition.send(0, 4)
    assert partition.send(0, 3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(1, 3) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(0, 5) == "OUT_OF_ORDER_SEQUENCE_NUMBER"


def test_a_gap_is_refused_and_filled(partition: Partition) -> None:
    partition.send(0)
    assert partition.send(2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(1) == "offset 1"
    assert partition.send(2) == "offset 2"


def test_a_batch_refused_for_other_reasons_leaves_its_sequence_number_free(partition: Partition) -> None:
    partition.send(0)
    assert partition.state.check(partition.log[0], AppendOrigin.CLIENT) is not None
    batch = Batch(build_batch([Record()], producer_id=7, producer_epoch=0, base_sequence=1))
    assert partition.state.check(batch, AppendOrigin.CLIENT) is None  # and then, say, the disk is full
    assert partition.send(1) == "offset 1"


def test_sequence_numbers_go_on_with_0_after_the_highest(partition: Partition) -> None:
    assert partition.send(MAX_SEQUENCE - 2, 2) == "offset 0"
    assert partition.send(MAX_SEQUENCE, 3) == "offset 2"  # MAX, 0, 1
    assert partition.send(2) == "offset 5"
    assert partition.send(MAX_SEQUENCE, 3) == "again offset 2"
    assert partition.send(MAX_SEQUENCE - 2, 2) == "again offset 0"


def test_0_follows_a_batch_that_ends_with_the_highest(partition: Partition) -> None:
    partition.send(MAX_SEQUENCE)
    assert partition.send(1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(0) == "offset 1"


def test_a_new_epoch_begins_with_0_and_fences_the_old_one(partition: Partition) -> None:
    partition.send(0, epoch=3)
    assert partition.send(1, epoch=4) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(0, epoch=4) == "offset 1"
    assert partition.send(1, epoch=3) == "INVALID_PRODUCER_EPOCH"
    assert partition.send(0, epoch=3) == "INVALID_PRODUCER_EPOCH"  # it was appended once, but by who is fenced now
    assert partition.send(1, epoch=4) == "offset 2"


def test_an_epoch_below_none_is_refused_of_an_unknown_producer_too(partition: Partition) -> None:
    for epoch, told in ((-2, "INVALID_PRODUCER_EPOCH"), (-1, "offset 0")):
        batch = Batch(build_batch([Record(value=b"v")], producer_id=7, producer_epoch=0, base_sequence=0))
        batch.producer_epoch = epoch  # which nobody builds
        assert partition.append(batch, AppendOrigin.CLIENT) == told


@pytest.mark.parametrize("sequence", [0, 1, 41])
def test_an_idle_producer_is_forgotten_and_may_go_on_or_begin_anew(partition: Partition, sequence: int) -> None:
    partition.send(0, now_ms=1_000)
    partition.state.expire(1_000 + HOUR_MS - 1)
    assert partition.send(2, now_ms=2_000) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    partition.state.expire(1_000 + HOUR_MS)
    assert not partition.state.producers
    assert partition.send(sequence) == "offset 1"
    assert partition.send(sequence + 2) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(sequence + 1) == "offset 2"


def test_a_producer_whose_transaction_goes_on_is_never_forgotten(partition: Partition) -> None:
    partition.send(0, transactional=True)
    partition.state.expire(10 * HOUR_MS)
    assert list(partition.state.producers) == [7]
    partition.end_transaction(ABORT, now_ms=0)
    partition.state.expire(10 * HOUR_MS)
    assert not partition.state.producers


@pytest.mark.parametrize("origin", [AppendOrigin.COORDINATOR, AppendOrigin.RAFT_LEADER])
def test_coordinators_number_nothing_but_have_epochs(partition: Partition, origin: AppendOrigin) -> None:
    assert partition.send(0, epoch=1, origin=origin) == "offset 0"
    assert partition.send(0, epoch=1, origin=origin) == "offset 1"
    assert partition.send(0, epoch=0, origin=origin) == "INVALID_PRODUCER_EPOCH"


def test_what_the_leader_has_taken_the_follower_takes(partition: Partition) -> None:
    for sequence, epoch in ((5, 2), (3, 2), (5, 2), (9, 1)):
        told = partition.send(sequence, epoch=epoch, origin=AppendOrigin.REPLICATION)
        assert told == f"offset {len(partition.log) - 1}"
    assert partition.state.producers[7].epoch == 1


def test_a_batch_without_a_producer_only_moves_the_end(partition: Partition) -> None:
    assert partition.append(Batch(build_batch([Record()] * 4)), AppendOrigin.CLIENT) == "offset 0"
    assert partition.append(
        Batch(build_control_batch(ControlRecordType.LEADER_CHANGE, b"", timestamp=0, base_offset=4)),
        AppendOrigin.RAFT_LEADER,
    )
    assert partition.state.is_empty
    assert partition.state.end_offset == 5


def test_batches_of_one_append_follow_each_other_or_are_all_refused(partition: Partition) -> None:
    partition.send(0)
    first, second, third = (
        Batch(build_batch([Record()], base_offset=1, producer_id=7, producer_epoch=epoch, base_sequence=sequence))
        for epoch, sequence in ((0, 1), (1, 0), (0, 2))
    )
    before = describe(partition.state)
    assert partition.state.check_all([first, second], AppendOrigin.CLIENT) is None
    with pytest.raises(KafkaError) as refused:
        partition.state.check_all([first, second, third], AppendOrigin.CLIENT)
    assert refused.value.code is ErrorCode.INVALID_PRODUCER_EPOCH
    duplicate = partition.state.check_all([first, partition.log[0]], AppendOrigin.CLIENT)
    assert duplicate is not None
    assert duplicate.base_offset == 0
    assert describe(partition.state) == before


# Transactions.


def test_the_last_stable_offset_waits_for_the_oldest_transaction(partition: Partition) -> None:
    state = partition.state
    partition.send(0, 2, producer=1)
    assert state.last_stable_offset(2) == 2
    partition.send(0, producer=2, transactional=True)  # at 2
    partition.send(0, producer=3, transactional=True)  # at 3
    partition.send(1, producer=2, transactional=True)
    assert state.last_stable_offset(high_watermark=1) == 1
    assert state.last_stable_offset(high_watermark=5) == state.first_undecided_offset == 2
    assert partition.end_transaction(COMMIT, producer=2) == "offset 5"
    assert state.first_undecided_offset == 3
    assert state.last_stable_offset(5) == 2, "the marker is not replicated yet"
    state.on_high_watermark_advanced(5)
    assert state.last_stable_offset(5) == 2, "the high watermark is at the marker, not behind it"
    state.on_high_watermark_advanced(6)
    assert state.last_stable_offset(6) == 3
    partition.end_transaction(ABORT, producer=3)
    state.on_high_watermark_advanced(7)
    assert state.last_stable_offset(7) == 7
    assert state.first_unstable_offset is None


def test_deleted_records_hold_up_nobody(partition: Partition) -> None:
    partition.send(0, 5, transactional=True)
    assert partition.state.last_stable_offset(5, log_start_offset=3) == 3
    partition.end_transaction(COMMIT)
    partition.state.on_log_start_offset_increased(6)
    assert partition.state.first_unstable_offset is None


def test_the_completion_of_a_transaction_is_known_before_it_is_applied(partition: Partition) -> None:
    partition.send(0, producer=1, transactional=True)
    partition.send(0, producer=2, transactional=True)
    marker = Batch(
        build_end_transaction_marker(
            ABORT, producer_id=2, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=2
        )
    )
    assert partition.state.completion(marker) == (2, 1, 2, True, 0)
    assert partition.state.first_undecided_offset == 0
    partition.end_transaction(COMMIT, producer=1)
    marker = Batch(
        build_end_transaction_marker(
            COMMIT, producer_id=2, producer_epoch=0, coordinator_epoch=0, timestamp=0, base_offset=3
        )
    )
    assert partition.state.completion(marker) == (2, 1, 3, False, 4)
    partition.append(marker, AppendOrigin.COORDINATOR, 1)
    assert partition.state.completion(marker) is None
    assert partition.state.completion(partition.log[0]) is None


def test_a_transaction_is_not_mixed_with_other_records_of_its_producer(partition: Partition) -> None:
    partition.send(0, transactional=True)
    assert partition.send(1) == "INVALID_TXN_STATE"
    assert partition.send(1, origin=AppendOrigin.REPLICATION) == "INVALID_TXN_STATE"
    assert partition.send(1, transactional=True) == "offset 1"
    partition.end_transaction(COMMIT)
    assert partition.send(2) == "offset 3"


def test_a_deposed_coordinator_is_fenced(partition: Partition) -> None:
    partition.end_transaction(COMMIT, coordinator_epoch=5)
    partition.send(0, transactional=True)
    assert partition.end_transaction(ABORT, coordinator_epoch=4) == "TRANSACTION_COORDINATOR_FENCED"
    assert partition.end_transaction(ABORT, coordinator_epoch=5) == "offset 2"


def test_a_marker_of_an_old_epoch_is_refused(partition: Partition) -> None:
    partition.send(0, epoch=2, transactional=True)
    for version in (0, 1, 2):
        assert partition.end_transaction(COMMIT, epoch=1, version=version) == "INVALID_PRODUCER_EPOCH"


def test_until_version_1_a_marker_keeps_epoch_and_sequence_numbers(partition: Partition) -> None:
    partition.send(0, 3, transactional=True)
    assert partition.end_transaction(COMMIT, version=1) == "offset 3"
    assert partition.send(0, 3, transactional=True) == "again offset 0"
    assert partition.send(3, transactional=True) == "offset 4"


def test_since_version_2_a_marker_has_the_next_epoch_and_numbers_begin_anew(partition: Partition) -> None:
    partition.send(0, 3, transactional=True)
    assert partition.end_transaction(COMMIT, epoch=0, version=2) == "INVALID_PRODUCER_EPOCH"
    assert partition.end_transaction(COMMIT, epoch=1, version=2) == "offset 3"
    assert partition.end_transaction(COMMIT, epoch=1, version=2) == "offset 4", "the same marker once more is harmless"
    assert partition.send(0, 3, transactional=True) == "INVALID_PRODUCER_EPOCH"
    assert partition.send(3, epoch=1, transactional=True) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(0, epoch=1, transactional=True) == "offset 5"
    assert partition.end_transaction(ABORT, epoch=1, version=2) == "INVALID_PRODUCER_EPOCH", "late, for the one before"


def test_a_transaction_of_the_highest_epoch_can_end(partition: Partition) -> None:
    partition.send(0, epoch=MAX_EPOCH, transactional=True)
    assert partition.end_transaction(ABORT, epoch=MAX_EPOCH, version=2) == "offset 1"


def test_who_writes_a_marker_must_name_the_transaction_version(partition: Partition) -> None:
    partition.end_transaction(COMMIT)
    assert partition.state.check(partition.log[0], AppendOrigin.REPLICATION) is None
    with pytest.raises(ValueError, match="transaction version"):
        partition.state.check(partition.log[0], AppendOrigin.COORDINATOR)


def test_what_the_cleaner_leaves_of_a_producer_is_remembered(partition: Partition) -> None:
    emptied = build_empty_batch(
        base_offset=0, last_offset=4, max_timestamp=9, producer_id=7, producer_epoch=1, base_sequence=10
    )
    partition.append(Batch(emptied), AppendOrigin.REPLICATION)
    assert partition.send(16, epoch=1) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(15, epoch=1) == "offset 5"
    assert partition.send(10, 5, epoch=1) == "again offset 0"


def test_a_marker_that_the_cleaner_has_emptied_ends_nothing(partition: Partition) -> None:
    emptied = Batch(
        build_empty_batch(
            base_offset=0,
            last_offset=0,
            max_timestamp=9,
            producer_id=7,
            producer_epoch=4,
            base_sequence=-1,
            transactional=True,
            control=True,
        )
    )
    assert partition.append(emptied, AppendOrigin.REPLICATION) == "offset 0"
    assert partition.state.completion(emptied) is None
    assert partition.state.producers[7].epoch == -1
    assert partition.send(3, epoch=2) == "offset 1"


def test_a_marker_that_cannot_be_read_changes_nothing(partition: Partition) -> None:
    batch = bytearray(
        build_end_transaction_marker(COMMIT, producer_id=7, producer_epoch=0, coordinator_epoch=0, timestamp=0)
    )
    batch[batch.index(b"\x00\x00\x00\x01", 61) + 3] = 2  # LEADER_CHANGE
    for refuse in (partition.state.apply, lambda one: partition.state.check(one, AppendOrigin.REPLICATION)):
        with pytest.raises(MalformedFrame):
            refuse(Batch(batch))
    assert partition.state.is_empty
    assert partition.state.end_offset == 0


# Snapshots and truncation.


def test_a_restart_remembers_the_last_batch_of_the_snapshot_and_all_behind_it(partition: Partition) -> None:
    for sequence in range(3):
        partition.send(sequence, transactional=True)
    assert partition.state.take_snapshot() is not None
    partition.send(3, transactional=True)
    partition.restart()
    assert [batch.last_sequence for batch in partition.state.producers[7].batches] == [2, 3]
    assert partition.state.first_undecided_offset == 0
    assert partition.send(3, transactional=True) == "again offset 3"
    assert partition.send(1, transactional=True) == "OUT_OF_ORDER_SEQUENCE_NUMBER"
    assert partition.send(4, transactional=True) == "offset 4"


def test_replaying_without_any_snapshot_leads_to_the_same(partition: Partition) -> None:
    for sequence in range(7):
        partition.send(sequence, transactional=True)
    partition.end_transaction(ABORT)
    partition.state.on_high_watermark_advanced(8)
    before = describe(partition.state)
    replayed = partition.opened()
    for batch in partition.log:
        replayed.apply(batch)
    replayed.on_high_watermark_advanced(8)
    assert describe(replayed) == before


def test_the_same_offset_is_written_once(partition: Partition) -> None:
    assert partition.state.take_snapshot() is None
    partition.send(0)
    assert partition.state.take_snapshot() is not None
    assert partition.state.take_snapshot() is None
    assert partition.state.snapshots.offsets == (1,)


def test_an_idle_producer_is_not_loaded(partition: Partition) -> None:
    partition.send(0, producer=1, now_ms=0)
    partition.send(0, producer=2, now_ms=0, transactional=True)
    partition.send(0, producer=3, now_ms=5)
    partition.state.take_snapshot()
    partition.restart(now_ms=HOUR_MS)
    assert list(partition.state.producers) == [2, 3]


def test_truncation_goes_back_to_the_snapshot_before(partition: Partition) -> None:
    state = partition.state
    for sequence in range(6):
        partition.send(sequence, transactional=True)
        if sequence % 2:
            state.take_snapshot()
    assert list(state.snapshots.offsets) == [2, 4, 6]
    state.truncate_and_reload(0, 5, now_ms=0)
    assert list(state.snapshots.offsets) == [2, 4]
    assert state.end_offset == 4
    assert state.producers[7].last_sequence == 3
    del partition.log[5:]
    state.apply(partition.log[4])
    assert partition.send(5, transactional=True) == "offset 5"


def test_truncation_before_every_snapshot_leaves_nothing(partition: Partition) -> None:
    for sequence in range(3):
        partition.send(sequence, transactional=True)
    partition.state.take_snapshot()
    partition.state.truncate_and_reload(0, 2, now_ms=0)
    assert partition.state.is_empty
    assert (partition.state.end_offset, partition.state.first_unstable_offset) == (0, None)
    assert partition.state.snapshots.offsets == ()


def test_a_snapshot_at_the_start_of_the_log_says_nothing_about_it(partition: Partition) -> None:
    partition.send(0, 5)
    partition.state.take_snapshot()
    partition.state.truncate_and_reload(5, 5, now_ms=0)
    assert partition.state.snapshots.offsets == ()
    assert list(partition.state.producers) == [7], "what is in memory stays"
    partition.restart()
    assert partition.state.end_offset == 5


def test_full_truncation_forgets_everything(partition: Partition) -> None:
    partition.send(0, transactional=True)
    partition.state.take_snapshot()
    partition.state.truncate_fully_and_start_at(100)
    assert partition.state.is_empty
    assert partition.state.first_unstable_offset is None
    assert partition.state.snapshots.offsets == ()
    assert partition.state.end_offset == 100
    assert partition.state.take_snapshot() is not None
