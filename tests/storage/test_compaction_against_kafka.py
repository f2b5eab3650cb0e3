"""The same logs go through Kafka's cleaner and through ours: the same is left, in the same batches and files."""

from __future__ import annotations

import os
import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from barnabas.protocol.batches import Batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType
from barnabas.protocol.record import Record, read_records
from barnabas.storage.disk import SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.offset_map import BYTES_PER_SLOT
from barnabas.storage.topic_config import TopicConfig
from tests.kafka.java_oracle import JavaOracle
from tests.kafka.tool_runner import ToolRunner

from .compacted import append, batches, compact_now, end_transaction, left, planned
from .test_log_against_kafka import complaints, dump

pytestmark = [pytest.mark.java, pytest.mark.slow]

NOW = 1_700_000_000_000
FILLING = {"cleanup.policy": "compact", "internal.segment.bytes": "1500", "index.interval.bytes": "300"}
ONE_GROUP = FILLING | {"internal.segment.bytes": "1000000", "delete.retention.ms": "1000"}
SOME_GROUPS = ONE_GROUP | {"internal.segment.bytes": "4000"}
FILES = (".log", ".index", ".timeindex", ".txnindex")
AMPLE = 1_000 * BYTES_PER_SLOT


class Pair:
    """Two directories of the same log: one is Kafka's to compact."""

    def __init__(self, java: JavaOracle, directory: Path, config: dict[str, str]) -> None:
        self.java = java
        self.config = config
        self.ours = directory / "ours" / "orders-0"
        self.kafkas = directory / "kafkas" / "orders-0"

    def open(self, directory: Path, config: dict[str, str] | None = None) -> Log:
        parsed = TopicConfig.load(config or self.config)
        return open_log(SystemDisk(), directory, parsed, now_ms=NOW, clean=True)

    def fill(self, work: Callable[[Log], None]) -> None:
        """The same in both; each is closed after it, with an empty segment at its end."""
        for directory in (self.ours, self.kafkas):
            log = self.open(directory, FILLING)
            work(log)
            if log.active.size:
                log.roll(NOW)
            log.close()

    def compact(self, clean: int, now_ms: int, map_bytes: int = AMPLE) -> int:
        log = self.open(self.ours)
        offset = compact_now(log, clean=clean, now_ms=now_ms, map_bytes=map_bytes, roll=False)
        for segment in log.removed:
            segment.remove()
        log.close()
        configs = ";".join(f"{name}={value}" for name, value in self.config.items())
        answer = self.java.ask(f"CLEAN {self.kafkas} {now_ms} {clean} - {map_bytes} {configs}")
        assert answer == f"OK {offset}"
        for path in self.kafkas.glob("*.deleted"):
            path.unlink()
        return offset

    def files(self, directory: Path) -> dict[str, bytes]:
        return {
            path.name: path.read_bytes()
            for path in sorted(directory.iterdir())
            if path.suffix in FILES and (path.suffix != ".txnindex" or path.stat().st_size)
        }

    def batches(self, directory: Path) -> list[tuple[tuple[int | None, ...], list[Record]]]:
        return [(header(batch), list(read_records(batch))) for batch in batches(self.open(directory))]


@pytest.fixture
def java(java_oracle: Callable[[Path], JavaOracle]) -> JavaOracle:
    return java_oracle(Path(__file__).with_name("CleanerOracle.java"))


def header(batch: Batch) -> tuple[int | None, ...]:
    """All but the length and the checksum, in which two compressors may differ."""
    return (
        batch.base_offset,
        batch.last_offset,
        batch.partition_leader_epoch,
        batch.attributes,
        batch.base_timestamp,
        batch.max_timestamp,
        batch.producer_id,
        batch.producer_epoch,
        batch.base_sequence,
        batch.record_count,
    )


