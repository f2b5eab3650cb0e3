"""Expiry of more than one batch of tombstones holds; what expires when is in scenarios/retention.txt."""

from __future__ import annotations

from barnabas.coordination.groups import GroupConfig
from barnabas.coordination.groups.expiry import RECORDS_A_LOOK
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
)
from tests.coordination.coordinator import Coordinator, FakeTopics

MANY = 2 * RECORDS_A_LOOK + 500


def test_a_look_at_many_offsets_is_taken_in_small_batches() -> None:
    config = GroupConfig(offsets_retention_ms=1000, offsets_retention_check_interval_ms=1000)
    coordinator = Coordinator(config, FakeTopics({"wide": MANY}), watched=False)
    partitions = [OffsetCommitRequestPartition(partition_index=index, committed_offset=1) for index in range(MANY)]
    for group_id in ("one", "two"):
        topic = OffsetCommitRequestTopic(name="wide", partitions=partitions)
        coordinator.ask(OffsetCommitRequest(group_id=group_id, topics=[topic]), 8)
    coordinator.outcomes.clear()
    coordinator.advance(1000)
    sizes = [len(outcome.records) for outcome in coordinator.outcomes]
    assert sum(sizes) == 2 * (MANY + 1)
    assert max(sizes) <= RECORDS_A_LOOK + 1
    assert coordinator.shard.groups == {}
    assert coordinator.shard.deadline_ms == coordinator.now_ms + 1000, "and the next one is due when it was to be"
