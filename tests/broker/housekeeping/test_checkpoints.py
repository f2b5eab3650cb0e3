"""What a start after a kill finds: checkpoints that are written while the node runs, of what is there then."""

from __future__ import annotations

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.record import Record
from barnabas.storage.checkpoints import read_offsets
from barnabas.storage.disk import SystemDisk
from barnabas.storage.log import Log
from tests.broker.moved_clock import NOW
from tests.broker.test_produce_and_fetch import create, fetch, produce

from .conftest import Clocked
from .test_retention import delete_topic

MINUTE_MS = 60_000


def written(clocked: Clocked, name: str) -> dict[tuple[str, int], int]:
    return read_offsets(SystemDisk(), clocked.directory / name)


def log_of(node: Node) -> Log:
    return node.partition("orders", 0).log


def test_high_watermarks_are_written_every_five_seconds(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, partitions=2)
        produce(client, b"a", b"b", timestamp=NOW)
    clocked.pass_ms(5_000)
    clocked.until(lambda _: written(clocked, "replication-offset-checkpoint") == {("orders", 0): 2, ("orders", 1): 0})
    clocked.until(lambda _: clocked.clock.is_waited_for(NOW + 10_000))
    with clocked.client() as client:
        produce(client, b"c", partition=1, timestamp=NOW)
    clocked.pass_ms(4_999)
    assert written(clocked, "replication-offset-checkpoint")["orders", 1] == 0
    clocked.pass_ms(1)
    clocked.until(lambda _: written(clocked, "replication-offset-checkpoint")["orders", 1] == 1)


def test_a_full_segment_is_synced_and_its_end_written_down(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs={"internal.segment.bytes": "300", "retention_ms": "-1"})
        for _ in range(3):
            produce(client, bytes(150), timestamp=NOW)
    clocked.until(lambda node: log_of(node).recovery_point == 2)
    clocked.pass_ms(MINUTE_MS)
    clocked.until(lambda _: written(clocked, "recovery-point-offset-checkpoint") == {("orders", 0): 2})
    clocked.kill()
    clocked.start()
    with clocked.client() as client:
        assert len(fetch(client, 2)) == 1


def test_starts_of_logs_are_written_down(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client)
        produce(client, b"a", b"b", b"c", timestamp=NOW)
    clocked.do(lambda node: node.partition("orders", 0).delete_records(2))
    clocked.pass_ms(MINUTE_MS)
    clocked.until(lambda _: written(clocked, "log-start-offset-checkpoint") == {("orders", 0): 2})
    clocked.kill()
    clocked.start()
    assert clocked.do(lambda node: log_of(node).start_offset) == 2


def test_a_topic_that_is_made_again_gets_nothing_of_the_old_one(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs={"internal.segment.bytes": "300", "retention_ms": "-1"})
        for _ in range(3):
            produce(client, bytes(150), timestamp=NOW)
    clocked.until(lambda node: log_of(node).recovery_point == 2)
    clocked.pass_ms(MINUTE_MS)
    clocked.until(lambda _: ("orders", 0) in written(clocked, "recovery-point-offset-checkpoint"))
    delete_topic(clocked)
    with clocked.client() as client:
        create(client)
    assert written(clocked, "recovery-point-offset-checkpoint").get(("orders", 0), 0) == 0


@pytest.mark.parametrize(("configs", "pass_ms"), [({"flush_messages": "3"}, 0), ({"flush_ms": "1000"}, 1000)])
def test_topics_may_be_flushed_more_often(clocked: Clocked, configs: dict[str, str], pass_ms: int) -> None:
    with clocked.client() as client:
        create(client, configs=configs)
        produce(client, b"a", timestamp=NOW)
        produce(client, b"b", timestamp=NOW)
        assert clocked.do(lambda node: log_of(node).recovery_point) == 0
        produce(client, b"c", timestamp=NOW)
    clocked.pass_ms(pass_ms)
    clocked.until(lambda node: log_of(node).recovery_point == 3)


def test_producers_are_forgotten_when_they_have_been_idle(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client)

    def append(node: Node) -> None:
        data = build_batch([Record(value=b"a", timestamp=NOW)], producer_id=7, producer_epoch=0, base_sequence=0)
        node.partition("orders", 0).append([Batch(data)], NOW)

    def known(node: Node) -> bool:
        return 7 in log_of(node).producers.producers

    clocked.do(append)
    clocked.pass_ms(600_000)
    clocked.until(known)
    clocked.pass_ms(86_400_000)
    clocked.until(lambda node: not known(node))
