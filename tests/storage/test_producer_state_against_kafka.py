"""The same batches go to Kafka's producer state and to ours: the same answers, the same state, the same files."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.record import Record
from barnabas.protocol.records.producer_snapshot import ProducerEntry
from barnabas.storage.memory_disk import MemoryDisk
from barnabas.storage.producer_snapshots import CorruptSnapshot, ProducerSnapshots, decode_snapshot, encode_snapshot
from barnabas.storage.producer_state import AppendOrigin, Producer, ProducerState
from barnabas.storage.transaction_index import AbortedTransaction, TransactionIndex
from tests.kafka.java_oracle import JavaOracle
from tests.protocol.generated import examples

pytestmark = [pytest.mark.java, pytest.mark.slow]

EXPIRATION_MS = 50
DIRECTORY = Path("/t-0")
INDEX = DIRECTORY / "00000000000000000000.txnindex"
MAX_EPOCH = 2**15 - 1
MAX_SEQUENCE = 2**31 - 1


class Kafka:
    def __init__(self, java: JavaOracle) -> None:
        self._java = java

    def ask(self, *fields: object) -> str:
        """What follows OK, or the name of the error."""
        answer, _, rest = self._java.ask(" ".join(str(one) for one in fields)).partition(" ")
        return rest if answer == "OK" else rest.split(" ")[0]

    def tell(self, *fields: object) -> None:
        assert self.ask(*fields) == ""

    def ask_bytes(self, *fields: object) -> bytes | None:
        answer = self.ask(*fields)
        return None if answer == "null" else bytes.fromhex(answer.removeprefix("-"))


@pytest.fixture(scope="module")
def kafka(java_oracle: Callable[[Path], JavaOracle]) -> Kafka:
    return Kafka(java_oracle(Path(__file__).with_name("ProducerOracle.java")))


# What is done: steps that name a batch relative to what is known, so that many of them are accepted.


@dataclass(frozen=True)
class Data:
    producer_id: int
    epoch: int
    """Added to the known one."""
    sequence: int | str
    """"next", "again N" for one of the last batches, or a number."""
    records: int
    transactional: bool
    timestamp: int
    emptied: bool = False


@dataclass(frozen=True)
class Marker:
    producer_id: int
    epoch: int
    """Added to the known one, or the highest."""
    coordinator_epoch: int
    aborts: bool
    transaction_version: int
    timestamp: int
    emptied: bool = False


@dataclass(frozen=True)
class Append:
    origin: AppendOrigin
    batches: tuple[Data | Marker, ...]


@dataclass(frozen=True)
class Do:
    """Something else, at a part of the log in percent, or at a time."""

    what: str
    where: int


producer_ids = st.sampled_from([0, 0, 0, 1, 1, 2, -1])
timestamps = st.integers(0, 100)
sequences = st.one_of(
    st.just("next"),
    st.just("next"),
    st.just("next"),
    st.integers(1, 6).map("again {}".format),
    st.sampled_from([0, 1, 7, MAX_SEQUENCE - 2, MAX_SEQUENCE]),
)
data = st.builds(
    Data,
    producer_ids,
    st.sampled_from([0, 0, 0, 0, 1, -1]),
    sequences,
    st.integers(1, 4),
    st.booleans(),
    timestamps,
    st.sampled_from([False, False, False, True]),
)
markers = st.builds(
    Marker,
    producer_ids.filter(lambda one: one >= 0),
    st.sampled_from([0, 0, 1, 1, -1, MAX_EPOCH]),
    st.integers(0, 2),
    st.booleans(),
    st.integers(0, 2),
    timestamps,
)
cleaned_markers = st.builds(lambda marker: replace(marker, emptied=True), markers)
together = st.builds(
    lambda first, last: (*first, *last),
    st.lists(data, min_size=1, max_size=3),
    st.lists(markers, max_size=1),
)


def appends(origin: AppendOrigin, *batches: st.SearchStrategy[Data | Marker]) -> st.SearchStrategy[Append]:
    return st.builds(Append, st.just(origin), st.tuples(*batches))


steps = st.one_of(
    appends(AppendOrigin.CLIENT, data),
    appends(AppendOrigin.CLIENT, data),
    appends(AppendOrigin.CLIENT, data),
    appends(AppendOrigin.COORDINATOR, markers),
    appends(AppendOrigin.COORDINATOR, markers),
    appends(AppendOrigin.REPLICATION, st.one_of(data, markers, cleaned_markers)),
    appends(AppendOrigin.RAFT_LEADER, data),
    st.builds(Append, st.just(AppendOrigin.COORDINATOR), together),
    st.builds(Do, st.sampled_from(["watermark", "start", "truncate"]), st.integers(0, 100)),
    st.builds(Do, st.sampled_from(["expire", "snapshot", "restart"]), st.integers(0, 200)),
    st.builds(Do, st.sampled_from(["fully", "snapshot", "strays"]), st.just(0)),
)


class Both:
    """Kafka's state and ours, with the log that they follow."""

    def __init__(self, kafka: Kafka, outcomes: Counter[str]) -> None:
        self.kafka = kafka
        self.outcomes = outcomes
        self.disk = MemoryDisk()
        self.disk.make_directory(DIRECTORY)
        self.start = 0
        self.end = 0
        self.now = 0
        self.log: list[Batch] = []
        kafka.tell("NEW", EXPIRATION_MS)
        self.open()

    def open(self) -> None:
        self.state = ProducerState(ProducerSnapshots(self.disk, DIRECTORY), EXPIRATION_MS)
        self.index = TransactionIndex(self.disk, INDEX, 0)

    def step(self, step: Append | Do) -> None:
        if isinstance(step, Append):
            self.append(step)
        else:
            getattr(self, f"do_{step.what}")(step.where)
        assert self.kafka.ask("STATE") == describe(self.state), step
        ours = self.disk.read_file(INDEX) if self.disk.exists(INDEX) else None
        assert self.kafka.ask_bytes("INDEX") == ours, step

    def append(self, step: Append) -> None:
        made: list[Batch] = []
        known = {id_: producer.copy() for id_, producer in self.state.producers.items()}
        offset = self.end
        version = 0
        for one in step.batches:
            producer = known.setdefault(one.producer_id, Producer(one.producer_id))
            batch = data_batch(one, producer, offset) if isinstance(one, Data) else marker_batch(one, producer, offset)
            version = one.transaction_version if isinstance(one, Marker) else version
            offset = batch.next_offset
            if one.producer_id >= 0:
                producer.apply(batch)
            made.append(batch)
        outcome = self.send(made, step.origin, version)
        self.outcomes[outcome.split(" ")[0] or "appended"] += 1
        if outcome == "":
            self.log += made
            self.end = offset

    def send(self, batches: Sequence[Batch], origin: AppendOrigin, version: int) -> str:
        """Appends to both, which must agree."""
        try:
            duplicate = self.state.check_all(batches, origin, version)
            ours = ""
            if duplicate is not None:
                ours = f"DUPLICATE {duplicate.base_offset} {duplicate.last_offset} {duplicate.timestamp}"
        except KafkaError as refused:
            ours = refused.code.name
        joined = b"".join(bytes(batch.buffer) for batch in batches)
        assert self.kafka.ask("APPEND", origin.name, version, joined.hex()) == ours
        if ours == "":
            self.take_note(batches)
        return ours

    def take_note(self, batches: Sequence[Batch]) -> None:
        for batch in batches:
            ended = self.state.completion(batch)
            if ended is not None and ended.aborted:
                producer_id, first_offset, last_offset, _, last_stable_offset = ended
                self.index.append(AbortedTransaction(producer_id, first_offset, last_offset, last_stable_offset))
            self.state.apply(batch)

    def do_watermark(self, percent: int) -> None:
        offset = self.end * percent // 100
        self.kafka.tell("WATERMARK", offset)
        self.state.on_high_watermark_advanced(offset)

    def do_start(self, percent: int) -> None:
        self.start += (self.end - self.start) * percent // 100
        self.kafka.tell("START", self.start)
        self.state.on_log_start_offset_increased(self.start)

    def do_expire(self, now: int) -> None:
        self.now = now
        self.kafka.tell("EXPIRE", now)
        self.state.expire(now)

    def do_snapshot(self, _: int) -> None:
        taken = self.kafka.ask_bytes("SNAPSHOT")
        file = self.state.take_snapshot()
        assert taken == (None if file is None else file.read(0, file.size()))
        self.outcomes["no snapshot" if taken is None else "snapshot"] += 1

    def do_truncate(self, percent: int) -> None:
        kept = len(self.log) * percent // 100
        del self.log[kept:]
        self.end = self.log[-1].next_offset if self.log else self.start
        self.start = min(self.start, self.end)
        self.reload("TRUNCATE")

    def do_restart(self, now: int) -> None:
        self.now = now
        self.open()
        self.reload("RESTART")

    def reload(self, command: str) -> None:
        self.kafka.tell(command, self.start, self.end, self.now)
        self.state.truncate_and_reload(self.start, self.end, self.now)
        self.kafka.tell("INDEX_TRUNCATE", self.state.end_offset)
        self.index.truncate_to(self.state.end_offset)
        replayed = [batch for batch in self.log if batch.base_offset >= max(self.start, self.state.end_offset)]
        for batch in replayed:
            self.send([batch], AppendOrigin.REPLICATION, 0)
        self.outcomes["replayed"] += len(replayed)

    def do_fully(self, _: int) -> None:
        self.start = self.end = self.end + 10
        self.log.clear()
        self.kafka.tell("FULLY", self.end)
        self.state.truncate_fully_and_start_at(self.end)
        self.kafka.tell("INDEX_TRUNCATE", 0)
        self.index.truncate_to(0)

    def do_strays(self, _: int) -> None:
        segments = [batch.base_offset for batch in self.log[::3]] or [self.start]
        self.kafka.tell("STRAYS", ",".join(map(str, segments)))
        self.state.snapshots.delete_strays(segments)


