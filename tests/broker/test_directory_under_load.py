"""A directory of a broker that was stopped or killed under load, Kafka's or ours: what Barnabas finds in it is what
Kafka finds: batches, offsets, times, epochs, producers, transactions."""

from __future__ import annotations

import random
import re
import shutil
import signal
import time
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from barnabas.protocol.messages.describe_producers import (
    DescribeProducersRequest,
    DescribeProducersResponse,
    TopicRequest,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic, PartitionData
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderEpochResponse,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.protocol.record import Record, read_records
from barnabas.storage.disk import SystemDisk
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.topic_config import TopicConfig
from tests.cli.starting import StartedBroker
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .load import PARTITIONS, Load

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC = "orders"
CONFIGS = {"segment.bytes": str(1 << 20), "index.interval.bytes": "3000", "retention.ms": "-1"}
RECORDS = 8_000
"""Acknowledged in each of two sessions: segments are rolled in both."""
LATEST, EARLIEST, LARGEST_TIMESTAMP = -1, -2, -3
EVERYTHING, COMMITTED = 0, 1


class Asked:
    """What a running broker says of one partition."""

    def __init__(self, client: RawClient, partition: int) -> None:
        self.client = client
        self.partition = partition

    def offset(self, timestamp: int) -> ListOffsetsPartitionResponse:
        asked = ListOffsetsTopic(
            name=TOPIC, partitions=[ListOffsetsPartition(partition_index=self.partition, timestamp=timestamp)]
        )
        answer = self.client.ask(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse).topics[0].partitions[0]
        assert answer.error_code == 0
        return answer

    def fetch(self, offset: int, isolation: int) -> PartitionData:
        wanted = FetchPartition(partition=self.partition, fetch_offset=offset, partition_max_bytes=1 << 20)
        topic = FetchTopic(topic=TOPIC, partitions=[wanted])
        request = FetchRequest(max_wait_ms=0, min_bytes=1, isolation_level=isolation, topics=[topic], session_epoch=-1)
        (answer,) = self.client.ask(request, 12, FetchResponse).responses[0].partitions
        assert answer.error_code == 0
        return answer

    def all_batches(self, start: int, end: int) -> Iterator[Batch]:
        while start < end:
            batches = list(iterate_batches(self.fetch(start, EVERYTHING).records or b""))  # type: ignore[arg-type]
            assert batches, f"nothing at {start} of {end}"
            yield from batches
            start = batches[-1].next_offset

    def aborted(self, start: int) -> tuple[int, set[tuple[int, int]]]:
        """The last stable offset, and which transactions that have been aborted readers are told up to there."""
        told: set[tuple[int, int]] = set()
        while True:
            answer = self.fetch(start, COMMITTED)
            told |= {(each.producer_id, each.first_offset) for each in answer.aborted_transactions or ()}
            batches = list(iterate_batches(answer.records or b""))  # type: ignore[arg-type]
            if not batches:
                return answer.last_stable_offset, told
            start = batches[-1].next_offset

    def producers(self) -> dict[int, tuple[int, ...]]:
        request = DescribeProducersRequest(topics=[TopicRequest(name=TOPIC, partition_indexes=[self.partition])])
        (answer,) = self.client.ask(request, 0, DescribeProducersResponse).topics[0].partitions
        assert answer.error_code == 0
        return {
            each.producer_id: (
                each.producer_epoch,
                each.last_sequence,
                each.last_timestamp,
                each.coordinator_epoch,
                each.current_txn_start_offset,
            )
            for each in answer.active_producers
        }

    def end_of_epoch(self, epoch: int) -> tuple[int, int]:
        asked = OffsetForLeaderPartition(partition=self.partition, leader_epoch=epoch)
        request = OffsetForLeaderEpochRequest(topics=[OffsetForLeaderTopic(topic=TOPIC, partitions=[asked])])
        (answer,) = self.client.ask(request, 4, OffsetForLeaderEpochResponse).topics[0].partitions
        assert answer.error_code == 0
        return answer.leader_epoch, answer.end_offset


def compare(log: Log, asked: Asked, chance: random.Random) -> dict[str, int]:
    """Whatever both can say is the same; how much that was. The broker may be ending open transactions since it has
    started, and then its log has their markers behind the end of ours: they are read last."""
    said = asked.producers()
    stable, told = asked.aborted(log.start_offset)
    assert asked.offset(EARLIEST).offset == log.start_offset
    end = asked.offset(LATEST).offset
    assert end >= log.end_offset
    here = [
        batch
        for segment in log.segments
        for batch in iterate_batches(segment.file.read(0, segment.size))
        if batch.last_offset >= log.start_offset
    ]
    theirs = list(asked.all_batches(log.start_offset, end))
    ended_since = {batch.producer_id for batch in theirs[len(here) :] if batch.control}
    assert all(batch.control for batch in theirs[len(here) :])
    for one, other in zip(here, theirs, strict=False):
        assert bytes_of(one) == bytes_of(other), f"the batches at {one.base_offset} and {other.base_offset}"

    times = [batch.max_timestamp for batch in here if not batch.control]
    asked_times = [chance.randint(min(times) - 1_000, max(times)) for _ in range(200)]
    for timestamp in (*asked_times, min(times), max(times)):
        found, answer = log.find_timestamp(timestamp), asked.offset(timestamp)
        assert found is not None
        assert found == (answer.timestamp, answer.offset, answer.leader_epoch)
    latest, answer = log.find_latest_timestamp(), asked.offset(LARGEST_TIMESTAMP)
    assert latest == (answer.timestamp, answer.offset, answer.leader_epoch)

    epochs = [entry.epoch for entry in log.epochs.entries]
    assert len(epochs) >= 2, "each session of a broker is an epoch"
    for epoch in range(epochs[-1]):
        assert log.epochs.end_offset_for(epoch, log.end_offset) == asked.end_of_epoch(epoch)
    last_epoch, its_end = asked.end_of_epoch(epochs[-1])
    assert (last_epoch, its_end) == (epochs[-1], log.end_offset)

    known = {
        producer.producer_id: (
            producer.epoch,
            producer.last_sequence,
            producer.last_timestamp,
            producer.coordinator_epoch,
            -1 if producer.transaction_first_offset is None else producer.transaction_first_offset,
        )
        for producer in log.producers.producers.values()
    }
    assert known.keys() == said.keys()
    assert {key: value for key, value in known.items() if key not in ended_since} == {
        key: value for key, value in said.items() if key not in ended_since
    }

    wanted = log.aborted_transactions(log.start_offset, min(stable, log.end_offset))
    certain = {(each.producer_id, each.first_offset) for each in wanted}
    possible = {
        (each.producer_id, each.first_offset) for each in log.aborted_transactions(log.start_offset, log.end_offset)
    }
    assert certain <= told
    assert {each for each in told if each[0] not in ended_since} <= possible
    return {
        "batches": len(here),
        "segments": len(log.segments),
        "producers": len(known),
        "aborted transactions": len(certain),
        "epochs": len(epochs),
        "transactions ended since": len(ended_since),
    }


def bytes_of(batch: Batch) -> bytes:
    return bytes(batch.buffer[batch.position : batch.end])


def create_topic(port: int) -> None:
    with RawClient("127.0.0.1", port) as client:
        topic = CreatableTopic(
            name=TOPIC,
            num_partitions=PARTITIONS,
            replication_factor=1,
            configs=[CreatableTopicConfig(name=name, value=value) for name, value in CONFIGS.items()],
        )
        (answer,) = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse).topics
    assert answer.error_code == 0


