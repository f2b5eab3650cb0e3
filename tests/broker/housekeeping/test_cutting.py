"""Logs that are cut to what their leaders have: their recovery points are in the file before anything is appended."""

from __future__ import annotations

import errno
from dataclasses import replace
from pathlib import Path

import pytest

from barnabas.broker.node import Node
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.record import Record
from barnabas.replication.partition import Partition
from barnabas.storage.checkpoints import RECOVERY_POINT_OFFSET_CHECKPOINT, read_offsets
from barnabas.storage.disk import SystemDisk
from tests.broker.moved_clock import NOW, MovedClock
from tests.broker.running import RunningNode
from tests.broker.test_produce_and_fetch import create, produce

from .test_compaction import put

ELSEWHERE = 9


class FullDisk(SystemDisk):
    is_full = False
    written = 0
    """How often recovery points have been."""

    def replace_file(self, path: Path, data: bytes) -> None:
        if path.name == RECOVERY_POINT_OFFSET_CHECKPOINT:
            if self.is_full:
                raise OSError(errno.ENOSPC, "No space left on device", str(path))
            self.written += 1
        super().replace_file(path, data)


def running(directory: Path, disk: FullDisk) -> RunningNode:
    return RunningNode(directory, clock=MovedClock(), disk=disk)


def filled(node: RunningNode) -> None:
    """Eight segments of a record each; the first seven are synced."""
    with node.client() as client:
        create(client, configs={"internal.segment.bytes": "300", "retention_ms": "-1"})
        for _ in range(8):
            produce(client, bytes(150), timestamp=NOW)
    node.until(lambda node: of(node).log.recovery_point == 7)


def of(node: Node) -> Partition:
    return node.partition("orders", 0)


def written(node: RunningNode) -> int:
    return read_offsets(SystemDisk(), node.directory / RECOVERY_POINT_OFFSET_CHECKPOINT)["orders", 0]


def follow(node: Node) -> None:
    of(node).follow(ELSEWHERE, of(node).leader_epoch + 1)


def batch(value: bytes) -> Batch:
    return Batch(build_batch([Record(value=value, timestamp=NOW)]))


async def cut(node: Node, offset: int) -> None:
    partition = of(node)
    if partition.leads:
        partition.follow(ELSEWHERE, partition.leader_epoch + 1)
    async with node.housekeeping.cutting.around([partition]):
        partition.cut_to(offset, NOW)


def test_a_recovery_point_that_the_cut_takes_back_is_written_with_it(tmp_path: Path) -> None:
    disk = FullDisk()
    with running(tmp_path / "data", disk) as node:
        filled(node)
        before = disk.written
        # Behind it nothing has to be written.
        node.carry_out(lambda node: cut(node, 7))
        assert disk.written == before
        node.carry_out(lambda node: cut(node, 4))
        assert (disk.written, written(node)) == (before + 1, 4)
        # Segments that were cut off wait to be removed.
        node.until(lambda node: not of(node).log.removed)


def test_where_it_cannot_be_written_the_cut_is_not_safe_until_it_is(tmp_path: Path) -> None:
    disk = FullDisk()
    with running(tmp_path / "data", disk) as node:
        filled(node)
        disk.is_full = True
        for _ in range(2):
            with pytest.raises(KafkaError, match="No space left"):
                node.carry_out(lambda node: cut(node, 3))
        assert node.do(lambda node: of(node).log.end_offset) == 3
        disk.is_full = False
        node.carry_out(lambda node: cut(node, 3))
        assert written(node) == 3
        assert node.do(lambda node: not node.directories.offline)


def test_who_leads_before_the_cut_is_written_writes_it_before_he_appends(tmp_path: Path) -> None:
    """The others that are cut with it may take their time, or the disk may have been full."""
    disk = FullDisk()
    with running(tmp_path / "data", disk) as node:
        filled(node)
        node.do(follow)
        state = node.do(lambda node: node.image.topics.by_name["orders"].partitions[0])

        async def lead_amid_cuts(inside: Node) -> None:
            partition = of(inside)
            async with inside.housekeeping.cutting.around([partition]):
                partition.cut_to(3, NOW)
                partition.lead(replace(state, leader_epoch=partition.leader_epoch + 1))
                disk.is_full = True
                with pytest.raises(KafkaError, match="No space left"):
                    partition.append([batch(b"refused")], NOW)
                disk.is_full = False
                assert partition.append([batch(b"taken")], NOW).first_offset == 3
                assert written(node) == 3

        before = disk.written
        node.carry_out(lead_amid_cuts)
        assert disk.written == before + 1


def test_who_follows_another_before_the_cut_is_written_writes_it_before_he_appends(tmp_path: Path) -> None:
    disk = FullDisk()
    with running(tmp_path / "data", disk) as node:
        filled(node)
        disk.is_full = True
        with pytest.raises(KafkaError, match="No space left"):
            node.carry_out(lambda node: cut(node, 3))
        node.do(follow)
        records = build_batch([Record(value=b"another's", timestamp=NOW)], base_offset=3)
        with pytest.raises(KafkaError, match="No space left"):
            node.do(lambda node: of(node).append_from_leader(records, NOW))
        disk.is_full = False
        node.do(lambda node: of(node).append_from_leader(records, NOW))
        assert (written(node), node.do(lambda node: of(node).log.end_offset)) == (3, 4)


def test_nobody_compacts_a_log_while_it_is_cut(tmp_path: Path) -> None:
    with running(tmp_path / "data", FullDisk()) as node:
        with node.client() as client:
            create(client, configs={"cleanup.policy": "compact"})
            for number in range(4):
                put(client, b"%d" % number, b"value")
        told: list[str] = []

        async def look(node: Node) -> None:
            partition = of(node)
            compaction = node.housekeeping.compaction
            assert compaction is not None
            partition.follow(ELSEWHERE, partition.leader_epoch + 1)
            async with node.housekeeping.cutting.around([partition]):
                partition.cut_to(2, NOW)
                told.append(compaction.explain(partition.name))
            told.append(compaction.explain(partition.name))

        node.carry_out(look)
        assert "paused" in told[0]
        assert "paused" not in told[1]