class Writer:
    """Random work that is the same for the same seed: plain, idempotent and transactional producers."""

    def __init__(self, seed: int, codecs: list[Compression]) -> None:
        self.random = random.Random(seed)
        self.codecs = codecs
        self.sequences = dict.fromkeys(range(6), 0)
        self.timestamp = NOW - 100_000

    def __call__(self, log: Log) -> None:
        for _ in range(self.random.randint(10, 60)):
            producer = self.random.randrange(12)
            if producer >= 6:
                self.send(log)
            elif producer >= 3:
                self.send(log, producer)
            else:
                for _ in range(self.random.randint(0, 2)):
                    self.send(log, producer, transactional=True)
                ending = self.random.choice([ControlRecordType.ABORT, ControlRecordType.COMMIT])
                end_transaction(log, ending, producer, timestamp=self.timestamp)
        self.send(log)

    def send(self, log: Log, producer: int | None = None, *, transactional: bool = False) -> None:
        entries = [
            (self.random.choice([b"k%d" % self.random.randrange(20), b"", None]), self.value())
            for _ in range(self.random.randint(1, 4))
        ]
        self.timestamp += self.random.randint(0, 50)
        more: dict[str, int | bool] = {}
        if producer is not None:
            more = {"producer_id": producer, "producer_epoch": 0, "base_sequence": self.sequences[producer]}
            self.sequences[producer] += len(entries)
        codec = self.random.choice(self.codecs)
        append(log, *entries, timestamp=self.timestamp, compression=codec, **more, transactional=transactional)

    def value(self) -> bytes | None:
        return None if self.random.random() < 0.2 else self.random.randbytes(self.random.randrange(60))


def rounds(pair: Pair, seed: int, codecs: list[Compression], after: Callable[[], None]) -> None:
    """Four rounds, tombstones and markers passing their horizons between them."""
    writers = [Writer(seed, codecs), Writer(seed, codecs)]
    clean = 0
    for number in range(4):
        each = iter(writers)
        pair.fill(lambda log, each=each: next(each)(log))  # type: ignore[misc]
        clean = pair.compact(clean, NOW + 600 * number)
        after()


@pytest.mark.parametrize("seed", range(12))
def test_files_are_the_same_byte_for_byte(java: JavaOracle, tmp_path: Path, seed: int) -> None:
    pair = Pair(java, tmp_path, ONE_GROUP)

    def same() -> None:
        assert pair.files(pair.ours) == pair.files(pair.kafkas)

    rounds(pair, seed, [Compression.NONE], same)


@pytest.mark.parametrize("seed", range(12))
def test_batches_are_the_same_in_every_codec(java: JavaOracle, tmp_path: Path, seed: int) -> None:
    pair = Pair(java, tmp_path, ONE_GROUP)

    def same() -> None:
        assert pair.batches(pair.ours) == pair.batches(pair.kafkas)

    rounds(pair, seed, list(Compression), same)


@pytest.mark.parametrize("seed", range(8))
def test_segments_are_the_same_but_for_their_last_headers(java: JavaOracle, tmp_path: Path, seed: int) -> None:
    pair = Pair(java, tmp_path, SOME_GROUPS)

    def same() -> None:
        ours, kafkas = pair.batches(pair.ours), pair.batches(pair.kafkas)
        assert [batch for batch in ours if batch[1]] == [batch for batch in kafkas if batch[1]]
        assert [batch for batch in kafkas if batch not in ours] == []
        logs = [[segment.base_offset for segment in pair.open(one).segments] for one in (pair.ours, pair.kafkas)]
        # The headers take room, and may once make a group smaller.
        assert logs[0][0] == logs[1][0]

    rounds(pair, seed, [Compression.NONE], same)


@pytest.mark.parametrize("slots", [3, 11, 17])
def test_a_small_map_ends_at_the_same_offsets(java: JavaOracle, tmp_path: Path, slots: int) -> None:
    pair = Pair(java, tmp_path, ONE_GROUP)
    writers = iter([Writer(3, [Compression.NONE]), Writer(3, [Compression.NONE])])
    pair.fill(lambda log: next(writers)(log))
    clean, end = 0, pair.open(pair.ours).end_offset
    while clean < end:
        clean = pair.compact(clean, NOW, slots * BYTES_PER_SLOT)
        ours, kafkas = pair.batches(pair.ours), pair.batches(pair.kafkas)
        assert [batch for batch in ours if batch[1]] == [batch for batch in kafkas if batch[1]]


def test_results_are_as_old_as_kafkas(java: JavaOracle, tmp_path: Path) -> None:
    pair = Pair(java, tmp_path, SOME_GROUPS)
    writers = iter([Writer(7, [Compression.NONE]), Writer(7, [Compression.NONE])])
    pair.fill(lambda log: next(writers)(log))
    for directory in (pair.ours, pair.kafkas):
        for number, path in enumerate(sorted(directory.glob("*.log"))):
            os.utime(path, ns=(0, (1_500_000_000_000 + number) * 1_000_000))
    pair.compact(0, NOW)
    ages = [
        {path.name: path.stat().st_mtime_ns for path in sorted(directory.glob("*.log"))[:-1]}
        for directory in (pair.ours, pair.kafkas)
    ]
    assert ages[0] == ages[1]
    assert len(ages[0]) > 1