def delete_some(port: int) -> None:
    """Of the first partition, into the middle of a segment."""
    topics = [DeleteRecordsTopic(name=TOPIC, partitions=[DeleteRecordsPartition(partition_index=0, offset=1_000)])]
    with RawClient("127.0.0.1", port) as client:
        answer = client.ask(DeleteRecordsRequest(topics=topics, timeout_ms=10_000), 2, DeleteRecordsResponse)
    assert answer.topics[0].partitions[0].error_code == 0


def write_with_kafka(kafka: KafkaBroker, ending: str) -> Load:
    kafka.start()
    create_topic(kafka.port)
    with Load(kafka.bootstrap, TOPIC, 1, transactions=True) as first:
        first.wait_for(RECORDS)
    kafka.stop()
    kafka.start()
    with Load(kafka.bootstrap, TOPIC, 2, transactions=True) as second:
        second.wait_for(RECORDS // 2)
        delete_some(kafka.port)
        second.wait_for(RECORDS)
        second.ends()
        (kafka.stop if ending == "stopped" else kafka.kill)()
    second.acknowledged |= first.acknowledged
    return second


def write_with_barnabas(kafka: KafkaBroker, ending: str) -> Load:
    directory = kafka.data_directory.parent
    with StartedBroker(directory, "--data", str(kafka.data_directory)) as broker:
        _, port = broker.wait_ready().address
        create_topic(port)
        with Load(f"127.0.0.1:{port}", TOPIC, 1, transactions=False) as first:
            first.wait_for(RECORDS)
        broker.signal()
        assert broker.wait() == 0, broker.errors
    with StartedBroker(directory, "--data", str(kafka.data_directory)) as broker:
        _, port = broker.wait_ready().address
        with Load(f"127.0.0.1:{port}", TOPIC, 2, transactions=False) as second:
            second.wait_for(RECORDS // 2)
            delete_some(port)
            second.wait_for(RECORDS)
            second.ends()
            broker.signal(signal.SIGTERM if ending == "stopped" else signal.SIGKILL)
            broker.wait()
    second.acknowledged |= first.acknowledged
    return second


@pytest.mark.parametrize("ending", ["stopped", "killed"])
@pytest.mark.parametrize("write", [write_with_kafka, write_with_barnabas])
def test_both_find_the_same_in_it(
    kafka_classpath: str,
    tmp_path: Path,
    write: Callable[[KafkaBroker, str], Load],
    ending: str,
    figure: Callable[[str], None],
) -> None:
    copy = tmp_path / "copy"
    lines: list[str] = []
    with closing(KafkaBroker(kafka_classpath, tmp_path)) as kafka:
        load = write(kafka, ending)
        if ending == "killed":
            tear(kafka.data_directory)
        shutil.copytree(kafka.data_directory, copy)
        directory = LogDirectory(SystemDisk(), copy, holder="pid 1", report=lines.append)
        assert directory.was_clean == (ending == "stopped")
        now_ms = int(time.time() * 1000)
        logs = [
            directory.load(TopicPartition(TOPIC, number), TopicConfig.load(CONFIGS), now_ms)
            for number in range(PARTITIONS)
        ]
        assert [line for line in lines if ending == "stopped" or "are cut off" not in line] == []
        values = {
            (number, record.offset): record.value
            for number, log in enumerate(logs)
            for segment in log.segments
            for batch in iterate_batches(segment.file.read(0, segment.size))
            for record in read_records(batch)
        }
        lost = {
            place: value
            for place, value in load.acknowledged.items()
            if place[1] >= logs[place[0]].start_offset and values.get(place) != value
        }
        assert not lost, f"{len(lost)} of {len(load.acknowledged)} acknowledged records are not there"
        kafka.start()
        with RawClient(kafka.host, kafka.port) as client:
            wait_until(lambda: leads_all(client), "Kafka to lead all partitions")
            same = [compare(log, Asked(client, number), random.Random(number)) for number, log in enumerate(logs)]
        for number, counts in enumerate(same):
            figure(f"partition {number}: " + ", ".join(f"{count} {what}" for what, count in counts.items()))
        assert sum(counts["aborted transactions"] for counts in same) > 0 or write is write_with_barnabas
        kafka.stop()
        said = kafka.log_file.read_text()
        assert cut_by_kafka(said) == cut_by_us(lines)
        assert bool(cut_by_us(lines)) == (ending == "killed")
        assert said.count("orrupt") == len(cut_by_kafka(said)), "Kafka finds nothing damaged but what a kill has torn"


def tear(directory: Path) -> None:
    """A kill in the middle of a write leaves the beginning of a batch: seldom, so here it always does."""
    last = max((directory / f"{TOPIC}-0").glob("*.log"))
    with last.open("ab") as log:
        log.write(one_batch(0).buffer[:100])


def cut_by_kafka(said: str) -> list[tuple[str, int, int]]:
    """The last batch of a partition, torn by a kill in the middle of its write: where, in which segment, from which
    offset on."""
    told = re.findall(r"partition=(\S+), dir=.*Corruption found in segment (\d+), truncating to offset (\d+)", said)
    return sorted((partition, int(segment), int(offset)) for partition, segment, offset in told)


def cut_by_us(lines: list[str]) -> list[tuple[str, int, int]]:
    told = [re.search(r"([^/]+)/(\d+)\.log: .*\(offset (\d+)\) are cut off", line) for line in lines]
    return sorted((one[1], int(one[2]), int(one[3])) for one in told if one is not None)


def leads_all(client: RawClient) -> bool:
    asked = [ListOffsetsPartition(partition_index=number, timestamp=LATEST) for number in range(PARTITIONS)]
    topics = [ListOffsetsTopic(name=TOPIC, partitions=asked)]
    answer = client.ask(ListOffsetsRequest(topics=topics), 7, ListOffsetsResponse)
    return all(each.error_code == 0 for each in answer.topics[0].partitions)


def test_an_epoch_that_a_kill_keeps_out_of_its_file_begins_with_its_first_record(
    kafka_classpath: str, tmp_path: Path
) -> None:
    """It is written when its records are synced; until then Kafka learns it from the segments, in their order. One
    without an index it would read before all others."""
    with closing(KafkaBroker(kafka_classpath, tmp_path)) as kafka:
        with StartedBroker(tmp_path, "--data", str(kafka.data_directory)) as broker:
            _, port = broker.wait_ready().address
            create_topic(port)
            broker.signal()
            assert broker.wait() == 0, broker.errors
        alive = kafka.data_directory.rename(tmp_path / "alive")
        directory = LogDirectory(SystemDisk(), alive, holder="pid 1", report=lambda _line: None)
        now_ms = int(time.time() * 1000)
        log = directory.load(TopicPartition(TOPIC, 0), TopicConfig.load(CONFIGS), now_ms)
        log.append_as_leader([one_batch(now_ms)], 0, now_ms)
        while len(log.segments) < 2:
            log.append_as_leader([one_batch(now_ms)], 1, now_ms)
        shutil.copytree(alive, kafka.data_directory)
        kafka.start()
        with RawClient(kafka.host, kafka.port) as client:
            wait_until(lambda: leads_all(client), "Kafka to lead all partitions")
            asked = Asked(client, 0)
            assert asked.end_of_epoch(0) == (0, 1)
            assert asked.end_of_epoch(1) == (1, log.end_offset)
        kafka.stop()


def one_batch(now_ms: int) -> Batch:
    return Batch(build_batch([Record(value=bytes(1 << 17), timestamp=now_ms)]))
