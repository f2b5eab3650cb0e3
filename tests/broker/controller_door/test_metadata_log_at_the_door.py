"""The metadata log as somebody reads it who follows the controller: all of it, as it grows, and from a snapshot on."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.cluster.snapshot_file import decode_snapshot
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.messages.fetch import FetchRequest, FetchResponse, PartitionData
from barnabas.protocol.messages.fetch_snapshot import FetchSnapshotResponse
from tests.broker.asking import create
from tests.broker.controller_door.door import ControllerNode, quorum
from tests.broker.controller_door.metadata_requests import fetch_of, snapshot_of
from tests.broker.twins import fitted
from tests.kafka.client import RawClient

LONG_MS = 20_000


def following(offset: int, last_epoch: int, **fields: Any) -> FetchRequest:
    request = fitted(fetch_of(offset, last_epoch, **fields), 18)
    assert isinstance(request, FetchRequest)
    return request


def fetched(door: RawClient, offset: int, last_epoch: int, **fields: Any) -> PartitionData:
    answer = door.ask(following(offset, last_epoch, **fields), 18, FetchResponse)
    assert answer.error_code == 0
    return answer.responses[0].partitions[0]


def read(records: Any) -> bytes:
    return bytes(records or b"")


def batches_of(data: PartitionData) -> list[Batch]:
    return list(iterate_batches(read(data.records)))


def read_log(door: RawClient, *, epoch: int, max_bytes: int) -> Iterator[Batch]:
    """Batch by batch, to the end."""
    offset, last_epoch = 0, 0
    while True:
        data = fetched(door, offset, last_epoch, epoch=epoch, max_bytes=max_bytes)
        batches = batches_of(data)
        if not batches:
            assert offset == data.high_watermark
            return
        for batch in batches:
            assert batch.base_offset == offset
            offset, last_epoch = batch.next_offset, batch.partition_leader_epoch
            yield batch


@pytest.mark.parametrize("max_bytes", [1, 1 << 20])
def test_who_reads_all_of_it_knows_what_the_node_knows(
    controller_node: ControllerNode, door: RawClient, max_bytes: int
) -> None:
    for number in range(5):
        create(door, f"topic-{number}", 2)
    image = ClusterImage()
    for batch in read_log(door, epoch=1, max_bytes=max_bytes):
        if not batch.control:
            image.apply_batch(read_metadata_batch(batch), batch.base_offset)
    assert len(image.topics) == 5
    assert controller_node.do(lambda node: node.image == image)


def test_who_has_everything_waits_for_more(controller_node: ControllerNode, door: RawClient) -> None:
    end = quorum(door).high_watermark
    with controller_node.controller() as reader:
        began = time.monotonic()
        reader.send(following(end, 1, epoch=1, wait_ms=LONG_MS, high_watermark=end), 18)
        create(door, "orders")
        answer = reader.receive(FetchResponse).responses[0].partitions[0]
        assert time.monotonic() - began < LONG_MS / 2_000
        assert [batch.base_offset for batch in batches_of(answer)] == [end]
        assert answer.high_watermark > end
        nothing = fetched(reader, answer.high_watermark, 1, epoch=1, wait_ms=1, high_watermark=answer.high_watermark)
        assert not nothing.records
        # Who does not know yet that it is committed does not wait.
        fetched(reader, answer.high_watermark, 1, epoch=1, wait_ms=LONG_MS, high_watermark=end)
        assert time.monotonic() - began < LONG_MS / 2_000


def test_nobody_waits_for_whom_the_connection_has_left(controller_node: ControllerNode, door: RawClient) -> None:
    end = quorum(door).high_watermark
    with controller_node.controller() as reader:
        reader.send(following(end, 1, epoch=1, wait_ms=LONG_MS, high_watermark=end), 18)
        controller_node.until(lambda node: "1 wait" in repr(node.controller.committed))
    controller_node.until(lambda node: "0 wait" in repr(node.controller.committed))


def test_a_stop_does_not_wait_for_who_waits(controller_node: ControllerNode, door: RawClient) -> None:
    end = quorum(door).high_watermark
    door.send(following(end, 1, epoch=1, wait_ms=LONG_MS, high_watermark=end), 18)
    controller_node.until(lambda node: "1 wait" in repr(node.controller.committed))
    began = time.monotonic()
    controller_node.stop()
    assert time.monotonic() - began < LONG_MS / 4_000
    assert not [line for line in controller_node.lines if "Traceback" in line]


def test_what_is_no_more_in_the_log_is_in_a_snapshot(tmp_path: Path) -> None:
    with ControllerNode(tmp_path / "data", metadata_max_retention_bytes="0") as node, node.controller() as door:
        for number in range(20):
            create(door, f"before-{number}")
        node.carry_out(lambda running: running.metadata_upkeep.take_snapshot())
        create(door, "between")
        node.carry_out(lambda running: running.metadata_upkeep.take_snapshot())
        node.carry_out(lambda running: running.metadata_upkeep.clean())
        create(door, "after")
        start = node.do(lambda running: running.journal.log.start_offset)
        assert start > 20
        for offset in (0, 5, start - 1):
            told = fetched(door, offset, 1 if offset else 0, epoch=1)
            assert not told.records
            assert told.snapshot_id is not None
            assert told.snapshot_id.end_offset == start
            assert told.log_start_offset == start
        data = b""
        while True:
            request = snapshot_of(start, 1, epoch=1, position=len(data), max_bytes=700)
            (piece,) = door.ask(request, 1, FetchSnapshotResponse).topics[0].partitions
            assert piece.error_code == 0
            data += read(piece.unaligned_records)
            if len(data) == piece.size:
                break
        assert data == (tmp_path / "data/__cluster_metadata-0" / f"{start:020d}-{1:010d}.checkpoint").read_bytes()
        image = ClusterImage()
        image.apply_batch(decode_snapshot(data).records, 0)
        assert len(image.topics) == 21
        (rest,) = batches_of(fetched(door, start, 1, epoch=1))
        image.apply_batch(read_metadata_batch(rest), rest.base_offset)
        assert node.do(lambda running: running.image == image)


def test_who_has_what_the_leader_lost_is_told_where_they_part(controller_node: ControllerNode) -> None:
    with controller_node.controller() as door:
        create(door, "orders")
        end = quorum(door).high_watermark
    controller_node.kill()
    controller_node.start()
    with controller_node.controller() as door:
        assert quorum(door).leader_epoch == 2
        told = fetched(door, end + 50, 1, epoch=2)
        assert told.diverging_epoch is not None
        assert (told.diverging_epoch.epoch, told.diverging_epoch.end_offset) == (1, end)
        assert fetched(door, end, 1, epoch=2).records


def test_life_is_shown_to_those_who_follow_and_to_nobody_else(tmp_path: Path) -> None:
    with ControllerNode(tmp_path / "data", metadata_max_idle_interval_ms="10") as node, node.controller() as door:
        before = node.do(lambda running: running.metadata_leader.high_watermark.offset)
        create(door, "orders")
        end = quorum(door).high_watermark
        assert end == before + 2, "a topic and its partition"
        for _ in range(3):
            told = fetched(door, end, 1, epoch=1, wait_ms=LONG_MS, high_watermark=end)
            (batch,) = batches_of(told)
            assert [type(record.message).__name__ for record in read_metadata_batch(batch)] == ["NoOpRecord"]
            end = batch.next_offset
        assert node.do(lambda running: running.metadata_leader.observers.heard_of_since(0))