def epoch_of(wanted: Data | Marker, producer: Producer) -> int:
    return min(MAX_EPOCH, max(0, producer.epoch + wanted.epoch))


def data_batch(wanted: Data, producer: Producer, offset: int) -> Batch:
    epoch = epoch_of(wanted, producer)
    sequence = wanted.sequence
    records = wanted.records
    if sequence == "next":
        sequence = producer.last_sequence + 1 if producer.last_sequence < MAX_SEQUENCE else 0
    elif isinstance(sequence, str):
        again = list(producer.batches)[-int(sequence.removeprefix("again ")) :][:1]
        sequence = again[0].base_sequence if again else 0
        records = again[0].offset_delta + 1 if again else records
    if wanted.producer_id < 0:
        return Batch(build_batch([Record(timestamp=wanted.timestamp)] * records, base_offset=offset))
    if wanted.emptied:
        return Batch(
            build_empty_batch(
                base_offset=offset,
                last_offset=offset + records - 1,
                max_timestamp=wanted.timestamp,
                producer_id=wanted.producer_id,
                producer_epoch=epoch,
                base_sequence=sequence,
                transactional=wanted.transactional,
            )
        )
    return Batch(
        build_batch(
            [Record(timestamp=wanted.timestamp)] * records,
            base_offset=offset,
            producer_id=wanted.producer_id,
            producer_epoch=epoch,
            base_sequence=sequence,
            transactional=wanted.transactional,
        )
    )


