"""Segments go when they are due and not before, by the clock of the node; their files later."""

from __future__ import annotations

from dataclasses import replace

from barnabas.broker.node import Node
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse, DeleteTopicState
from barnabas.storage.log import Log
from barnabas.storage.topic_config import TopicConfig
from tests.broker.moved_clock import NOW
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import create, fetch, produce

from .conftest import Clocked

HOUR_MS = 3_600_000
GRACE_MS = 300_000
DELAY_MS = 60_000


def log_of(node: Node, partition: int = 0) -> Log:
    return node.partition("orders", partition).log


def start_of(clocked: Clocked) -> int:
    return clocked.do(lambda node: log_of(node).start_offset)


def small_segments(**configs: str) -> dict[str, str]:
    return {"internal.segment.bytes": "300", **configs}


def test_a_segment_goes_at_the_moment_it_becomes_due(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW)
        produce(client, bytes(150), timestamp=NOW + 1000)
        clocked.pass_ms(HOUR_MS)
        assert fetch(client, 0)
        clocked.pass_ms(1)
        clocked.until(lambda node: log_of(node).start_offset == 1)
        assert fetch(client, 1)
        clocked.pass_ms(1000)
        clocked.until(lambda node: log_of(node).start_offset == 2)
    assert any("orders-0: a segment deleted" in line for line in clocked.lines)


def test_files_go_after_the_delay_and_not_before(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW)
    clocked.pass_ms(HOUR_MS + 1)
    clocked.until(lambda node: log_of(node).start_offset == 1)
    deleted = f"{0:020d}.log.deleted"
    clocked.pass_ms(DELAY_MS - 1)
    assert deleted in clocked.names()
    clocked.pass_ms(1)
    clocked.until(lambda node: deleted not in clocked.names())
    clocked.until(lambda node: node.housekeeping.removal.waiting == 0)
    assert not [name for name in clocked.names() if name.endswith(".deleted")]


def test_records_of_last_year_are_kept_for_a_while(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW - 365 * 24 * HOUR_MS)
        clocked.pass_ms(GRACE_MS - 1)
        assert fetch(client, 0)
        clocked.pass_ms(1)
        clocked.until(lambda node: log_of(node).start_offset == 1)


def test_a_log_that_grows_too_large_loses_its_first_segments(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_bytes="600", retention_ms="-1"))
        for number in range(10):
            produce(client, bytes(150), timestamp=NOW)
            clocked.until(lambda node: log_of(node).size - log_of(node).segments[0].size < 600)
            assert clocked.do(lambda node: log_of(node).size) >= min(600, 200 * number)
        assert start_of(clocked) > 0


def test_a_shorter_retention_holds_at_once(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW)
        clocked.pass_ms(1000)

        def shorten(node: Node) -> None:
            partition = node.partition("orders", 0)
            partition.log.configure(_with_retention(partition.log, 500))
            node.housekeeping.configured(partition)

        clocked.do(shorten)
        clocked.until(lambda node: log_of(node).start_offset == 1)


def _with_retention(log: Log, retention_ms: int) -> TopicConfig:
    return replace(log.config, retention_ms=retention_ms)


def test_deleted_records_take_their_segments_with_them(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms="-1"))
        for _ in range(5):
            produce(client, bytes(150), timestamp=NOW)
        clocked.do(lambda node: node.partition("orders", 0).delete_records(3))
        clocked.until(lambda node: len(log_of(node).segments) == 2)
        assert start_of(clocked) == 3
        clocked.pass_ms(DELAY_MS)
        clocked.until(lambda node: f"{0:020d}.log.deleted" not in clocked.names())


def test_what_the_high_watermark_has_not_passed_stays(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW)
        clocked.do(lambda node: setattr(node.partition("orders", 0).high_watermark, "offset", 0))
        clocked.pass_ms(HOUR_MS + 1)
        clocked.pass_ms(GRACE_MS)
        assert start_of(clocked) == 0
        clocked.do(lambda node: setattr(node.partition("orders", 0).high_watermark, "offset", 1))
        clocked.pass_ms(GRACE_MS)
        clocked.until(lambda node: log_of(node).start_offset == 1)


def test_after_a_start_nothing_goes_for_a_while(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        produce(client, bytes(150), timestamp=NOW)
    clocked.stop()
    clocked.clock.advance(2 * HOUR_MS)
    clocked.start()
    clocked.pass_ms(29_999)
    assert start_of(clocked) == 0
    clocked.pass_ms(1)
    clocked.until(lambda node: log_of(node).start_offset == 1)


def test_many_segments_go_a_few_at_a_time(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, configs=small_segments(retention_ms=str(HOUR_MS)))
        for _ in range(80):
            produce(client, bytes(150), timestamp=NOW)
    clocked.pass_ms(HOUR_MS + 1)
    clocked.until(lambda node: log_of(node).start_offset == 80)
    assert sum("32 segments deleted" in line for line in clocked.lines) == 2


def delete_topic(node: RunningNode) -> None:
    with node.client() as client:
        request = DeleteTopicsRequest(topics=[DeleteTopicState(name="orders")], timeout_ms=5000)
        (answer,) = client.ask(request, 6, DeleteTopicsResponse).responses
        assert answer.error_code == 0


def test_a_deleted_topic_leaves_the_disk_after_the_delay(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client, partitions=3)
    delete_topic(clocked)
    assert len(list(clocked.directory.glob("orders-*-delete"))) == 3
    clocked.pass_ms(DELAY_MS - 1)
    assert len(list(clocked.directory.glob("orders-*-delete"))) == 3
    clocked.pass_ms(1)
    clocked.until(lambda node: not list(clocked.directory.glob("orders-*")))
    clocked.until(lambda node: not node.directories.online[0].doomed)


def test_what_the_last_run_left_goes_at_the_start(clocked: Clocked) -> None:
    with clocked.client() as client:
        create(client)
    delete_topic(clocked)
    clocked.restart()
    clocked.until(lambda node: not list(clocked.directory.glob("orders-*")))