def test_kafkas_tool_finds_nothing_wrong(java: JavaOracle, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    """It calls missing offsets wrong, and a time that only an empty header has: of Kafka's own result just the same."""
    pair = Pair(java, tmp_path, ONE_GROUP)
    rounds(pair, 5, [Compression.NONE], lambda: None)
    printed = []
    for directory in (pair.ours, pair.kafkas):
        data = dump(kafka_tools, directory, "--deep-iteration", "--print-data-log")
        assert "deleteHorizonMs: OptionalLong[" in data
        verified = dump(kafka_tools, directory, "--deep-iteration", "--verify-index-only")
        found = [line for line in complaints(verified) if "is followed by" not in line and "timestamp" not in line]
        assert found == []
        sane = dump(kafka_tools, directory, "--index-sanity-check")
        assert complaints(sane) == []
        assert "00000000000000000000.index passed sanity check" in sane
        printed.append(sorted((data + verified).replace(str(directory), "").splitlines()))
    assert printed[0] == printed[1]


def test_kafkas_tool_finds_every_index_sane(java: JavaOracle, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    pair = Pair(java, tmp_path, SOME_GROUPS)
    rounds(pair, 5, list(Compression), lambda: None)
    sane = dump(kafka_tools, pair.ours, "--index-sanity-check")
    assert complaints(sane) == []
    assert len(pair.open(pair.ours).segments) > 2


@pytest.mark.parametrize("seed", range(10))
def test_the_plan_is_the_same(java: JavaOracle, tmp_path: Path, seed: int) -> None:
    chance = random.Random(seed)
    directory = tmp_path / "orders-0"
    log = open_log(SystemDisk(), directory, TopicConfig.load(FILLING), now_ms=NOW, clean=True)
    writer = Writer(seed, [Compression.NONE])
    writer(log)
    if chance.random() < 0.5:
        append(log, (b"k", b"open"), producer_id=77, producer_epoch=0, base_sequence=0, transactional=True)
        Writer(seed + 100, [Compression.NONE]).send(log)
        log.roll(NOW)
    log.close()
    for number in range(12):
        config = dict(FILLING)
        if chance.random() < 0.5:
            config["min.compaction.lag.ms"] = str(chance.randrange(1, 1_000))
        if chance.random() < 0.5:
            config["max.compaction.lag.ms"] = str(chance.randrange(1_000, 2_000))
        checkpoint = chance.choice([None, 0, chance.randrange(log.end_offset + 10), log.active.base_offset])
        high_watermark = chance.choice([log.end_offset, chance.randrange(log.end_offset + 1)])
        now_ms = chance.randrange(NOW - 100_000, writer.timestamp + 3_000)
        copy = tmp_path / f"copy{number}" / "orders-0"
        shutil.copytree(directory, copy)
        configs = ";".join(f"{name}={value}" for name, value in config.items())
        shown = "-" if checkpoint is None else checkpoint
        answer = java.ask(f"PLAN {copy} {now_ms} {shown} {high_watermark} {configs}")
        ours = open_log(SystemDisk(), directory, TopicConfig.load(config), now_ms=now_ms, clean=True)
        ours.producers.on_high_watermark_advanced(high_watermark)
        stable = ours.producers.last_stable_offset(high_watermark, ours.start_offset)
        plan = planned(ours, clean=checkpoint, now_ms=now_ms, stable=stable)
        fields = answer.split(" ")
        expected = [plan.first_dirty_offset, plan.end_offset, plan.clean_bytes, plan.dirty_bytes]
        assert fields[:5] == ["OK", *map(str, expected)]
        assert fields[6] == str(plan.checkpoint_is_wrong).lower()
        overdue = int(fields[5]) > 0
        assert plan.due == (plan.dirty_bytes > 0 and (overdue or plan.dirty_ratio > 0.5)), plan.explain


def test_kafka_reads_on_what_we_compacted(java: JavaOracle, tmp_path: Path) -> None:
    """And the other way round: each goes on with the other's result."""
    pair = Pair(java, tmp_path, ONE_GROUP)
    rounds(pair, 8, list(Compression), lambda: None)
    pair.ours, pair.kafkas = pair.kafkas, pair.ours
    rest = left(pair.open(pair.ours))
    writers = iter([Writer(99, list(Compression)), Writer(99, list(Compression))])

    def plain(log: Log) -> None:
        writer = next(writers)
        for _ in range(10):
            writer.send(log)

    pair.fill(plain)
    pair.compact(0, NOW + 10**6)
    assert pair.batches(pair.ours) == pair.batches(pair.kafkas)
    assert rest