def marker_batch(wanted: Marker, producer: Producer, offset: int) -> Batch:
    epoch = epoch_of(wanted, producer)
    if wanted.emptied:
        return Batch(
            build_empty_batch(
                base_offset=offset,
                last_offset=offset,
                max_timestamp=wanted.timestamp,
                producer_id=wanted.producer_id,
                producer_epoch=epoch,
                base_sequence=-1,
                transactional=True,
                control=True,
            )
        )
    return Batch(
        build_end_transaction_marker(
            ControlRecordType.ABORT if wanted.aborts else ControlRecordType.COMMIT,
            producer_id=wanted.producer_id,
            producer_epoch=epoch,
            coordinator_epoch=wanted.coordinator_epoch,
            timestamp=wanted.timestamp,
            base_offset=offset,
        )
    )


def describe(state: ProducerState) -> str:
    """As ProducerOracle's STATE."""
    fields = (
        text(state.first_unstable_offset),
        text(state.first_undecided_offset),
        str(state.end_offset),
        str(state.is_empty).lower(),
        ",".join(map(str, state.snapshots.offsets)) or "-",
        describe_producers(state.producers.values()),
    )
    return " ".join(fields)


def describe_producers(producers: Iterable[Producer]) -> str:
    described = []
    for one in sorted(producers, key=lambda one: one.producer_id):
        first_offset = text(one.transaction_first_offset)
        batches = [":".join(map(str, batch)) for batch in one.batches]
        fields = [one.producer_id, one.epoch, one.coordinator_epoch, one.last_timestamp, first_offset, *batches]
        described.append(",".join(map(str, fields)))
    return ";".join(described) or "-"


