"""Directories that fail under a running node: their partitions go, the controller knows, all others go on; without the
metadata's directory the node stops and says why. A disk that is full comes back by itself."""

from __future__ import annotations

import errno
import subprocess
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from barnabas.broker.node import Node, NodeFailed
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic, MetadataResponse
from barnabas.storage.log_directory import TopicPartition
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import create, fetch, produce
from tests.kafka.client import RawClient

from .breaking_disk import BreakingDisk
from .held_disk import HeldDisk
from .test_retention import delete_topic

PARTITIONS = 4


class TwoDisks(RunningNode):
    """The metadata lies on the first one."""

    def __init__(self, root: Path, **settings: str) -> None:
        self.disk: BreakingDisk = BreakingDisk()
        self.first, self.second = root / "a", root / "b"
        super().__init__(root, disk=self.disk)
        self.settings = {"log.dirs": f"{self.first},{self.second}", **settings}

    def where(self) -> dict[int, Path]:
        def look(node: Node) -> dict[int, Path]:
            found = {}
            for number in range(PARTITIONS):
                replica = node.directories.find(TopicPartition("orders", number))
                if replica is not None:
                    found[number] = replica.directory.path
            return found

        return self.do(look)


@pytest.fixture
def disks(tmp_path: Path) -> Iterator[TwoDisks]:
    with TwoDisks(tmp_path) as running:
        with running.client() as client:
            create(client, partitions=PARTITIONS)
            for number in range(PARTITIONS):
                assert not produce(client, b"before", partition=number).error_code
        running.until(lambda node: all(_directory_of(node, number) for number in range(PARTITIONS)))
        yield running


def _directory_of(node: Node, number: int) -> bool:
    """Whether the controller knows it."""
    state = node.image.topics.by_name["orders"].partitions[number]
    assert node.directories.online
    known = [each.meta.directory_id for each in node.directories.online if each.meta]
    return state.directory(node.node_id) in known


def leaders(client: RawClient) -> dict[int, int]:
    request = MetadataRequest(topics=[MetadataRequestTopic(name="orders")])
    (topic,) = client.ask(request, 12, MetadataResponse).topics
    return {one.partition_index: one.leader_id for one in topic.partitions}


def fetch_error(client: RawClient, number: int) -> int:
    partition = FetchPartition(partition=number, fetch_offset=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic="orders", partitions=[partition])]
    request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics, session_epoch=-1)
    return client.ask(request, 12, FetchResponse).responses[0].partitions[0].error_code


def test_partitions_are_spread_and_the_controller_knows_where(disks: TwoDisks) -> None:
    places = list(disks.where().values())
    assert sorted(places.count(path) for path in (disks.first, disks.second)) == [2, 2]


def test_a_directory_that_cannot_be_written_to_goes_alone(disks: TwoDisks) -> None:
    places = disks.where()
    lost = [number for number, path in places.items() if path == disks.second]
    kept = [number for number, path in places.items() if path == disks.first]
    disks.disk.break_at(disks.second, "write")
    with disks.client() as client:
        assert produce(client, b"a", partition=lost[0]).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert produce(client, b"a", partition=lost[1]).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert fetch_error(client, lost[1]) == ErrorCode.KAFKA_STORAGE_ERROR
        assert not produce(client, b"a", partition=kept[0]).error_code
        assert fetch_error(client, kept[0]) == 0
        disks.until(lambda node: node.leader_of("orders", lost[1])[0] == -1)
        assert leaders(client) == {number: 1 if number in kept else -1 for number in range(PARTITIONS)}
    assert sum(f"log directory {disks.second} is offline" in line for line in disks.lines) == 1
    disks.disk.broken.clear()
    disks.restart()
    with disks.client() as client:
        for number in range(PARTITIONS):
            assert produce(client, b"after", partition=number).base_offset == (2 if number == kept[0] else 1)


def test_a_new_topic_goes_to_the_directory_that_is_left(disks: TwoDisks) -> None:
    lost = next(number for number, path in disks.where().items() if path == disks.second)
    disks.disk.break_at(disks.second, "write")
    with disks.client() as client:
        assert produce(client, b"a", partition=lost).error_code
        create(client, "others", partitions=3)
    assert len(list(disks.first.glob("others-*"))) == 3


