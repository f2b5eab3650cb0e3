"""Kafka's tools and brokers on logs that we wrote, and we on logs that Kafka wrote."""

from __future__ import annotations

import re
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.compression import Compression
from barnabas.protocol.control import ControlRecordType, build_end_transaction_marker
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.schema import Uuid
from barnabas.storage.checkpoints import CLEAN_SHUTDOWN
from barnabas.storage.disk import SystemDisk
from barnabas.storage.loading import open_log
from barnabas.storage.log import Log
from barnabas.storage.partition_metadata import read_partition_metadata
from barnabas.storage.producer_state import AppendOrigin
from barnabas.storage.topic_config import TopicConfig
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient
from tests.kafka.tool_runner import ToolRunner

from .compacted import compact_now

pytestmark = [pytest.mark.java, pytest.mark.slow]

NOW = 1_700_000_000_000
TOPIC = "orders"


def value(number: int) -> bytes:
    return b"%06d" % number * 20


def fill(log: Log, *, first: int = 0) -> dict[int, bytes]:
    """Batches in every codec, from plain, idempotent and transactional producers, under several leaders."""
    expected: dict[int, bytes] = {}
    sequence = 0
    number = first
    for round_ in range(40):
        codec = Compression(round_ % 5)
        values = [value(number + index) for index in range(1 + round_ % 4)]
        records = [Record(key=b"k%d" % (number % 7), value=each, timestamp=NOW + number) for each in values]
        producer = round_ % 3
        more = {"producer_id": 40 + first + producer, "producer_epoch": 0, "base_sequence": 0} if producer else {}
        if producer == 1:
            more["base_sequence"] = sequence
            sequence += len(values)
        if producer == 2:
            more |= {"transactional": True, "producer_id": 100 + first + round_}
        appended = log.append_as_leader([Batch(build_batch(records, compression=codec, **more))], round_ // 10, NOW)  # type: ignore[arg-type]
        expected.update({appended.first_offset + index: each for index, each in enumerate(values)})
        if producer == 2:
            ending = ControlRecordType.ABORT if round_ % 2 else ControlRecordType.COMMIT
            marker = build_end_transaction_marker(
                ending, producer_id=100 + first + round_, producer_epoch=0, coordinator_epoch=0, timestamp=NOW + number
            )
            log.append_as_leader(
                [Batch(marker)], round_ // 10, NOW, origin=AppendOrigin.COORDINATOR, transaction_version=1
            )
        number += len(values)
    return expected


def records_of(log: Log) -> dict[int, bytes]:
    found: dict[int, bytes] = {}
    offset = log.start_offset
    while offset < log.end_offset:
        for batch in iterate_batches(log.read(offset, 1 << 20).read()):
            batch.check()
            if not batch.control:
                found.update({record.offset: record.value or b"" for record in read_records(batch)})
            offset = batch.next_offset
    return found


def dump(tools: ToolRunner, directory: Path, *options: str) -> str:
    code, said = attempt_dump(tools, directory, *options)
    assert code == 0, said
    return said


def attempt_dump(tools: ToolRunner, directory: Path, *options: str) -> tuple[int, str]:
    suffixes = (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    files = sorted(path for path in directory.iterdir() if path.suffix in suffixes)
    where = ("--files", ",".join(map(str, files)))
    code, out, err = tools.attempt("org.apache.kafka.tools.DumpLogSegments", *options, *where)
    return code, out + err


FINE = re.compile(
    r"Dumping |Log starting offset: |baseOffset: .* isvalid: true$|\| offset: |offset: -?\d+ position: "
    r"|timestamp: -?\d+ offset: |version: 0 producerId: |producerId: |.* passed sanity check\.$|.* is empty\.$|$"
    # It takes the beginning of every segment but the first for a jump.
    r"|Non-consecutive offsets in |  -1 is followed by "
)


def complaints(printed: str) -> list[str]:
    """What the tool says that it does not say of a log that is right."""
    return [line for line in printed.splitlines() if not FINE.match(line)]


WRITTEN = ["closed", "recovered", "truncated", "deleted"]


@pytest.fixture(params=WRITTEN)
def written(request: pytest.FixtureRequest, tmp_path: Path) -> Log:
    """A log of many segments, and what may have happened to it."""
    config = TopicConfig.load({"internal.segment.bytes": "1500", "index.interval.bytes": "300"})
    disk = SystemDisk()
    log = open_log(disk, tmp_path / f"{TOPIC}-0", config, now_ms=NOW, clean=True)
    fill(log)
    assert len(log.segments) > 3
    if request.param == "recovered":
        log.active.file.write(log.active.size, [b"torn" * 9])
        log = open_log(disk, log.directory, config, now_ms=NOW, clean=False)
    elif request.param == "truncated":
        _, second, *_ = log.segments[-2].places()
        log.truncate_to(second.batch.base_offset, NOW)
        fill(log, first=5_000)
    elif request.param == "deleted":
        log.advance_start(log.segments[2].base_offset + 1)
        log.delete_segments(log.segments[:2])
        for segment in log.removed:
            segment.remove()
    log.close()
    return log


def test_kafkas_tool_finds_nothing_wrong(kafka_tools: ToolRunner, written: Log) -> None:
    checked = dump(kafka_tools, written.directory, "--index-sanity-check")
    assert checked.count("passed sanity check.") >= 2 * len(written.segments)
    verified = dump(kafka_tools, written.directory, "--deep-iteration", "--verify-index-only")
    assert complaints(checked + verified) == []
    dumped = dump(kafka_tools, written.directory, "--deep-iteration", "--print-data-log")
    assert "isvalid: false" not in dumped
    found = {
        int(offset): text for offset, text in re.findall(r"^\| offset: (\d+) .* payload: (\d+)$", dumped, re.MULTILINE)
    }
    visible = {offset: text for offset, text in found.items() if offset >= written.start_offset}
    assert visible == {
        offset: each.decode() for offset, each in records_of(written).items() if offset >= written.start_offset
    }
    for aborted in written.aborted_transactions(0, written.end_offset):
        assert f"producerId: {aborted.producer_id} firstOffset: {aborted.first_offset}" in dumped


@pytest.mark.parametrize(
    ("suffix", "position", "option", "complaint"),
    [
        (".log", 30, "--deep-iteration", "isvalid: false"),
        (".log", -1, "--deep-iteration", "InvalidRecordException"),
        (".index", 7, "--verify-index-only", "NoSuchElementException"),
        (".index", 3, "--verify-index-only", "Mismatches in"),
        (".index", None, "--index-sanity-check", "is corrupt"),
        (".timeindex", 6, "--verify-index-only", "Found timestamp mismatch"),
        (".timeindex", 11, "--verify-index-only", "indexed offsets are not found"),
        (".snapshot", 10, "--deep-iteration", "Snapshot is corrupt"),
    ],
)
def test_kafkas_tool_would_find_what_is_wrong(
    kafka_tools: ToolRunner, tmp_path: Path, suffix: str, position: int | None, option: str, complaint: str
) -> None:
    """One bit of what it has found right, or one byte less, and the test before would fail."""
    config = TopicConfig.load({"internal.segment.bytes": "1500", "index.interval.bytes": "300"})
    log = open_log(SystemDisk(), tmp_path / f"{TOPIC}-0", config, now_ms=NOW, clean=True)
    fill(log)
    log.close()
    path = log.segments[1].path(suffix)
    data = bytearray(path.read_bytes())
    if position is None:
        data.pop()
    else:
        data[position] ^= 0x40
    path.write_bytes(data)
    code, said = attempt_dump(kafka_tools, log.directory, option)
    assert code or complaints(said)
    assert complaint in said


def create_topic(client: RawClient, **configs: str) -> Uuid:
    settings = [CreatableTopicConfig(name=name.replace("_", "."), value=text) for name, text in configs.items()]
    topic = CreatableTopic(name=TOPIC, num_partitions=1, replication_factor=1, configs=settings)
    answer = client.ask(CreateTopicsRequest(topics=[topic]), 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0
    return answer.topics[0].topic_id


def produce(client: RawClient, topic_id: Uuid, batch: bytes) -> int:
    """The first offset. As any client does, it asks again while the broker still makes itself the topic's leader."""
    topic = TopicProduceData(topic_id=topic_id, partition_data=[PartitionProduceData(records=batch)])
    request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[topic])
    deadline = time.monotonic() + 20
    while True:
        (answer,) = client.ask(request, 13, ProduceResponse).responses[0].partition_responses
        if answer.error_code == 0:
            return answer.base_offset
        assert ErrorCode(answer.error_code).retriable, ErrorCode(answer.error_code).name
        assert time.monotonic() < deadline


def fetched(client: RawClient, topic_id: Uuid, end_offset: int) -> Iterator[Batch]:
    offset = 0
    while offset < end_offset:
        partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
        request = FetchRequest(
            max_wait_ms=100, min_bytes=1, topics=[FetchTopic(topic_id=topic_id, partitions=[partition])]
        )
        (data,) = client.ask(request, 13, FetchResponse).responses[0].partitions
        assert data.error_code == 0
        assert isinstance(data.records, memoryview)
        batches = list(iterate_batches(data.records))
        assert batches
        yield from batches
        offset = batches[-1].next_offset


@pytest.mark.parametrize("ending", ["closed", "compacted", "killed"])
def test_a_broker_starts_on_our_log_and_serves_every_record(kafka_classpath: str, ending: str) -> None:
    with KafkaBroker(kafka_classpath) as broker:
        with RawClient(broker.host, broker.port) as client:
            topic_id = create_topic(client)
        broker.stop()
        directory = broker.data_directory / f"{TOPIC}-0"
        disk = SystemDisk()
        config = TopicConfig.load({"internal.segment.bytes": "1500", "index.interval.bytes": "300"})
        log = open_log(disk, directory, config, now_ms=NOW, clean=True)
        expected = fill(log)
        if ending == "compacted":
            compact_now(log)
            kept = records_of(log)
            assert len(kept) < len(expected)
            expected = kept
        if ending == "killed":
            (broker.data_directory / CLEAN_SHUTDOWN).unlink()
        else:
            log.close()
        assert read_partition_metadata(disk, directory) == topic_id
        broker.start()
        with RawClient(broker.host, broker.port) as client:
            batches = list(fetched(client, topic_id, log.end_offset))
            ask = ListOffsetsRequest(
                topics=[ListOffsetsTopic(name=TOPIC, partitions=[ListOffsetsPartition(timestamp=NOW + 30)])]
            )
            (found,) = client.ask(ask, 7, ListOffsetsResponse).topics[0].partitions
        assert {
            record.offset: record.value for batch in batches if not batch.control for record in read_records(batch)
        } == expected
        found_here = log.find_timestamp(NOW + 30)
        assert found_here is not None
        assert (found.timestamp, found.offset) == (found_here.timestamp, found_here.offset)
        broker.stop()
        assert "Found an orphaned" not in broker.log_file.read_text()
        assert "orrupt" not in broker.log_file.read_text()


@pytest.mark.parametrize("ending", ["stopped", "killed"])
def test_we_open_what_a_broker_wrote(kafka_classpath: str, ending: str) -> None:
    with KafkaBroker(kafka_classpath) as broker:
        with RawClient(broker.host, broker.port) as client:
            topic_id = create_topic(client, segment_bytes="1048576", index_interval_bytes="2000")
            expected: dict[int, bytes] = {}
            sequence = 0
            for round_ in range(200):
                values = [bytes([round_]) * 4_000 + b"%d" % index for index in range(5)]
                records = [Record(value=each, timestamp=NOW + round_) for each in values]
                codec = Compression(round_ % 5 if round_ % 10 == 0 else 0)
                batch = build_batch(records, compression=codec, producer_id=7, producer_epoch=0, base_sequence=sequence)
                sequence += len(values)
                first = produce(client, topic_id, batch)
                expected.update({first + index: each for index, each in enumerate(values)})
        (broker.stop if ending == "stopped" else broker.kill)()
        lines: list[str] = []
        log = open_log(
            SystemDisk(),
            broker.data_directory / f"{TOPIC}-0",
            TopicConfig.load({}),
            now_ms=NOW,
            clean=ending == "stopped",
            report=lines.append,
        )
        assert lines == []
        assert len(log.segments) > 2
        assert log.end_offset == len(expected)
        assert records_of(log) == expected
        assert [tuple(entry) for entry in log.epochs.entries] == [(0, 0)]
        assert log.producers.producers[7].last_sequence == sequence - 1
        assert log.find_timestamp(NOW + 150) == (NOW + 150, 750, 0)
        for segment in log.segments:
            segment.check_indexes()