def text(number: int | None) -> str:
    return "null" if number is None else str(number)


def test_the_same_batches_lead_to_the_same_answers_state_and_files(kafka: Kafka) -> None:
    outcomes: Counter[str] = Counter()

    @examples(400, 5_000)
    @given(st.lists(steps, min_size=5, max_size=60))
    def check(todo: list[Append | Do]) -> None:
        both = Both(kafka, outcomes)
        for step in todo:
            both.step(step)

    check()
    every = {
        *("appended", "DUPLICATE", "snapshot", "no snapshot", "replayed", "OUT_OF_ORDER_SEQUENCE_NUMBER"),
        *("INVALID_PRODUCER_EPOCH", "INVALID_TXN_STATE", "TRANSACTION_COORDINATOR_FENCED"),
    }
    assert set(outcomes) == every
    assert min(outcomes.values()) >= 20, outcomes


int16, int32, int64 = (st.integers(-(2 ** (bits - 1)), 2 ** (bits - 1) - 1) for bits in (16, 32, 64))
entries = st.builds(
    ProducerEntry,
    producer_id=int64,
    epoch=int16,
    last_sequence=int32,
    last_offset=int64,
    offset_delta=int32,
    timestamp=int64,
    coordinator_epoch=int32,
    current_txn_first_offset=int64,
)


def test_kafka_reads_the_snapshots_that_we_write(kafka: Kafka) -> None:
    @examples(100, 2_000)
    @given(st.lists(entries, max_size=5, unique_by=lambda entry: entry.producer_id))
    def check(written: list[ProducerEntry]) -> None:
        known = describe_producers(map(Producer.from_entry, written))
        assert kafka.ask("READ", encode_snapshot(written).hex()) == known

    check()


def test_kafka_takes_no_damaged_snapshot_that_we_refuse_and_the_other_way_round(kafka: Kafka) -> None:
    whole = encode_snapshot([ProducerEntry(7, 1, 5, 20, 5, 100, 3, 15), ProducerEntry(8, 0, -1, -1, 0, 1, 0, -1)])
    damaged = [whole[:length] for length in range(len(whole))] + [
        whole[:position] + bytes([whole[position] ^ 0x41]) + whole[position + 1 :] for position in range(len(whole))
    ]
    for one in damaged:
        with pytest.raises(CorruptSnapshot):
            decode_snapshot(one)
        assert kafka.ask("READ", one.hex() or "-") == "UNKNOWN_SERVER_ERROR"  # a CorruptSnapshotException


