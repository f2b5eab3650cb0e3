"""Power cuts while a node opens its log directory, makes partitions, writes checkpoints, and stops.

Three logs are in it: what was synced is there after a cut at any operation, and after a stop that left its marker, all.
Nobody writes to the third, which may be gone: the metadata makes it again.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from barnabas.protocol.schema import Uuid
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition
from barnabas.storage.meta_properties import MetaProperties

from .faulty_disk import FaultyDisk, everything, nothing, random_part
from .test_durability import CONFIG, SEED, State, check_whole, ends_of_segments, sync, visible
from .test_log import NOW, append

THOROUGH = os.environ.get("BARNABAS_THOROUGH") == "1"
PATH = Path("/data/logs")
ORDERS, CLICKS, EMPTY = TopicPartition("orders", 0), TopicPartition("clicks", 3), TopicPartition("empty", 0)
TOPIC_IDS = {ORDERS: Uuid(range(16)), CLICKS: Uuid(range(1, 17)), EMPTY: Uuid(range(3, 19))}
META = MetaProperties.fresh("cluster", 1, Uuid(range(2, 18)))


def unheard(_line: str) -> None:
    """Nobody asks what was mended."""


class Node:
    """What a node does with its directory, and what of it has to be there."""

    def __init__(self, disk: FaultyDisk) -> None:
        self.disk = disk
        self.certain: dict[TopicPartition, State] = {}
        self.whole: dict[TopicPartition, State] = {}
        self.floors: dict[TopicPartition, int] = {}
        """Records below were deleted, and the new start may not be safe yet."""
        self.high_watermarks: dict[TopicPartition, int] = {}
        self.count = 0

    def start(self) -> None:
        self.directory = LogDirectory(self.disk, PATH, holder="this node", report=unheard)
        for partition in list(self.directory.waiting):
            self.directory.load(partition, CONFIG, NOW)

    def create(self, partition: TopicPartition) -> None:
        """The metadata has it: it need not be here after a power cut before something in it is certain."""
        self.whole[partition] = {}
        self.directory.create(partition, TOPIC_IDS[partition], CONFIG, NOW)

    def append(self, partition: TopicPartition, count: int) -> None:
        log = self.directory.logs[partition]
        for _ in range(count):
            self.count += 1
            value = b"%04d" % self.count * 12
            self.whole[partition] = {**self.whole[partition], log.end_offset: value}
            append(log, value)

    def sync(self, partition: TopicPartition) -> None:
        sync(self.directory.logs[partition])
        self.certain[partition] = self.whole[partition]

    def delete_records(self, partition: TopicPartition, offset: int) -> None:
        self.floors[partition] = offset
        self.directory.logs[partition].advance_start(offset)

    def write_checkpoints(self) -> None:
        self.high_watermarks = {key: log.end_offset for key, log in self.directory.logs.items()}
        self.directory.write_checkpoints(self.high_watermarks)

    def stop(self) -> None:
        self.high_watermarks = {key: log.end_offset for key, log in self.directory.logs.items()}
        self.directory.close(self.high_watermarks, broker_epoch=7)
        self.certain = {partition: state for partition, state in self.whole.items() if partition is not EMPTY}

    def run(self) -> None:
        self.start()
        self.directory.format(META)
        self.create(ORDERS)
        self.append(ORDERS, 9)
        self.sync(ORDERS)
        self.write_checkpoints()
        self.create(CLICKS)
        self.create(EMPTY)
        self.append(CLICKS, 3)
        self.append(ORDERS, 6)
        self.delete_records(ORDERS, 4)
        self.sync(CLICKS)
        self.write_checkpoints()
        self.append(CLICKS, 5)
        self.stop()
        self.start()
        self.append(ORDERS, 2)
        self.sync(ORDERS)
        self.delete_records(CLICKS, 8)
        self.append(CLICKS, 1)
        self.stop()
        assert {change.path.parent for change in self.disk.unsafe()} <= {PATH / str(EMPTY)}


class Judge:
    def __init__(self, node: Node) -> None:
        self.node = node
        self.seen: set[tuple[int, str]] = set()
        self.clean = 0

    def examine(self, image: FaultyDisk) -> None:
        key = (image.fingerprint(), repr((self.node.certain, self.node.whole, self.node.floors)))
        if key in self.seen:
            return
        self.seen.add(key)
        node = self.node
        found = LogDirectory(image, PATH, holder="the next node", report=unheard)
        assert node.certain.keys() <= found.waiting.keys() <= node.whole.keys()
        assert found.meta == META or not node.whole
        for partition in list(found.waiting):
            if found.read_topic_id(partition) is None:
                assert partition not in node.certain
                del found.waiting[partition]  # a stray
                continue
            log = found.load(partition, CONFIG, NOW)
            assert found.topic_ids[partition] == TOPIC_IDS[partition]
            self.judge(partition, log, clean=found.was_clean)
            assert found.high_watermarks.get(partition, 0) <= node.high_watermarks.get(partition, 0)
        self.clean += found.was_clean
        # And it can be left cleanly.
        found.close({})
        again = LogDirectory(image.crashed(nothing), PATH, holder="one more", report=unheard)
        assert again.was_clean
        for partition, log in found.logs.items():
            if partition == EMPTY and partition not in again.waiting:
                continue
            assert visible(again.load(partition, CONFIG, NOW)) == visible(log)

    def judge(self, partition: TopicPartition, log: Log, *, clean: bool) -> None:
        floor = self.node.floors.get(partition, 0)
        whole, certain = (
            {at: value for at, value in state.items() if at >= max(floor, log.start_offset)}
            for state in (self.node.whole[partition], self.node.certain.get(partition, {}))
        )
        found = {at: value for at, value in visible(log).items() if at >= floor}
        assert log.start_offset <= floor
        if clean:
            assert found == whole
        assert certain.items() <= found.items() <= whole.items()
        assert ends_of_segments(log, whole, found)
        check_whole(log, floor)


@pytest.mark.slow
@pytest.mark.parametrize("part", range(2))
def test_power_cuts_at_every_operation_of_a_node(part: int) -> None:
    disk = FaultyDisk()
    disk.make_directory(PATH)
    disk.sync_directory(Path("/"))
    disk.sync_directory(PATH.parent)
    node = Node(disk)
    judge = Judge(node)
    seeds = 10 if THOROUGH else 1
    calls = 0

    def around(when: str, kind: str, path: Path) -> None:
        nonlocal calls
        calls += 1
        keeps = [("nothing", nothing), ("everything", everything)] if part == 0 else []
        keeps += [
            (f"random_part({part} {calls} {seed})", random_part(f"{part} {calls} {seed}"))
            for seed in range(SEED, SEED + seeds)
        ]
        for name, keep in keeps:
            try:
                judge.examine(disk.crashed(keep))
            except BaseException as error:
                error.add_note(f"call {calls}, {when} {kind} of {path.name}, {name}")
                raise

    disk.before = lambda kind, path: around("before", kind, path)
    disk.after = lambda kind, path: around("after", kind, path)
    node.run()
    print(f"{calls} crash points, {len(judge.seen)} different disks, {judge.clean} of them left cleanly")
    assert calls > 300
    assert judge.clean
