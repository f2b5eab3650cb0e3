"""Two clusters and a mirror between them, for tests: what is written here, what is there, a process to be killed."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Protocol, Self

from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.committed import commit_offsets, committed_offsets
from barnabas.client.fetching import FetchFrom, batches_of, fetch
from barnabas.client.offsets import LATEST, FoundOffset, list_offsets
from barnabas.client.properties import ClientProperties
from barnabas.client.visible import visible
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from tests.cli.beside import Ran, run
from tests.clients.waiting import PATIENCE_S

__all__ = ["Between", "Copied", "Ends", "MirrorProcess", "copied", "ends_of"]

Copied = tuple[bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]
"""What of a record is to be the same: key, value, headers, timestamp."""

LAST_PRODUCE_WITH_NAMES = 12


class Broker(Protocol):
    @property
    def bootstrap(self) -> str: ...


def copied(record: Record) -> Copied:
    return record.key, record.value, tuple(record.headers), record.timestamp


class Ends:
    """One of the two clusters."""

    def __init__(self, broker: Broker) -> None:
        self.broker = broker

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    def ask(self) -> Cluster:
        """To be closed."""
        return Cluster(parse_bootstrap(self.bootstrap), ClientProperties(), PATIENCE_S)

    def run(self, *arguments: str) -> str:
        ran = run(*arguments, "--bootstrap-server", self.bootstrap)
        assert ran.code == 0, ran
        return ran.out

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        options = [f"--config={key.replace('_', '.')}={value}" for key, value in configs.items()]
        self.run("topics", "create", topic, "--partitions", str(partitions), "--replication-factor", "1", *options)

    def produce(
        self, topic: str, *records: Record, partition: int = 0, compression: Compression = Compression.NONE
    ) -> int:
        """In one batch; the offset of the first."""
        data = PartitionProduceData(index=partition, records=build_batch(records, compression=compression))
        request = ProduceRequest(
            acks=-1, timeout_ms=10_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
        )
        with self.ask() as cluster:

            def attempt() -> int:
                (leader,) = cluster.by_leader([Partition(topic, partition)])
                answer = cluster.ask_node(leader, request, ProduceResponse, at_most=LAST_PRODUCE_WITH_NAMES)
                (told,) = answer.responses[0].partition_responses
                check(told.error_code, told.error_message)
                return told.base_offset

            return cluster.retry(attempt)

    def values(self, topic: str, *values: bytes, partition: int = 0) -> int:
        return self.produce(topic, *[Record(None, each, timestamp=now_ms()) for each in values], partition=partition)

    def end(self, topic: str, partition: int = 0) -> int:
        """0 while there is no such topic."""
        with self.ask() as cluster:
            told = list_offsets(cluster, {Partition(topic, partition): LATEST})[Partition(topic, partition)]
        return told.offset if isinstance(told, FoundOffset) else 0

    def records(self, topic: str, partition: int = 0, first: int | None = None) -> list[Record]:
        """What is committed, with their offsets."""
        at = Partition(topic, partition)
        found: list[Record] = []
        with self.ask() as cluster:
            topic_id = cluster.topics([topic])[topic].topic_id
            ends = [list_offsets(cluster, {at: when}, committed=True)[at] for when in (-2, -1)]
            assert not any(isinstance(each, KafkaError) for each in ends), ends
            offset, end = (each.offset for each in ends if isinstance(each, FoundOffset))
            offset = offset if first is None else first
            while offset < end:
                (leader,) = cluster.by_leader([at])
                data = fetch(
                    cluster,
                    [FetchFrom(at, topic_id, offset)],
                    partition_bytes=1 << 20,
                    answer_bytes=1 << 20,
                    max_wait_ms=100,
                    committed=True,
                    node_id=leader,
                )[at]
                check(data.error_code)
                batches = batches_of(data, offset)
                for batch in visible(batches, data.aborted_transactions or ()):
                    found += [each for each in read_records(batch) if each.offset >= offset]
                offset = batches[-1].next_offset if batches else offset
        return found

    def content(self, topic: str, partition: int = 0) -> list[Copied]:
        return [copied(each) for each in self.records(topic, partition)]

    def commit(self, group: str, offsets: Mapping[Partition, int]) -> None:
        with self.ask() as cluster:
            assert commit_offsets(cluster, group, offsets) == {}

    def committed(self, group: str) -> dict[Partition, int]:
        with self.ask() as cluster:
            found = committed_offsets(cluster, [group])[group]
        assert not isinstance(found, KafkaError), found
        return {partition: each.offset for partition, each in found.items()}


class Between(NamedTuple):
    source: Ends
    target: Ends

    def flags(self) -> list[str]:
        return ["--bootstrap-server", self.source.bootstrap, "--to-bootstrap-server", self.target.bootstrap]

    def attempt(self, *arguments: str) -> Ran:
        return run("mirror", *self.flags(), *arguments)

    def catch_up(self, *arguments: str) -> Ran:
        ran = self.attempt("--catch-up", *arguments)
        assert ran.code == 0, ran
        return ran

    def status(self, *arguments: str) -> dict[str, Any]:
        ran = self.attempt("--status", "--json", *arguments)
        assert ran.code == 0, ran
        found: dict[str, Any] = json.loads(ran.out)
        return found

    def same(self, topic: str, partitions: Iterable[int] = (0,), prefix: str = "") -> int:
        """How many records; AssertionError if they are not the same ones in the same order."""
        count = 0
        for number in partitions:
            here, there = self.source.content(topic, number), self.target.content(prefix + topic, number)
            assert here == there, f"{topic}-{number}: {len(here)} records here, {len(there)} there"
            count += len(here)
        return count


def ends_of(source: Broker, target: Broker) -> Between:
    return Between(Ends(source), Ends(target))


class MirrorProcess:
    """A mirror that runs until it is told to end."""

    def __init__(self, between: Between, log: Path, *arguments: str) -> None:
        self.log = log
        command = [sys.executable, "-m", "barnabas.cli", "mirror", *between.flags(), *arguments]
        with log.open("ab") as out:
            self._process = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.end(signal.SIGKILL)

    def end(self, how: signal.Signals = signal.SIGTERM) -> int:
        """Its exit code."""
        if self._process.poll() is None:
            self._process.send_signal(how)
        return self._process.wait(PATIENCE_S)

    @property
    def ended(self) -> bool:
        return self._process.poll() is not None

    def said(self) -> str:
        return self.log.read_text(errors="replace")


def now_ms() -> int:
    return time.time_ns() // 1_000_000