def test_a_corrupt_snapshot_is_removed_and_the_next_older_one_loaded(kafka: Kafka) -> None:
    both = Both(kafka, Counter())
    for producer_id in (0, 1, 2):
        both.step(Append(AppendOrigin.CLIENT, (Data(producer_id, 0, "next", 2, False, 0),)))
        both.step(Do("snapshot", 0))
    for offset, damage in ((6, b""), (4, b"\x00\x01 not a snapshot")):
        kafka.tell("PUT", offset, damage.hex() or "-")
        file = both.disk.open(both.state.snapshots.path(offset))
        file.truncate(0)
        file.write(0, [damage])
    both.open()
    kafka.tell("RESTART", 0, 6, 10)
    both.state.truncate_and_reload(0, 6, 10)
    assert kafka.ask("STATE") == describe(both.state)
    assert both.state.snapshots.offsets == (2,)
    assert set(both.state.producers) == {0}


def test_the_transaction_index_finds_what_kafka_finds(kafka: Kafka) -> None:
    @examples(200, 3_000)
    @given(
        # The sizes of transactions, gaps before them, and how far the last stable offset lags.
        st.lists(st.tuples(st.integers(0, 9), st.integers(0, 9), st.integers(0, 30)), min_size=1, max_size=12),
        st.lists(st.tuples(st.integers(0, 150), st.integers(0, 150)), min_size=5, max_size=20),
        st.integers(0, 150),
    )
    def check(sizes: list[tuple[int, int, int]], ranges: list[tuple[int, int]], cut: int) -> None:
        kafka.tell("NEW", EXPIRATION_MS)
        disk = MemoryDisk()
        disk.make_directory(DIRECTORY)
        index = TransactionIndex(disk, INDEX, 0)
        last = stable = -1
        for producer_id, (size, gap, lag) in enumerate(sizes):
            last += gap + 1
            stable = max(stable, last + 1 - lag)
            index.append(AbortedTransaction(producer_id, max(0, last - size), last, stable))
        kafka.tell("ABORTED", aborted_text(index))
        same_answers(disk, index, ranges)
        kafka.tell("INDEX_TRUNCATE", cut)
        index.truncate_to(cut)
        same_answers(disk, index, ranges)

    def same_answers(disk: MemoryDisk, index: TransactionIndex, ranges: list[tuple[int, int]]) -> None:
        assert kafka.ask_bytes("INDEX") == disk.read_file(INDEX)
        kafka.tell("INDEX_CHECK")
        index.check()
        for fetch_offset, upper in ranges:
            found, complete = index.collect(fetch_offset, upper)
            assert kafka.ask("COLLECT", fetch_offset, upper) == f"{str(complete).lower()} {aborted_text(found)}"

    check()


def test_an_abort_before_the_last_one_is_refused_by_both(kafka: Kafka) -> None:
    kafka.tell("NEW", EXPIRATION_MS)
    disk = MemoryDisk()
    disk.make_directory(DIRECTORY)
    index = TransactionIndex(disk, INDEX, 0)
    index.append(AbortedTransaction(1, 3, 10, 11))
    kafka.tell("ABORTED", "1,3,10,11")
    with pytest.raises(ValueError, match="cannot follow"):
        index.append(AbortedTransaction(2, 4, 10, 11))
    assert kafka.ask("ABORTED", "2,4,10,11") == "UNKNOWN_SERVER_ERROR"
    assert kafka.ask_bytes("INDEX") == disk.read_file(INDEX)


def aborted_text(transactions: Iterable[AbortedTransaction]) -> str:
    return ";".join(",".join(map(str, one)) for one in transactions) or "-"