def test_a_directory_whose_sync_fails_goes(tmp_path: Path) -> None:
    with TwoDisks(tmp_path, **{"barnabas.durability": "fsync"}) as disks:
        with disks.client() as client:
            create(client, partitions=PARTITIONS)
            number = next(number for number, path in disks.where().items() if path == disks.second)
            disks.disk.break_at(disks.second, "sync")
            assert produce(client, b"a", partition=number).error_code == ErrorCode.KAFKA_STORAGE_ERROR
        assert disks.second in disks.do(lambda node: node.directories.offline)


def test_a_directory_whose_checkpoint_fails_goes(tmp_path: Path) -> None:
    with TwoDisks(tmp_path, **{"replica.high.watermark.checkpoint.interval.ms": "10"}) as disks:
        disks.disk.break_at(disks.second, "write")
        with disks.client() as client:
            create(client, partitions=PARTITIONS)
        disks.until(lambda node: disks.second in node.directories.offline)


def test_without_the_metadata_the_node_stops(disks: TwoDisks) -> None:
    disks.disk.break_at(disks.first, "sync", "write")
    with disks.client() as client, suppress(AssertionError, ConnectionError):
        create(client, "others")
    with pytest.raises(NodeFailed, match="the directory of the metadata log has failed") as failed:
        disks.stop()
    assert failed.value.exit_code == 1
    assert (disks.second / ".kafka_cleanshutdown").exists()
    assert not (disks.first / ".kafka_cleanshutdown").exists()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    directory = tmp_path / "small"
    directory.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=4m", "none", str(directory)]
    if subprocess.run(command, capture_output=True, check=False).returncode:
        pytest.skip("this user may not mount a file system")
    yield directory
    subprocess.run(["umount", "-l", str(directory)], check=True)


def test_a_full_disk_refuses_and_takes_again(small_disk: Path) -> None:
    (small_disk / "lost+found").mkdir()
    with RunningNode(small_disk, replica_high_watermark_checkpoint_interval_ms="5") as running:
        with running.client() as client:
            create(client)
            codes = []
            while ErrorCode.KAFKA_STORAGE_ERROR not in codes:
                codes.append(produce(client, bytes(300_000)).error_code)
                assert len(codes) < 100
            accepted = len(codes) - 1
            assert set(codes) == {0, ErrorCode.KAFKA_STORAGE_ERROR}
            assert produce(client, bytes(300_000)).error_code == ErrorCode.KAFKA_STORAGE_ERROR
            assert fetch(client, accepted - 1) == [(accepted - 1, bytes(300_000))]
            subprocess.run(["mount", "-o", "remount,size=8m", str(small_disk)], check=True)
            assert produce(client, bytes(300_000)).base_offset == accepted
        running.restart()
        with running.client() as client:
            assert produce(client, b"more").base_offset == accepted + 1


def test_a_topic_that_is_deleted_while_it_is_flushed_is_no_failure_of_its_disk(tmp_path: Path) -> None:
    disk = HeldDisk()
    with RunningNode(tmp_path / "data", disk=disk) as node:
        with node.client() as client:
            create(client, configs={"internal.segment.bytes": "300", "retention.ms": "-1"})
            disk.hold("orders-0")
            for _ in range(3):
                assert not produce(client, bytes(150)).error_code
            disk.wait_for()
            delete_topic(node)
            disk.release()
            create(client, configs={"retention.ms": "-1"})
            assert not produce(client, b"new").error_code
            assert fetch(client, 0) == [(0, b"new")]
        node.until(lambda running: not running.housekeeping.flushing.is_busy)
        assert not node.do(lambda running: running.directories.offline)


def test_metadata_that_cannot_be_written_at_the_start_end_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the start waits for does not come."""

    def broken(_work: object, _prepare: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr("barnabas.broker.controller._sync_and_prepare", broken)
    with pytest.raises(NodeFailed, match="the directory of the metadata log has failed"):
        RunningNode(tmp_path / "data").start()
