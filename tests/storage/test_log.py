"""A partition's log against a list of records, through rolls, truncations, reopening and crashes."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, seed, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.record import Record, read_records
from barnabas.storage.compaction import compact
from barnabas.storage.compaction_swap import swap_in
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.retention import delete_due
from barnabas.storage.topic_config import TopicConfig

from .compacted import job_for, planned
from .conftest import Place

NOW = 1_000_000
CONFIG = TopicConfig.load({"internal.segment.bytes": "1000", "index.interval.bytes": "200"})


def batch_of(values: list[bytes], *, timestamp: int = NOW, **more: int | bool) -> Batch:
    return Batch(build_batch([Record(value=value, timestamp=timestamp) for value in values], **more))  # type: ignore[arg-type]


def append(log: Log, *values: bytes, epoch: int = 0, timestamp: int = NOW) -> int:
    return log.append_as_leader([batch_of(list(values), timestamp=timestamp)], epoch, NOW).first_offset


def reopened(log: Log, *, clean: bool = True, config: TopicConfig = CONFIG, lines: list[str] | None = None) -> Log:
    return open_log(
        log.disk,
        log.directory,
        config,
        now_ms=NOW,
        clean=clean,
        recovery_point=log.recovery_point,
        start_offset=log.start_offset,
        report=None if lines is None else lines.append,
    )


def everything(log: Log) -> dict[int, bytes]:
    """All records that can be read, fetched as a consumer fetches them."""
    found: dict[int, bytes] = {}
    offset = log.start_offset
    while offset < log.end_offset:
        data = log.read(offset, 300).read()
        if not data:
            # Compaction has left a gap before the offset at which the log was cut off.
            break
        for batch in iterate_batches(data):
            batch.check()
            for record in read_records(batch):
                assert record.value is not None
                if record.offset >= offset:
                    found[record.offset] = record.value
            following = batch.next_offset
        assert following > offset
        offset = following
    return found


@pytest.fixture
def log(place: Place) -> Log:
    return open_log(place.disk, place.directory / "orders-0", CONFIG, now_ms=NOW, clean=True)


def test_offsets_and_epochs_are_stamped_and_nothing_else_is_touched(log: Log) -> None:
    first = batch_of([b"a", b"b"])
    original = bytes(first.buffer)
    assert log.append_as_leader([first], 7, NOW) == (0, 1, -1, False)
    assert log.append_as_leader([batch_of([b"c"])], 7, NOW) == (2, 2, -1, False)
    assert bytes(first.buffer) == original
    data = log.read(0, 10_000).read()
    one, two = iterate_batches(data)
    assert (one.base_offset, one.partition_leader_epoch, two.base_offset) == (0, 7, 2)
    assert data[16 : one.size] == original[16:]
    assert [tuple(entry) for entry in log.epochs.entries] == [(7, 0)]


def test_append_time_is_given_by_the_broker(place: Place) -> None:
    config = TopicConfig.load({"message.timestamp.type": "LogAppendTime"})
    log = open_log(place.disk, place.directory / "orders-0", config, now_ms=NOW, clean=True)
    assert log.append_as_leader([batch_of([b"a"], timestamp=5)], 0, NOW + 9).append_time_ms == NOW + 9
    (batch,) = iterate_batches(log.read(0, 1_000).read())
    batch.check()
    assert [record.timestamp for record in read_records(batch)] == [NOW + 9]


def test_reading_rounds_down_to_a_batch_and_stops_at_the_bound(log: Log) -> None:
    for number in range(4):
        append(log, b"x%d" % number, b"y%d" % number)
    size = len(log.read(0, 1))  # one batch at least
    assert len(log.read(3, 10_000)) == 3 * size
    assert len(log.read(3, 10_000, end_offset=6)) == 2 * size
    assert len(log.read(3, 10_000, end_offset=5)) == size  # half a batch is not below the bound
    assert len(log.read(4, 10_000, end_offset=4)) == 0
    assert len(log.read(0, 10, at_least_one=False)) == 10
    assert len(log.read(8, 10_000)) == 0
    for offset in (-1, 9):
        with pytest.raises(KafkaError, match="has offsets 0 to 8") as refused:
            log.read(offset, 10)
        assert refused.value.code is ErrorCode.OFFSET_OUT_OF_RANGE


def test_a_full_segment_is_followed_by_another(log: Log) -> None:
    for number in range(20):
        append(log, b"v%02d" % number * 30)
    assert len(log.segments) > 3
    assert all(segment.size <= 1_000 for segment in log.segments)
    assert everything(log) == {number: b"v%02d" % number * 30 for number in range(20)}
    bases = [segment.base_offset for segment in log.segments]
    assert list(log.producers.snapshots.offsets) == bases[1:]


def test_a_segment_rolls_when_its_records_are_too_far_apart_in_time(place: Place) -> None:
    config = TopicConfig.load({"segment.ms": "100"})
    log = open_log(place.disk, place.directory / "orders-0", config, now_ms=NOW, clean=True)
    append(log, b"a", timestamp=1_000)
    append(log, b"b", timestamp=1_100)
    assert len(log.segments) == 1
    append(log, b"c", timestamp=1_101)
    assert [segment.base_offset for segment in log.segments] == [0, 2]


def test_more_than_a_segment_is_refused(log: Log) -> None:
    with pytest.raises(KafkaError) as refused:
        append(log, b"x" * 2_000)
    assert refused.value.code is ErrorCode.RECORD_LIST_TOO_LARGE
    assert log.end_offset == 0


def test_a_batch_that_comes_again_is_told_and_not_appended(log: Log) -> None:
    def numbered(sequence: int) -> Batch:
        return batch_of([b"a", b"b"], producer_id=9, producer_epoch=0, base_sequence=sequence)

    assert log.append_as_leader([numbered(0)], 0, NOW).first_offset == 0
    assert log.append_as_leader([numbered(2)], 0, NOW).first_offset == 2
    assert log.append_as_leader([numbered(0)], 0, NOW) == (0, 1, NOW, True)
    with pytest.raises(KafkaError) as refused:
        log.append_as_leader([numbered(9)], 0, NOW)
    assert refused.value.code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER
    log.close()
    again = reopened(log)
    assert again.append_as_leader([numbered(2)], 0, NOW) == (2, 3, NOW, True)
    assert again.append_as_leader([numbered(4)], 0, NOW).first_offset == 4


def test_aborted_transactions_are_found_after_a_crash_too(log: Log) -> None:
    transactional = batch_of([b"a"], producer_id=9, producer_epoch=0, base_sequence=0, transactional=True)
    log.append_as_leader([transactional], 0, NOW)
    append(log, b"b")
    assert log.producers.last_stable_offset(log.end_offset) == 0
    marker = Batch(
        build_end_transaction_marker(
            ControlRecordType.ABORT, producer_id=9, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
        )
    )
    log.append_as_leader([marker], 0, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=1)
    append(log, b"c")
    log.producers.on_high_watermark_advanced(log.end_offset)
    assert log.producers.last_stable_offset(log.end_offset) == 4
    for opened in (log, reopened(log, clean=False)):
        assert [tuple(each) for each in opened.aborted_transactions(0, 4)] == [(9, 0, 2, 3)]
        assert opened.aborted_transactions(3, 4) == []


def test_followers_take_the_leaders_offsets(log: Log, place: Place) -> None:
    for number in range(5):
        append(log, b"v%d" % number, epoch=number // 2)
    data = log.read(0, 10_000).read()
    follower = open_log(place.disk, place.directory / "copy-0", CONFIG, now_ms=NOW, clean=True)
    assert follower.append_as_follower(data + data[:20], NOW) == (0, 4, -1, False)
    assert everything(follower) == everything(log)
    assert follower.epochs.entries == log.epochs.entries
    assert follower.append_as_follower(data[:30], NOW) is None
    with pytest.raises(KafkaError, match="expects offset 5"):
        follower.append_as_follower(data, NOW)
    another = open_log(place.disk, place.directory / "other-0", CONFIG, now_ms=NOW, clean=True)
    with pytest.raises(KafkaError) as refused:
        another.append_as_follower(data[:-1] + bytes([data[-1] ^ 1]), NOW)
    assert refused.value.code is ErrorCode.CORRUPT_MESSAGE


def test_deleting_records_moves_the_start(log: Log) -> None:
    for number in range(20):
        append(log, b"v%02d" % number * 30)
    assert log.advance_start(7)
    assert not log.advance_start(7)
    assert list(everything(log)) == list(range(7, 20))
    with pytest.raises(KafkaError):
        log.read(6, 100)
    with pytest.raises(KafkaError, match="ends at offset 20"):
        log.advance_start(21)
    log.close()
    assert list(everything(reopened(log))) == list(range(7, 20))


def test_times_are_found_across_segments(log: Log) -> None:
    for number in range(20):
        append(log, b"v%02d" % number * 30, timestamp=NOW + 10 * number)
    for number in range(20):
        assert log.find_timestamp(NOW + 10 * number - 1) == (NOW + 10 * number, number, 0)
    assert log.find_timestamp(NOW + 191) is None
    assert log.find_latest_timestamp() == (NOW + 190, 19, 0)


def test_every_byte_at_which_the_last_batch_can_be_torn(tmp_path: Path) -> None:
    disk = MemoryDisk()
    log = open_log(disk, tmp_path / "orders-0", CONFIG, now_ms=NOW, clean=True)
    append(log, b"a")
    append(log, b"b", b"c")
    good = log.active.size
    append(log, b"d" * 50)
    torn = log.active.file.read(good, 10_000)
    for length in range(len(torn)):
        log.active.file.truncate(good + length)
        lines: list[str] = []
        again = reopened(log, clean=False, lines=lines)
        assert again.end_offset == 3
        assert everything(again) == {0: b"a", 1: b"b", 2: b"c"}
        assert len(lines) == (1 if length else 0)
        if length:
            assert f"{length} bytes from byte {good} on (offset 3) are cut off" in lines[0]
        again.active.file.write(good, [torn])
    assert reopened(log, clean=False).end_offset == 4


def test_every_flipped_byte_is_found_when_recovering(tmp_path: Path) -> None:
    disk = MemoryDisk()
    log = open_log(disk, tmp_path / "orders-0", CONFIG, now_ms=NOW, clean=True)
    for value in (b"a", b"b", b"c"):
        append(log, value)
    data = log.active.file.read(0, 10_000)
    for position in range(len(data)):
        log.active.file.write(0, [data[:position] + bytes([data[position] ^ 0x10]) + data[position + 1 :]])
        again = reopened(log, clean=False)
        served = everything(again)
        assert served.items() <= {0: b"a", 1: b"b", 2: b"c"}.items() or epoch_or_offset(position, len(data) // 3)
        again.active.file.truncate(0)
        log.active.file.write(0, [data])


def epoch_or_offset(position: int, size: int) -> bool:
    """Base offset and leader epoch lie before what the checksum covers, in Kafka too."""
    return position % size < 16


def test_a_failed_write_is_refused_and_leaves_no_trace(log: Log) -> None:
    append(log, b"a")
    write = log.active.file.write

    def fail(position: int, chunks: object) -> None:
        write(position, [b"half"])
        raise OSError(28, "No space left on device")

    log.active.file.write = fail  # type: ignore[method-assign]
    with pytest.raises(KafkaError, match="No space left") as refused:
        append(log, b"b")
    assert refused.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert everything(log) == {0: b"a"}
    log.active.file.write = write  # type: ignore[method-assign]
    assert append(log, b"c") == 1
    assert everything(reopened(log, clean=False)) == {0: b"a", 1: b"c"}


def key_of(value: bytes) -> bytes:
    return b"k%d" % (int(value.split(b":")[0]) % 5)


class LogModel(RuleBasedStateMachine):
    """Whatever happens in whatever order, the log is the list of what was acknowledged."""

    def __init__(self) -> None:
        super().__init__()
        self.disk: Disk = MemoryDisk()
        self.model: dict[int, bytes] = {}
        self.count = 0
        self.epoch = 0

    @initialize(segment_bytes=st.sampled_from([600, 900, 5_000]))
    def begin(self, segment_bytes: int) -> None:
        self.config = TopicConfig.load(
            {
                "internal.segment.bytes": str(segment_bytes),
                "index.interval.bytes": "100",
                "retention.bytes": "3000",
                "retention.ms": "-1",
                "cleanup.policy": "compact,delete",
            }
        )
        self.log = open_log(self.disk, Path("/orders-0"), self.config, now_ms=NOW, clean=True)

    @rule(sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4))
    def append(self, sizes: list[int]) -> None:
        first = self.log.append_as_leader([self.batch(sizes)], self.epoch, NOW).first_offset
        assert first == self.log.end_offset - len(sizes)
        self.expect(first, len(sizes))

    @rule(sizes=st.lists(st.integers(0, 60), min_size=1, max_size=4), gap=st.sampled_from([0, 0, 3]))
    def follow(self, sizes: list[int], gap: int) -> None:
        """What a leader sends who has compacted its log."""
        data = bytearray(self.batch(sizes).buffer)
        first = self.log.end_offset + gap
        data[:8] = first.to_bytes(8, "big")
        data[12:16] = self.epoch.to_bytes(4, "big")
        assert self.log.append_as_follower(bytes(data), NOW) == (first, first + len(sizes) - 1, -1, False)
        self.expect(first, len(sizes))

    def batch(self, sizes: list[int]) -> Batch:
        """Records whose keys come again and again."""
        self.values = [b"%d:" % (self.count + number) + b"x" * size for number, size in enumerate(sizes)]
        self.count += len(sizes)
        return Batch(build_batch([Record(key_of(value), value, timestamp=NOW) for value in self.values]))

    def expect(self, first: int, count: int) -> None:
        self.model.update({first + number: self.values[number] for number in range(count)})

    @rule()
    def become_leader(self) -> None:
        self.epoch += 1

    @rule()
    def roll(self) -> None:
        self.log.roll(NOW)

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def truncate(self, data: st.DataObject) -> None:
        """To where a batch begins: elsewhere Kafka leaves a gap, and so do we."""
        offset = data.draw(st.integers(self.log.start_offset, self.log.end_offset))
        starts = [offset]
        if offset < self.log.end_offset:
            place = self.log.segments[self.log.segment_number(offset)].find(offset)
            starts = [place.batch.base_offset] if place else [offset]
        if starts[0] >= self.log.start_offset:
            self.log.truncate_to(starts[0], NOW)
            self.model = {at: value for at, value in self.model.items() if at < starts[0]}

    @precondition(lambda self: self.model)
    @rule(data=st.data())
    def delete_records(self, data: st.DataObject) -> None:
        offset = data.draw(st.integers(self.log.start_offset, self.log.end_offset))
        self.log.advance_start(offset)
        self.model = {at: value for at, value in self.model.items() if at >= offset}

    @rule()
    def retain(self) -> None:
        """Whole segments at the front go, and no more than are needed."""
        start, size = self.log.start_offset, self.log.size
        bases = [segment.base_offset for segment in self.log.segments]
        delete_due(self.log, self.log.end_offset, NOW)
        assert self.log.start_offset == start or self.log.start_offset in [*bases, self.log.end_offset]
        assert self.log.size == size or self.log.size >= 3_000 or self.log.segments[0].base_offset <= start
        self.purge()
        self.model = {at: value for at, value in self.model.items() if at >= self.log.start_offset}

    @precondition(lambda self: self.model)
    @rule()
    def compact(self) -> None:
        """Of each key the last record stays."""
        if not planned(self.log).dirty_bytes:
            return
        job = job_for(self.log, roll=False)
        for cleaned in compact(job, self.disk):
            swap_in(self.log, job, cleaned)
        self.purge()
        found = everything(self.log)
        assert found.items() <= self.model.items()
        assert {key_of(value): value for value in found.values()} == {
            key_of(value): value for value in self.model.values()
        }
        self.model = found

    def purge(self) -> None:
        while self.log.removed:
            self.log.removed.pop().remove()

    @rule()
    def sync(self) -> None:
        work = self.log.unsynced()
        work.sync()
        self.log.synced(work)

    @rule(clean=st.booleans())
    def reopen(self, clean: bool) -> None:
        if clean:
            self.log.close()
        before = self.log
        self.log = reopened(self.log, clean=clean, config=self.config)
        # Where the log was cut behind a gap, it ends before that.
        end_offset = max(before.active.read_next_offset(), before.start_offset)
        assert (self.log.start_offset, self.log.end_offset) == (before.start_offset, end_offset)
        # An epoch without a record left is forgotten when the log is opened, in Kafka too.
        kept = [entry for entry in before.epochs.entries if entry.start_offset < end_offset]
        assert self.log.epochs.entries == kept
        for segment in self.log.segments:
            segment.offset_index.check(segment.size)
            segment.time_index.check()

    @invariant()
    def it_is_the_list(self) -> None:
        if hasattr(self, "log"):
            assert everything(self.log) == self.model


TestLogModel = pytest.mark.slow(seed(int(os.environ.get("BARNABAS_SEED", "0")))(LogModel.TestCase))
TestLogModel.settings = settings(
    max_examples=60,
    stateful_step_count=30,
    deadline=None,
    database=None,
    suppress_health_check=list(HealthCheck),
)
