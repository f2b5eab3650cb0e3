"""What was acknowledged is there after a crash at any operation of the disk, whatever the crash forgot.

One scenario of everything a log does is run once on a disk that forgets. Around each of its operations the disk is
asked how it would be found after a power cut, in several ways, and each of these is opened and looked at as a whole.
What may be found is exact: the log as it was when it was last synced, or after any of the steps since, and no mixture.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from itertools import pairwise
from pathlib import Path

import pytest

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.record import read_records
from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    RECOVERY_POINT_OFFSET_CHECKPOINT,
    read_clean_shutdown,
    read_offsets,
    remove_clean_shutdown,
    write_clean_shutdown,
    write_offsets,
)
from barnabas.storage.disk import Disk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.producer_snapshots import ProducerSnapshots
from barnabas.storage.producer_state import AppendOrigin, ProducerState
from barnabas.storage.retention import delete_due
from barnabas.storage.topic_config import TopicConfig
from barnabas.storage.transaction_index import AbortedTransaction

from .faulty_disk import Crash, FaultyDisk, Keep, Unsafe, everything, nothing, random_part
from .test_log import NOW, batch_of

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
SEED = int(os.environ.get("BARNABAS_SEED", "0"))
"""The first of those by which crashes are drawn."""
ROOT = Path("/data")
NAME = "orders-0"
PARTITION = ("orders", 0)
CONFIG = TopicConfig.load(
    {"internal.segment.bytes": "700", "index.interval.bytes": "100", "retention.bytes": "2500", "retention.ms": "-1"}
)

State = dict[int, bytes]
"""The records that can be read."""


# A node's part: opening, checkpoints, and a clean stop


def new_disk() -> FaultyDisk:
    disk = FaultyDisk()
    disk.make_directory(ROOT)
    disk.sync_directory(Path("/"))
    return disk


def boot(disk: Disk, root: Path = ROOT, *, config: TopicConfig = CONFIG, lines: list[str] | None = None) -> Log:
    """As a node opens a log that it finds."""
    clean = read_clean_shutdown(disk, root) is not None
    if clean:
        remove_clean_shutdown(disk, root)
    return open_log(
        disk,
        root / NAME,
        config,
        now_ms=NOW,
        clean=clean,
        recovery_point=read_offsets(disk, root / RECOVERY_POINT_OFFSET_CHECKPOINT).get(PARTITION, 0),
        start_offset=read_offsets(disk, root / LOG_START_OFFSET_CHECKPOINT).get(PARTITION, 0),
        report=None if lines is None else lines.append,
    )


def write_checkpoints(log: Log, root: Path = ROOT) -> None:
    write_offsets(log.disk, root / RECOVERY_POINT_OFFSET_CHECKPOINT, {PARTITION: log.recovery_point})
    write_offsets(log.disk, root / LOG_START_OFFSET_CHECKPOINT, {PARTITION: log.start_offset})


def stop(log: Log, root: Path = ROOT) -> None:
    log.close()
    write_checkpoints(log, root)
    write_clean_shutdown(log.disk, root)


def sync(log: Log) -> None:
    work = log.unsynced()
    work.sync()
    log.synced(work)


# What a log holds


def all_batches(log: Log) -> Iterator[Batch]:
    """As they lie in the files."""
    for segment in log.segments:
        for batch in iterate_batches(segment.file.read(0, segment.size)):
            batch.check()
            yield batch


def visible(log: Log, max_bytes: int = 1_000) -> State:
    """All records, those of control batches too, fetched as a consumer fetches them."""
    found: State = {}
    offset = log.start_offset
    while offset < log.end_offset:
        following = offset
        for batch in iterate_batches(log.read(offset, max_bytes).read()):
            batch.check()
            assert batch.next_offset > following
            for record in read_records(batch):
                assert record.value is not None
                if record.offset >= offset:
                    assert record.offset not in found
                    found[record.offset] = record.value
            following = batch.next_offset
        assert following > offset
        offset = following
    assert list(found) == sorted(found)
    return found


def check_whole(log: Log, floor: int = 0) -> None:
    """Everything that is derived from the records agrees with them. Epochs are forgotten when records are deleted, in
    Kafka too, and are not known again of those below `floor` that a crash brings back."""
    check_indexes(log)
    producers, aborted = replayed(log)
    first = log.segments[0].base_offset
    # A log is replayed from its start on, and the first segment may have batches before that.
    replayed_late, late = replayed(log, log.start_offset)
    for producer_id, expected in replayed_late.producers.items():
        known = log.producers.producers[producer_id]
        if expected.last_data_offset >= 0:
            assert (known.epoch, known.last_sequence, known.last_data_offset) == (
                expected.epoch,
                expected.last_sequence,
                expected.last_data_offset,
            )
        if expected.coordinator_epoch >= 0:
            assert known.coordinator_epoch == expected.coordinator_epoch
        if (known.transaction_first_offset or first) >= first:
            whole = producers.producers[producer_id]
            assert known.transaction_first_offset in (
                expected.transaction_first_offset,
                whole.transaction_first_offset,
            )
    for producer_id, known in log.producers.producers.items():
        assert producer_id in producers.producers or known.last_data_offset < first or has_gaps(log)
    check_aborted(log, aborted, late)
    for batch in all_batches(log):
        if batch.base_offset >= max(log.start_offset, floor):
            assert log.epochs.epoch_for_offset(batch.base_offset) == batch.partition_leader_epoch


def check_aborted(log: Log, whole: list[AbortedTransaction], late: list[AbortedTransaction]) -> None:
    """`whole` are those of all batches that are there, `late` of those from the log's start on. Of a transaction that
    began before the start it depends on when the log was read where, or whether, it is said to begin."""
    first = log.segments[0].base_offset
    known = [one for one in log.aborted_transactions(log.start_offset, log.end_offset) if one.first_offset >= first]
    ends = [one.last_offset for one in known]
    assert ends == sorted(set(ends))
    assert {one.last_offset for one in late} <= set(ends) <= {one.last_offset for one in whole}
    assert {one for one in known if one.first_offset >= log.start_offset} <= {*whole, *late}


def has_gaps(log: Log) -> bool:
    """As while a log is being emptied."""
    batches = list(all_batches(log))
    return any(batch.next_offset != following.base_offset for batch, following in pairwise(batches)) or (
        log.end_offset != (batches[-1].next_offset if batches else log.segments[0].base_offset)
    )


def check_indexes(log: Log) -> None:
    for segment in log.segments:
        segment.offset_index.check(segment.size)
        segment.time_index.check()
        segment.transaction_index.check()
        batches = {place.position: place.batch for place in segment.places()}
        for number in range(len(segment.offset_index)):
            offset, position = segment.offset_index[number]
            assert batches[position].last_offset == offset
        latest = (-1, segment.base_offset)
        for batch in batches.values():
            if batch.max_timestamp > latest[0]:
                latest = (batch.max_timestamp, batch.last_offset)
        assert segment.latest == latest


def replayed(log: Log, start_offset: int = 0) -> tuple[ProducerState, list[AbortedTransaction]]:
    """What the records alone say of producers."""
    disk = MemoryDisk()
    disk.make_directory(Path("/replay"))
    state = ProducerState(ProducerSnapshots(disk, Path("/replay")), log.producers.expiration_ms)
    aborted = []
    for batch in all_batches(log):
        if batch.last_offset < start_offset:
            continue
        completed = state.completion(batch)
        if completed is not None and completed.aborted:
            aborted.append(
                AbortedTransaction(
                    completed.producer_id,
                    completed.first_offset,
                    completed.last_offset,
                    completed.last_stable_offset,
                )
            )
        state.apply(batch)
    return state, aborted


# The scenario


class Scenario:
    """Steps of a node with one log. `allowed` is what may be found after a crash at this moment."""

    def __init__(self, disk: FaultyDisk, *, durable: bool) -> None:
        self.disk = disk
        self.durable = durable
        self.allowed: list[State] = [{}]
        self.floor = 0
        """Deleted, or being deleted: offsets below may be there or not."""
        self.truth: dict[int, set[bytes]] = {}
        """All that any offset ever was."""
        self.cutting = False
        """While segments are taken off the end, some of them may be gone and others not."""
        self.count = 0
        self.epoch = 0
        self.sequences: dict[int, int] = {}
        self.on_stop: Callable[[], None] | None = None
        self.log = boot(disk)

    def acknowledged(self) -> None:
        self.allowed = self.allowed[-1:]

    def acknowledge(self) -> None:
        if self.durable:
            sync(self.log)
        self.acknowledged()

    def value(self, size: int = 30) -> bytes:
        self.count += 1
        return b"%05d:" % self.count + b"x" * size

    def batch(self, records: int = 1, producer: int = -1, *, transactional: bool = False, later_ms: int = 0) -> Batch:
        values = [self.value() for _ in range(records)]
        timestamp = NOW + 10 * self.count + later_ms
        if producer < 0:
            return batch_of(values, timestamp=timestamp)
        sequence = self.sequences.get(producer, 0)
        self.sequences[producer] = sequence + records
        return batch_of(
            values,
            timestamp=timestamp,
            producer_id=producer,
            producer_epoch=0,
            base_sequence=sequence,
            transactional=transactional,
        )

    def expect(self, batches: list[Batch], offset: int) -> None:
        """Before they are appended: each of them may be there or not, one after the other."""
        state = self.allowed[-1]
        for batch in batches:
            for record in read_records(batch):
                assert record.value is not None
                at = offset + record.offset - batch.base_offset
                state = {**state, at: record.value}
                self.truth.setdefault(at, set()).add(record.value)
            offset += batch.last_offset_delta + 1
            self.allowed.append(state)

    def append(self, *batches: Batch, acknowledge: bool = True, **more: int | AppendOrigin) -> None:
        self.expect(list(batches), self.log.end_offset)
        self.log.append_as_leader(list(batches), self.epoch, NOW, **more)  # type: ignore[arg-type]
        if acknowledge or not self.durable:
            self.acknowledge()

    def end_transaction(self, kind: ControlRecordType, producer: int) -> None:
        marker = build_end_transaction_marker(
            kind, producer_id=producer, producer_epoch=0, coordinator_epoch=1, timestamp=NOW
        )
        self.append(Batch(marker), origin=AppendOrigin.COORDINATOR, transaction_version=1)
        self.log.producers.on_high_watermark_advanced(self.log.end_offset)

    def follow(self, *batches: Batch) -> None:
        """What a leader of the next epoch sends."""
        self.epoch += 1
        offset = self.log.end_offset
        self.expect(list(batches), offset)
        data = b""
        for batch in batches:
            batch.base_offset = offset
            offset = batch.next_offset
            stamped = bytearray(batch.buffer)
            stamped[:8] = batch.base_offset.to_bytes(8, "big")
            stamped[12:16] = self.epoch.to_bytes(4, "big")
            data += stamped
        self.log.append_as_follower(data, NOW)
        self.acknowledge()

    def truncate(self, offset: int) -> None:
        """And the recovery point is written before anything is appended, as Kafka does."""
        self.allowed.append({at: value for at, value in self.allowed[-1].items() if at < offset})
        self.cutting = True
        self.log.truncate_to(offset, NOW)
        self.cutting = False
        self.acknowledged()
        write_checkpoints(self.log)

    def start_at(self, offset: int) -> None:
        self.allowed.append({})
        self.cutting = True
        self.log.truncate_fully_and_start_at(offset, NOW)
        self.cutting = False
        self.acknowledged()
        write_checkpoints(self.log)

    def delete_records(self, offset: int) -> None:
        self.floor = max(self.floor, offset)
        self.log.advance_start(offset)

    def retain(self) -> None:
        """Whatever retention takes, it takes at the front."""
        self.floor = max(self.floor, self.log.segments[-2].base_offset)
        assert delete_due(self.log, self.log.end_offset, NOW)

    def purge(self) -> None:
        for segment in self.log.removed:
            segment.remove()
        self.log.removed.clear()

    def restart(self) -> None:
        stop(self.log)
        if self.on_stop is not None:
            self.on_stop()
        self.log = boot(self.disk)

    def run(self) -> None:
        for _ in range(5):
            self.append(self.batch())
        for records in (2, 1, 3):
            self.append(self.batch(records, producer=7))
        write_checkpoints(self.log)
        again = self.batch(2, producer=7)
        self.append(again)
        assert self.log.append_as_leader([again], self.epoch, NOW).duplicate
        self.append(self.batch(), self.batch(2), self.batch(1, producer=7))
        self.epoch += 1
        self.append(self.batch(1, producer=9, transactional=True))
        self.append(self.batch(2, later_ms=5_000))
        self.append(self.batch(1, producer=9, transactional=True))
        self.end_transaction(ControlRecordType.ABORT, 9)
        self.append(self.batch(1, producer=9, transactional=True))
        self.end_transaction(ControlRecordType.COMMIT, 9)
        self.append(self.batch(1, producer=9, transactional=True))
        for _ in range(4):
            self.append(self.batch(), acknowledge=False)
        self.acknowledge()
        self.end_transaction(ControlRecordType.ABORT, 9)
        assert len(self.log.segments) > 4
        keep = self.log.segments[-3]
        place = list(keep.places())[1]
        self.truncate(place.batch.base_offset)
        self.purge()
        self.epoch += 1
        for _ in range(7):
            self.append(self.batch())
        self.restart()
        self.append(self.batch(1, producer=11))
        self.append(self.batch(3, producer=11))
        self.delete_records(self.log.segments[1].base_offset + 1)
        write_checkpoints(self.log)
        self.append(self.batch())
        self.follow(self.batch(), self.batch(2))
        self.retain()
        self.append(self.batch())
        write_checkpoints(self.log)
        self.purge()
        self.log.roll(NOW)
        self.append(self.batch(1, producer=11))
        self.truncate(self.log.end_offset - 1)
        self.sequences[11] -= 1
        self.append(self.batch(1, producer=11))
        self.restart()
        self.start_at(1_000)
        self.append(self.batch(1, producer=13))
        self.append(self.batch())
        self.restart()
        assert visible(self.log) == {at: value for at, value in self.allowed[-1].items() if at >= self.log.start_offset}


class Examiner:
    """Looks at what crashes would leave, each different thing once."""

    def __init__(self, scenario: Scenario) -> None:
        self.scenario = scenario
        self.seen: set[tuple[int, int]] = set()
        self.images = 0
        self.states: list[list[State]] = []
        """Kept, so that no two have the same id."""

    def examine(self, keep: Keep, what: str) -> None:
        scenario = self.scenario
        image = scenario.disk.crashed(keep)
        if not self.states or self.states[-1] != scenario.allowed:
            self.states.append(list(scenario.allowed))
        key = (image.fingerprint(), hash((len(self.states), scenario.floor, scenario.cutting)))
        if key in self.seen:
            return
        self.seen.add(key)
        self.images += 1
        try:
            self.check(image)
        except BaseException as error:
            error.add_note(f"image {self.images}: {what}")
            raise

    def check(self, image: FaultyDisk) -> None:
        log = boot(image)
        found = visible(log)
        self.check_allowed(log, found)
        check_whole(log, self.scenario.floor)
        # Another crash right then, and another opening, change nothing.
        for keep in (everything, nothing) if self.images % 4 == 0 or THOROUGH else (everything,):
            again = boot(image.crashed(keep))
            assert visible(again) == found
            assert (again.start_offset, again.end_offset) == (log.start_offset, log.end_offset)
        self.check_going_on(image, log, found)

    def check_allowed(self, log: Log, found: State) -> None:
        scenario = self.scenario
        for at, value in found.items():
            assert value in scenario.truth[at]
        recent = _from(scenario.floor, found)
        allowed = [_from(scenario.floor, state) for state in scenario.allowed]
        if recent in allowed:
            return
        if scenario.cutting and allowed[-1].items() <= recent.items() <= allowed[0].items():
            return
        certain = allowed[0]
        if certain.items() <= recent.items() <= allowed[-1].items() and ends_of_segments(log, allowed[-1], recent):
            return
        raise AssertionError(
            f"from {scenario.floor} on, offsets {list(recent)} are there; missing of what was synced: "
            f"{sorted(certain.keys() - recent.keys())}, beyond it: {sorted(recent.keys() - certain.keys())}, "
            f"different: {[at for at in recent.keys() & certain.keys() if recent[at] != certain[at]]}"
        )

    def check_going_on(self, image: FaultyDisk, log: Log, found: State) -> None:
        """More is appended, and survives the next crash."""
        epoch = max(log.epochs.latest_epoch or 0, self.scenario.epoch)
        end = log.append_as_leader([batch_of([b"more"])], epoch, NOW).last_offset
        sync(log)
        again = boot(image.crashed(nothing))
        assert visible(again) == {**found, end: b"more"}
        check_whole(again, self.scenario.floor)


def ends_of_segments(log: Log, whole: State, found: State) -> bool:
    """Whether what is missing before the last record, none of it acknowledged, was at the end of a segment that was
    followed by another: a file system may bring that one to the disk first."""
    missing = [at for at in whole if at not in found and at < max(found, default=0)]
    return all(log.segments[log.segment_number(at)].read_next_offset() <= at for at in missing)


def _from(floor: int, state: State) -> State:
    return {at: value for at, value in state.items() if at >= floor}


def torn_at(kept: int, last: int) -> Keep:
    """Everything is there, but of the last change only so many bytes."""
    return lambda change: min(kept, change.length) if change.number == last else change.length


def last_log_write(disk: FaultyDisk) -> Unsafe | None:
    """The last one that a crash may tear: it is under way, or not synced."""
    changes = [disk.under_way] if disk.under_way is not None else disk.unsafe()
    return max(
        (each for each in changes if each.kind == "write" and each.path.suffix == ".log"),
        key=lambda change: change.number,
        default=None,
    )


def run(scenario: Scenario, around: Callable[[str], None]) -> int:
    """The scenario, with a call before and after every operation of the disk; how many calls."""
    calls = 0

    def call(when: str) -> Callable[[str, Path], None]:
        def hook(kind: str, path: Path) -> None:
            nonlocal calls
            calls += 1
            around(f"call {calls}, {when} {kind} of {path.name}")

        return hook

    scenario.disk.before, scenario.disk.after = call("before"), call("after")
    scenario.run()
    return calls


@pytest.mark.slow
def test_power_cuts_at_every_operation(record_property: Callable[[str, object], None]) -> None:
    scenario = Scenario(new_disk(), durable=True)
    examiner = Examiner(scenario)
    seeds = 12 if THOROUGH else 2
    number = 0

    def around(what: str) -> None:
        nonlocal number
        number += 1
        examiner.examine(nothing, f"{what}, nothing that was not synced")
        examiner.examine(everything, f"{what}, everything")
        for seed in range(SEED + number * seeds, SEED + (number + 1) * seeds):
            examiner.examine(random_part(seed), f"{what}, random_part({seed})")

    calls = run(scenario, around)
    record_property("crash points", calls)
    record_property("images", examiner.images)
    print(f"{calls} crash points, {examiner.images} different disks")
    assert calls > 500


@pytest.mark.slow
def test_every_byte_at_which_the_last_write_may_be_torn() -> None:
    """Of writes under way, and of those that are not synced yet."""
    scenario = Scenario(new_disk(), durable=True)
    examiner = Examiner(scenario)
    torn = 0

    def around(what: str) -> None:
        nonlocal torn
        write = last_log_write(scenario.disk)
        if write is None or not ("before write" in what or THOROUGH):
            return
        torn += 1
        for kept in range(torn % 5 if not THOROUGH else 0, write.length, 1 if THOROUGH or torn % 9 == 0 else 13):
            examiner.examine(torn_at(kept, write.number), f"{what}, {kept} of {write.length} bytes")

    run(scenario, around)
    print(f"{torn} writes, {examiner.images} different disks")
    assert torn > 30


@pytest.mark.slow
def test_a_process_that_dies_at_any_operation_loses_nothing() -> None:
    """durability=kafka: nothing is synced, and the page cache stays. A write under way may be there in part."""
    scenario = Scenario(new_disk(), durable=False)
    examiner = Examiner(scenario)

    def around(what: str) -> None:
        write = scenario.disk.under_way
        if write is None:
            examiner.examine(everything, what)
            return
        for kept in sorted({0, 1, 11, 17, 60, 61, write.length // 2, write.length - 1, write.length}):
            examiner.examine(torn_at(kept, write.number), f"{what}, {kept} of {write.length} bytes")

    calls = run(scenario, around)
    print(f"{calls} crash points, {examiner.images} different disks")
    assert examiner.images > 300


def test_a_clean_stop_leaves_nothing_to_lose() -> None:
    """Also where nothing was synced before it."""
    scenario = Scenario(new_disk(), durable=False)
    examiner = Examiner(scenario)

    def stopped() -> None:
        assert scenario.disk.unsafe() == []
        examiner.examine(nothing, "after a clean stop")

    scenario.on_stop = stopped
    scenario.run()
    assert examiner.images == 3


def cut_off(seed: int) -> tuple[Scenario, FaultyDisk]:
    """The scenario somewhere in the middle, and a disk that the power cut left then."""
    scenario = Scenario(new_disk(), durable=True)
    stop_at = 60 + 97 * seed % 900

    def around(what: str) -> None:
        nonlocal stop_at
        stop_at -= 1
        if stop_at <= 0 and "sync" in what and len(scenario.allowed) > 1:
            raise Crash

    with pytest.raises(Crash):
        run(scenario, around)
    scenario.disk.before = scenario.disk.after = None
    return scenario, scenario.disk.crashed(random_part(seed))


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(SEED, SEED + (40 if THOROUGH else 6)))
def test_power_cuts_while_a_crash_is_being_recovered_from(seed: int) -> None:
    scenario, found = cut_off(seed)
    examiner = Examiner(scenario)

    def again(kind: str, path: Path) -> None:
        what = f"recovering from seed {seed}, {kind} of {path.name}"
        for second in range(3):
            examiner.examine(random_part(f"{seed} {second} {what}"), what)
        examiner.examine(nothing, what)
        examiner.examine(everything, what)

    scenario.disk = found
    found.before = found.after = again
    boot(found)
    found.before = found.after = None
    # A recovery writes nothing where the cut left all as it should be; what it leaves is looked at all the same.
    again("end", Path("recovery"))
    assert examiner.images


def cuts_while_booting(disk: FaultyDisk, seed: str, seen: set[int]) -> Iterator[tuple[str, FaultyDisk]]:
    """What power cuts around each operation of a start would leave, each different disk once."""
    found: list[tuple[str, FaultyDisk]] = []

    def around(kind: str, path: Path) -> None:
        what = f"{seed}, {kind} of {path.name}"
        for image in (disk.crashed(random_part(f"{len(found)} {what}")), disk.crashed(nothing)):
            if image.fingerprint() not in seen:
                seen.add(image.fingerprint())
                found.append((what, image))

    disk.before = disk.after = around
    boot(disk)
    disk.before = disk.after = None
    return iter(found)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(6 if THOROUGH else 3))
def test_power_cuts_in_two_recoveries_one_after_the_other(part: int) -> None:
    """Several scenarios a part: where a cut left all as it should be, a recovery writes nothing."""
    count = 0
    for seed in range(SEED + 100 + 4 * part, SEED + 104 + 4 * part):
        scenario, found = cut_off(seed)
        examiner = Examiner(scenario)
        seen: set[int] = set()
        cuts = list(cuts_while_booting(found, f"seed {seed}", seen))
        for what, once in cuts[:: 1 if THOROUGH else len(cuts) // 6 + 1]:
            for twice, image in cuts_while_booting(once, what, seen):
                count += 1
                try:
                    examiner.check(image)
                except BaseException as error:
                    error.add_note(f"{twice}, image {count}")
                    raise
    assert count >= 5
