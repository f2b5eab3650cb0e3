"""Snapshots while a node runs and when it stops, and what becomes of the old ones."""

from __future__ import annotations

import errno
from pathlib import Path

import pytest
import trio

from barnabas.broker.clock import Clock
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.metadata_upkeep import SETTLED_S, MetadataUpkeep
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.records import cluster_metadata as r
from tests.kafka.client import RawClient
from tests.storage.faulty_disk import FaultyDisk

from .metadata_logs import NOW_MS, Journal
from .running import RunningNode


class FixedClock(Clock):
    now = NOW_MS

    def now_ms(self) -> int:
        return self.now


def upkeep_of(journal: Journal, lines: list[str], **keys: str) -> tuple[MetadataUpkeep, FixedClock]:
    config = NodeConfig.load({name.replace("_", "."): value for name, value in keys.items()})
    clock = FixedClock()
    return MetadataUpkeep(journal.disk, journal.log, journal.image, config, clock, lines.append), clock


@pytest.mark.trio
async def test_half_a_transaction_is_never_in_a_snapshot() -> None:
    journal = Journal(FaultyDisk()).begin()
    upkeep, clock = upkeep_of(journal, [], metadata_log_max_record_bytes_between_snapshots="1")
    assert upkeep.snapshot_due
    journal.append(r.BeginTransactionRecord(name="several"))
    journal.create(1)
    assert not upkeep.snapshot_due
    await upkeep.finish()
    assert len(journal.snapshot_names) == 1
    journal.append(r.EndTransactionRecord())
    assert upkeep.snapshot_due
    await upkeep.take_snapshot()
    assert Journal(journal.disk).topics == [1]
    clock.now += 3_600_001
    assert not upkeep.snapshot_due, "nothing has changed since"
    journal.create(2)
    assert upkeep.snapshot_due


@pytest.mark.trio
async def test_a_short_log_is_left_alone_at_the_stop_and_a_long_one_is_not() -> None:
    journal = Journal(FaultyDisk()).begin()
    upkeep, _ = upkeep_of(journal, [])
    journal.create(1)
    await upkeep.finish()
    assert len(journal.snapshot_names) == 1
    for _ in range(100):
        journal.append(*[r.NoOpRecord()] * 100)
    await upkeep.finish()
    assert len(journal.snapshot_names) == 2
    await upkeep.finish()
    assert len(journal.snapshot_names) == 2


@pytest.mark.trio
async def test_what_a_start_has_read_is_not_read_again_by_all_that_follow(autojump_clock: object) -> None:
    """They may end by a kill each, and then none of them has taken a snapshot at its stop."""
    journal = Journal(FaultyDisk()).begin()
    for _ in range(100):
        journal.append(*[r.NoOpRecord()] * 100)
    upkeep, _ = upkeep_of(journal, [])
    with trio.move_on_after(SETTLED_S - 1):
        await upkeep.run()
    assert len(journal.snapshot_names) == 1, "clients come first"
    with trio.move_on_after(SETTLED_S + 1):
        await upkeep.run()
    assert len(journal.snapshot_names) == 2


@pytest.mark.trio
async def test_a_disk_that_is_full_stops_nobody() -> None:
    disk = FaultyDisk()
    journal = Journal(disk).begin()
    lines: list[str] = []
    upkeep, _ = upkeep_of(journal, lines)
    journal.append(*[r.NoOpRecord()] * 10_000)
    disk.fail("write", code=errno.ENOSPC)
    await upkeep.finish()
    assert [line for line in lines if "No space left on device" in line]
    assert len(journal.snapshot_names) == 1
    assert Journal(disk).image == journal.image
    await upkeep.finish()
    assert len(journal.snapshot_names) == 2, "it is tried again"


def test_a_copy_does_not_follow_what_changes() -> None:
    journal = Journal(FaultyDisk()).begin()
    journal.create(1)
    journal.append(r.ConfigRecord(resource_type=2, resource_name="topic-1", name="retention.ms", value="1"))
    copy = copy_of(journal.image)
    assert copy == journal.image
    before = repr(copy)
    journal.create(2)
    journal.append(r.ConfigRecord(resource_type=2, resource_name="topic-1", name="retention.ms", value="2"))
    topic_id = journal.image.topics.by_name["topic-1"].id
    journal.append(r.PartitionRecord(topic_id=topic_id, partition_id=0, replicas=[1], isr=[1], leader=1))
    journal.append(r.RemoveTopicRecord(topic_id=topic_id))
    assert repr(copy) == before


def create(client: RawClient, number: int) -> None:
    topics = [CreatableTopic(name=f"topic-{number}", num_partitions=1, replication_factor=1)]
    answer = client.ask(CreateTopicsRequest(topics=topics, timeout_ms=5_000), 7, CreateTopicsResponse)
    assert answer.topics[0].error_code == 0


@pytest.mark.slow
def test_a_node_takes_snapshots_while_it_runs(tmp_path: Path) -> None:
    node = RunningNode(
        tmp_path, metadata_log_max_record_bytes_between_snapshots="500", metadata_max_retention_bytes="0"
    )
    with node:
        with node.client() as client:
            for number in range(20):
                create(client, number)
        node.stop()
    taken = [line for line in node.lines if "holds the metadata up to offset" in line]
    assert len(taken) > 3
    snapshots = list((tmp_path / "__cluster_metadata-0").glob("*.checkpoint"))
    assert len(snapshots) < len(taken)
    with node.start():
        assert node.node is not None
        assert len(node.node.image.topics) == 20
