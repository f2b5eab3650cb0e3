"""What goes wrong with one request stays with that request; and answers in every version that we advertise."""

from __future__ import annotations

import pytest

from barnabas.broker.apis import list_offsets
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
    ListOffsetsTopicResponse,
)
from tests.kafka.client import RawClient

from .running import RunningNode

LATEST = -1


def test_an_answer_that_cannot_be_written_ends_its_connection_only(
    node: RunningNode, client: RawClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    def broken(*_: object) -> ListOffsetsResponse:
        partition = ListOffsetsPartitionResponse(partition_index=0, leader_epoch=1)  # which version 3 has not
        return ListOffsetsResponse(topics=[ListOffsetsTopicResponse(name="orders", partitions=[partition])])

    monkeypatch.setattr(list_offsets, "handle", broken)
    with pytest.raises(ConnectionError):
        client.ask(ListOffsetsRequest(replica_id=-1, topics=[]), 3, ListOffsetsResponse)
    assert any("ListOffsets v3" in line and "leader_epoch" in line for line in node.lines)
    with node.client() as other:
        assert other.ask(ApiVersionsRequest(), 0, ApiVersionsResponse).error_code == 0


@pytest.mark.parametrize("version", range(1, 12))
def test_offsets_are_listed_in_every_version(client: RawClient, version: int) -> None:
    topic = CreatableTopic(name="orders", num_partitions=1, replication_factor=1)
    client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    asked = ListOffsetsTopic(name="orders", partitions=[ListOffsetsPartition(partition_index=0, timestamp=LATEST)])
    answer = client.ask(ListOffsetsRequest(replica_id=-1, topics=[asked]), version, ListOffsetsResponse)
    (found,) = answer.topics[0].partitions
    assert (found.error_code, found.offset, found.leader_epoch) == (0, 0, 0 if version >= 4 else -1)
