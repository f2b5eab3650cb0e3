"""A log that moves to another directory when something happens to the disks: what fails is blamed, and nothing else,
and no copy goes that may be all that is left."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.schema import Uuid
from barnabas.storage.disk import File
from tests.kafka.client import RawClient

from .asking import create, produce
from .housekeeping.breaking_disk import BreakingDisk
from .housekeeping.held_disk import HeldDisk
from .running import RunningNode
from .test_alter_replica_log_dirs import move, places, until, values

COPIED = [("orders", 0, True)]
MOVED = [("orders", 0, False)]
MAGIC_AT = 16


class TroubledDisk(HeldDisk, BreakingDisk):
    """Threads are held before they sync a file, too."""

    def __init__(self) -> None:
        HeldDisk.__init__(self)
        BreakingDisk.__init__(self)

    def open(self, path: Path, *, create: bool = True) -> File:
        return BreakingDisk.open(self, path, create=create)

    def check(self, path: Path, operation: str) -> None:
        if operation == "sync":
            self.wait_if_held(path.parent)
        super().check(path, operation)


class Stage(NamedTuple):
    node: RunningNode
    disk: TroubledDisk
    root: Path

    def offline(self) -> set[str]:
        return self.node.do(lambda inside: {path.name for path in inside.directories.offline})

    def move_and_hold(self, client: RawClient) -> None:
        """To c: all is copied and announced, and a thread waits before it syncs the copy."""
        self.disk.hold("-future")
        assert move(client, str(self.root / "c")) == 0
        self.disk.wait_for()

    def pull_out_b(self) -> None:
        self.node.do(lambda inside: inside.directories.take_offline((self.root / "b").resolve(), "pulled out"))

    def id_of(self, name: str) -> Uuid:
        def look(inside: Node) -> Uuid:
            directory = inside.directories.by_path((self.root / name).resolve())
            assert directory is not None
            return directory.id

        return self.node.do(look)


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Stage]:
    """Metadata in a, a log of two segments in b, of which the first is flushed, and nothing in c."""
    disk = TroubledDisk()
    directories = ",".join(str(tmp_path / name) for name in "abc")
    with RunningNode(tmp_path, disk=disk, log_dirs=directories) as node:
        stage = Stage(node, disk, tmp_path)
        with node.client() as client:
            move(client, str(tmp_path / "b"))
            create(client, "orders", internal_segment_bytes="300", retention_ms="-1")
            for _ in range(2):
                produce(client, "orders", bytes(150))
        node.until(lambda inside: inside.partition("orders", 0).log.recovery_point == 1)
        home = stage.id_of("b")
        node.until(lambda inside: assigned(inside) == home)
        yield stage


def assigned(inside: Node) -> Uuid:
    return inside.image.topics.by_name["orders"].partitions[0].directory(inside.node_id)


def test_a_log_that_cannot_be_read_takes_its_own_directory_with_it(stage: Stage) -> None:
    stage.disk.break_at(stage.root / "b", "read")
    with stage.node.client() as client:
        assert move(client, str(stage.root / "c")) == 0
        stage.node.until(lambda inside: inside.leader_of("orders", 0)[0] == -1)
        assert stage.offline() == {"b"}
    stage.disk.broken.clear()
    stage.node.restart()
    with stage.node.client() as client:
        until(lambda: places(client)["c"] == MOVED)
        assert values(client) == [bytes(150)] * 2


def test_a_copy_outlives_the_disk_of_its_log(stage: Stage) -> None:
    """The metadata has the partition where the copy is already: it has to learn that it was lost with the log."""
    node, disk, _ = stage
    home, target = stage.id_of("b"), stage.id_of("c")
    with node.client() as client:
        stage.move_and_hold(client)
        assert node.do(assigned) == target
        stage.pull_out_b()
        node.until(lambda inside: assigned(inside) == home)
        node.until(lambda inside: inside.leader_of("orders", 0)[0] == -1)
        disk.release()
        assert places(client)["c"] == COPIED
        assert stage.offline() == {"b"}
    node.restart()
    with node.client() as client:
        until(lambda: places(client)["c"] == MOVED)
        assert values(client) == [bytes(150)] * 2


def test_a_copy_that_was_left_goes_with_its_topic(stage: Stage) -> None:
    node, disk, _ = stage
    with node.client() as client:
        stage.move_and_hold(client)
        stage.pull_out_b()
        disk.release()
        node.do(lambda inside: inside.partitions._delete("orders", 0))
        assert places(client)["c"] == []


def test_a_damaged_log_stays_where_it_is(stage: Stage) -> None:
    node, _, root = stage
    with node.client() as client:
        move(client, str(root / "b"), topic="damaged")
        create(client, "damaged")
        for _ in range(2):
            produce(client, "damaged", bytes(150))
        path = root / "b" / "damaged-0" / f"{0:020}.log"
        with path.open("r+b") as segment:
            segment.seek(path.stat().st_size // 2 + MAGIC_AT)
            segment.write(b"\x09")
        assert move(client, str(root / "c"), topic="damaged") == 0
        node.until(lambda _: any("damaged-0 does not move to another directory" in str(line) for line in node.lines))
        assert ("damaged", 0, False) in places(client)["b"]
        assert places(client)["c"] == []
        assert stage.offline() == set()
        assert produce(client, "orders", b"goes on") == 2


def test_a_move_that_goes_elsewhere_while_it_is_synced_is_no_failure_of_a_disk(stage: Stage) -> None:
    node, disk, root = stage
    with node.client() as client:
        stage.move_and_hold(client)
        assert move(client, str(root / "a")) == 0
        disk.release()
        until(lambda: places(client)["a"] == MOVED)
        assert places(client)["c"] == []
        assert stage.offline() == set()
        assert values(client) == [bytes(150)] * 2


def test_a_disk_that_fails_while_its_logs_are_loaded_takes_no_more_with_it(stage: Stage) -> None:
    node, disk, root = stage
    node.kill()
    disk.break_at(root / "b", "read")
    node.start()
    assert stage.offline() == {"b"}
    with node.client() as client:
        create(client, "others")
        assert produce(client, "others", b"goes on") == 0
