"""The quorum of one: its only voter leads, and is never behind."""

from __future__ import annotations

import pytest

from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from tests.kafka.client import RawClient

from .asking import create
from .running import RunningNode

REQUEST = DescribeQuorumRequest(
    topics=[TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])]
)


@pytest.mark.parametrize("version", [0, 1, 2])
def test_the_quorum_grows_with_the_metadata(node: RunningNode, client: RawClient, version: int) -> None:
    (before,) = client.ask(REQUEST, version, DescribeQuorumResponse).topics[0].partitions
    create(client, "orders")
    answer = client.ask(REQUEST, version, DescribeQuorumResponse)
    (after,) = answer.topics[0].partitions
    assert (after.leader_id, after.leader_epoch) == (1, before.leader_epoch)
    assert after.high_watermark > before.high_watermark
    (voter,) = after.current_voters
    assert (voter.replica_id, voter.log_end_offset) == (1, after.high_watermark)
    assert [one.node_id for one in answer.nodes] == ([1] if version == 2 else [])


def test_each_start_is_an_epoch(node: RunningNode) -> None:
    epochs = []
    for _ in range(3):
        with node.client() as client:
            epochs.append(client.ask(REQUEST, 2, DescribeQuorumResponse).topics[0].partitions[0].leader_epoch)
        node.restart()
    assert epochs == [epochs[0], epochs[0] + 1, epochs[0] + 2]
