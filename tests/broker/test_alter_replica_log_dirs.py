"""A log moves to another directory while it is written to, and nothing of it is lost."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
import trio
import trio.testing

from barnabas.broker import replica_moves
from barnabas.broker.node import Node
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.describe_log_dirs import DescribeLogDirsRequest, DescribeLogDirsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.record import read_records
from tests.kafka.client import RawClient

from .asking import BROKER, create, produce, receive, send, set_config
from .housekeeping.held_disk import HeldDisk
from .running import RunningNode

PATIENCE_S = 10.0
LATEST = 5


@pytest.fixture(params=["kafka", "fsync"])
def node(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[RunningNode]:
    settings = {"log_dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}", "barnabas_durability": request.param}
    with RunningNode(tmp_path, **settings) as running:
        yield running


def places(client: RawClient) -> dict[str, list[tuple[str, int, bool]]]:
    """What lies in which directory, and whether it is a copy."""
    answer = client.ask(DescribeLogDirsRequest(topics=None), LATEST, DescribeLogDirsResponse)
    return {
        Path(one.log_dir).name: sorted(
            (topic.name, each.partition_index, each.is_future_key) for topic in one.topics for each in topic.partitions
        )
        for one in answer.results
    }


def move(client: RawClient, path: str, topic: str = "orders") -> int:
    directory = AlterReplicaLogDir(path=path, topics=[AlterReplicaLogDirTopic(name=topic, partitions=[0])])
    answer = client.ask(AlterReplicaLogDirsRequest(dirs=[directory]), 2, AlterReplicaLogDirsResponse)
    return answer.results[0].partitions[0].error_code


def until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < deadline


def values(client: RawClient, topic: str = "orders") -> list[bytes | None]:
    found: list[bytes | None] = []
    while True:
        partition = FetchPartition(partition=0, fetch_offset=len(found), partition_max_bytes=1 << 24)
        request = FetchRequest(
            max_wait_ms=0, min_bytes=0, topics=[FetchTopic(topic=topic, partitions=[partition])], session_epoch=-1
        )
        (answer,) = client.ask(request, 12, FetchResponse).responses[0].partitions
        assert answer.error_code == 0
        records = [
            record.value
            for batch in iterate_batches(answer.records or b"")  # type: ignore[arg-type] # it came over a socket
            for record in read_records(batch)
        ]
        if not records:
            return found
        found += records


def other(client: RawClient) -> str:
    return "b" if ("orders", 0, False) in places(client)["a"] else "a"


def test_a_log_moves_while_it_is_written_to(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders")
        written = [b"%d" % number + bytes(20_000) for number in range(100)]
        for value in written:
            produce(client, "orders", value)
        target = other(client)
        assert move(client, str(node.directory / target)) == 0
        while places(client)[target] != [("orders", 0, False)]:
            written.append(b"more %d" % len(written))
            produce(client, "orders", written[-1])
        for _ in range(3):
            written.append(b"after")
            assert produce(client, "orders", b"after") == len(written) - 1
        assert values(client) == written
    node.restart()
    with node.client() as client:
        assert places(client)[target] == [("orders", 0, False)]
        assert values(client) == written


def nobody_copies(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    """From now on, in a node that is started again."""

    async def idle(self: replica_moves.ReplicaMoves) -> None:
        await trio.sleep_forever()

    monkeypatch.setattr(replica_moves.ReplicaMoves, "run", idle)
    node.restart()


def test_a_move_that_a_stop_interrupts_goes_on_afterwards(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_copies(node, monkeypatch)
    with node.client() as client:
        create(client, "orders")
        for number in range(10):
            produce(client, "orders", b"%d" % number)
        target = other(client)
        assert move(client, str(node.directory / target)) == 0
        assert places(client)[target] == [("orders", 0, True)]
        # Said again, it is the same; said otherwise, it is given up.
        assert move(client, str(node.directory / target)) == 0
        assert places(client)[target] == [("orders", 0, True)]
    monkeypatch.undo()
    node.restart()
    with node.client() as client:
        until(lambda: places(client)[target] == [("orders", 0, False)])
        assert values(client) == [b"%d" % number for number in range(10)]


def test_a_move_back_gives_the_copy_up(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_copies(node, monkeypatch)
    with node.client() as client:
        create(client, "orders")
        produce(client, "orders", b"one")
        target = other(client)
        home = "a" if target == "b" else "b"
        assert move(client, str(node.directory / target)) == 0
        assert move(client, str(node.directory / home)) == 0
        assert places(client) == {home: [("orders", 0, False)], target: []}
        assert values(client) == [b"one"]


def test_a_topic_that_is_deleted_takes_its_copy_with_it(node: RunningNode, monkeypatch: pytest.MonkeyPatch) -> None:
    nobody_copies(node, monkeypatch)
    with node.client() as client:
        create(client, "orders")
        target = other(client)
        assert move(client, str(node.directory / target)) == 0
        deletion = DeleteTopicsRequest(topic_names=["orders"], timeout_ms=5_000)
        client.ask(deletion, 4, DeleteTopicsResponse)
        assert places(client) == {"a": [], "b": []}
        create(client, "orders")
        assert sorted(places(client).values()) == [[], [("orders", 0, False)]]


def test_a_partition_that_comes_later_goes_where_it_was_said(node: RunningNode) -> None:
    with node.client() as client:
        code = move(client, str(node.directory / "b"), topic="later")
        assert code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        create(client, "later")
        assert places(client) == {"a": [], "b": [("later", 0, False)]}


def is_known_to_lie(inside: Node, path: Path) -> bool:
    """In this directory, as the metadata has it."""
    state = inside.image.topics.by_name["orders"].partitions[0]
    directory = inside.directories.by_path(path.resolve())
    assert directory is not None
    assert directory.meta is not None
    return state.directory(inside.node_id) == directory.meta.directory_id


def test_the_metadata_learns_where_it_lies(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders")
        target = other(client)
        move(client, str(node.directory / target))
        until(lambda: places(client)[target] == [("orders", 0, False)])
    node.until(lambda inside: is_known_to_lie(inside, node.directory / target))


@pytest.fixture(params=["kafka", "fsync"])
def held(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[tuple[RunningNode, HeldDisk]]:
    """A log of two segments, the first of which has been flushed."""
    disk = HeldDisk()
    settings = {"log_dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}", "barnabas_durability": request.param}
    with RunningNode(tmp_path, disk=disk, **settings) as node:
        with node.client() as client:
            create(client, "orders", internal_segment_bytes="300", retention_ms="-1")
            for _ in range(2):
                produce(client, "orders", bytes(150))
        node.until(lambda inside: inside.partition("orders", 0).log.recovery_point == 1)
        yield node, disk


def test_a_log_that_moves_while_it_is_synced_is_no_failure_of_its_disk(held: tuple[RunningNode, HeldDisk]) -> None:
    """Its files have another name when the thread comes to them."""
    node, disk = held
    with node.client() as client, node.client() as producer:
        # Another segment begins: that before is flushed, and where records wait for the disk, they are synced besides.
        disk.hold("orders-0")
        send(producer, "orders", bytes(150))
        disk.wait_for(2 if node.settings["barnabas.durability"] == "fsync" else 1)
        target = other(client)
        assert move(client, str(node.directory / target)) == 0
        until(lambda: places(client)[target] == [("orders", 0, False)])
        disk.release()
        node.until(lambda inside: not inside.housekeeping.flushing.is_busy)
        assert produce(client, "orders", b"after") == 3
        assert receive(producer) == 2
        assert values(client) == [bytes(150), bytes(150), bytes(150), b"after"]
    assert not node.do(lambda inside: inside.directories.offline)


def test_what_the_metadata_was_told_of_the_old_place_does_not_stay(held: tuple[RunningNode, HeldDisk]) -> None:
    """As at a start, when the node tells where its logs lie and goes on with moves at the same time."""
    node, disk = held
    with node.client() as client:
        target = other(client)
        home = "a" if target == "b" else "b"
        node.until(lambda inside: is_known_to_lie(inside, node.directory / home))
        disk.hold("-future")
        assert move(client, str(node.directory / target)) == 0
        disk.wait_for()
        assert node.do(lambda inside: is_known_to_lie(inside, node.directory / target))
        node.do(lambda inside: inside.housekeeping.assignments.look(inside.partition("orders", 0)))
        node.until(lambda inside: is_known_to_lie(inside, node.directory / home))
        disk.release()
        until(lambda: places(client)[target] == [("orders", 0, False)])
        node.until(lambda inside: is_known_to_lie(inside, node.directory / target))


def test_a_stop_waits_for_the_step_of_a_move(held: tuple[RunningNode, HeldDisk]) -> None:
    """No log may get another name while it is closed."""
    node, disk = held
    with node.client() as client:
        target = other(client)
        disk.hold("-future")
        assert move(client, str(node.directory / target)) == 0
        disk.wait_for()
    ended: list[str] = []

    async def stop(inside: Node) -> None:
        await inside.housekeeping.stop()
        ended.append("duties")

    async def stop_and_release(inside: Node) -> None:
        async with trio.open_nursery() as nursery:
            nursery.start_soon(stop, inside)
            await trio.testing.wait_all_tasks_blocked()
            ended.append("step")
            disk.release()

    node.carry_out(stop_and_release)
    assert ended == ["step", "duties"]
    node.restart()
    with node.client() as client:
        until(lambda: places(client)[target] == [("orders", 0, False)])
        assert values(client) == [bytes(150), bytes(150)]


@pytest.mark.slow
def test_it_moves_no_faster_than_it_may(tmp_path: Path) -> None:
    """Three megabytes at four a second take most of a second, also while others are served."""
    directories = f"{tmp_path / 'a'},{tmp_path / 'b'}"
    with RunningNode(tmp_path, log_dirs=directories) as node, node.client() as client:
        name = "replica.alter.log.dirs.io.max.bytes.per.second"
        assert set_config(client, BROKER, "1", name, "4000000") == 0
        create(client, "orders")
        for _ in range(8):
            produce(client, "orders", bytes(400_000))
        target = other(client)
        began = time.monotonic()
        assert move(client, str(node.directory / target)) == 0
        until(lambda: places(client)[target] == [("orders", 0, False)])
        assert time.monotonic() - began > 0.5


def test_a_compacted_topic_moves(node: RunningNode) -> None:
    with node.client() as client:
        create(client, "orders", cleanup_policy="compact", segment_ms="1", min_cleanable_dirty_ratio="0.01")
        for _ in range(3):
            target = other(client)
            assert move(client, str(node.directory / target)) == 0
            until(lambda target=target: places(client)[target] == [("orders", 0, False)])  # type: ignore[misc]
