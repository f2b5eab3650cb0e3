"""Compacted topics of a running node: processes come when there is work and go with it, results are there for clients,
and nothing that goes wrong with one log stops the others or outlives the node."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest
import trio

from barnabas.broker.housekeeping.compaction import Compaction
from barnabas.broker.node import Node
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from barnabas.storage.checkpoints import read_offsets
from barnabas.storage.disk import SystemDisk
from barnabas.storage.log_directory import TopicPartition
from tests.broker.moved_clock import NOW
from tests.broker.test_produce_and_fetch import create
from tests.kafka.client import RawClient

from .conftest import Clocked
from .test_retention import delete_topic

COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "2000",
    "min.cleanable.dirty.ratio": "0.01",
}
ORDERS = TopicPartition("orders", 0)
pytestmark = pytest.mark.slow


def put(client: RawClient, key: bytes, value: bytes) -> None:
    records = build_batch([Record(key=key, value=value, timestamp=NOW)])
    data = PartitionProduceData(index=0, records=records)
    topics = [TopicProduceData(name="orders", partition_data=[data])]
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=topics)
    (answer,) = client.ask(request, 12, ProduceResponse).responses[0].partition_responses
    assert answer.error_code == 0


def fill(client: RawClient, rounds: int = 20) -> None:
    for number in range(rounds):
        for key in (b"a", b"b", b"c"):
            put(client, key, b"%d" % number + bytes(200))


def values(node: Node) -> dict[bytes, list[int]]:
    """Of each key, the numbers of the records that are there."""
    log = node.partition("orders", 0).log
    found: dict[bytes, list[int]] = {}
    for segment in log.segments:
        for batch in iterate_batches(segment.file.read(0, segment.size)):
            for record in read_records(batch):
                assert record.key is not None
                assert record.value is not None
                found.setdefault(record.key, []).append(int(record.value.rstrip(b"\0")))
    return found


def compaction(node: Node) -> Compaction:
    assert node.housekeeping.compaction is not None
    return node.housekeeping.compaction


def is_compacted(node: Node) -> bool:
    log = node.partition("orders", 0).log
    closed = sum(segment.size for segment in log.segments[:-1])
    return not compaction(node).health().at_work and closed < 2000


def children() -> set[int]:
    """Our child processes, asked of the children: a thread's own list of them goes with the thread."""
    found = set()
    for status in Path("/proc").glob("[0-9]*/stat"):
        with suppress(FileNotFoundError, ProcessLookupError):
            parent = status.read_text().rpartition(")")[2].split()[1]
            if int(parent) == os.getpid():
                found.add(int(status.parent.name))
    return found


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    before = children()
    yield
    assert children() <= before


@pytest.mark.parametrize("durability", ["kafka", "memory"])
def test_a_log_is_compacted_and_goes_on(tmp_path: Path, durability: str) -> None:
    with Clocked(tmp_path / "data", barnabas_durability=durability) as clocked:
        with clocked.client() as client:
            create(client, configs=COMPACTED)
            fill(client)
            clocked.until(is_compacted)
            found = clocked.do(values)
            assert {key: numbers[-1] for key, numbers in found.items()} == {b"a": 19, b"b": 19, b"c": 19}
            assert sum(map(len, found.values())) < 30
            fill(client, 1)
        if durability == "kafka":
            (clean,) = read_offsets(SystemDisk(), clocked.directory / "cleaner-offset-checkpoint").values()
            assert clean > 40
            clocked.pass_ms(60_000)
            clocked.until(lambda _: not list((clocked.directory / "orders-0").glob("*.deleted")))
            clocked.restart()
            assert {key: numbers[-1] for key, numbers in clocked.do(values).items()} == {b"a": 0, b"b": 0, b"c": 0}


def test_without_a_cleaner_nothing_is_compacted(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", log_cleaner_enable="false") as clocked, clocked.client() as client:
        create(client, configs=COMPACTED)
        fill(client)
        assert clocked.do(lambda node: node.housekeeping.compaction) is None
        assert len(clocked.do(values)[b"a"]) == 20


SLOWLY = {"log_cleaner_io_max_bytes_per_second": "0.001"}
"""So slowly that it does not end by itself."""


def begun(node: Node) -> bool:
    return bool(compaction(node).health().at_work) and all(
        work.process is not None for work in compaction(node)._at_work.values()
    )


def test_a_node_that_stops_ends_its_process_at_once(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", **SLOWLY) as clocked, clocked.client() as client:
        create(client, configs=COMPACTED)
        fill(client)
        clocked.until(begun)
        assert children()


def test_a_process_that_dies_is_made_good_later(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", **SLOWLY) as clocked, clocked.client() as client:
        before = children()
        create(client, configs=COMPACTED)
        fill(client)
        clocked.until(begun)
        for child in children() - before:
            os.kill(child, signal.SIGKILL)
        clocked.until(lambda node: compaction(node).health().unhealthy)
        (unhealthy,) = clocked.do(lambda node: compaction(node).health().unhealthy)
        assert unhealthy.failures == 1
        assert any("is tried again in 15000 ms" in line for line in clocked.lines)
        clocked.pass_ms(14_999)
        assert not clocked.do(lambda node: compaction(node).health().at_work)
        clocked.pass_ms(1)
        clocked.until(begun)


def test_a_topic_that_is_deleted_is_not_compacted_any_more(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", **SLOWLY) as clocked, clocked.client() as client:
        create(client, configs=COMPACTED)
        fill(client)
        clocked.until(begun)
        delete_topic(clocked)
        create(client, configs=COMPACTED)
        clocked.until(lambda node: not compaction(node).health().at_work)
        assert not clocked.do(lambda node: compaction(node).health().unhealthy)
        assert not [name for name in clocked.names() if "cleaned" in name]
        fill(client)
        clocked.until(begun)


def test_what_is_paused_is_left_alone(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", **SLOWLY) as clocked, clocked.client() as client:
        create(client, configs=COMPACTED)
        fill(client)
        clocked.until(begun)

        async def truncate(node: Node) -> None:
            async with compaction(node).paused(ORDERS):
                assert not compaction(node).health().at_work
                log = node.partition("orders", 0).log
                log.truncate_to(log.end_offset - 1, NOW)

        clocked.carry_out(truncate)
        clocked.until(begun)


def test_retention_waits_for_a_compaction(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data", **SLOWLY) as clocked, clocked.client() as client:
        create(client, configs=COMPACTED | {"cleanup.policy": "compact,delete", "retention.ms": "1000"})
        fill(client)
        clocked.until(begun)
        clocked.pass_ms(1001)
        assert clocked.do(lambda node: node.partition("orders", 0).log.start_offset) == 0

        async def pause(node: Node) -> None:
            async with compaction(node).paused(ORDERS):
                with trio.fail_after(10):
                    while node.partition("orders", 0).log.start_offset < 60:
                        await trio.lowlevel.checkpoint()

        clocked.carry_out(pause)


def test_an_idle_process_is_ended(tmp_path: Path) -> None:
    with Clocked(tmp_path / "data") as clocked, clocked.client() as client:
        before = children()
        create(client, configs=COMPACTED)
        fill(client)
        clocked.until(is_compacted)
        assert len(children() - before) == 1
        clocked.pass_ms(60_000)
        clocked.pass_ms(60_000)
        clocked.until(lambda _: children() == before)
