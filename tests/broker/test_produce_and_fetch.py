"""Records go in by Produce and come out by Fetch, as they were, and are there again after a restart."""

from __future__ import annotations

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.produce import (
    PartitionProduceData,
    PartitionProduceResponse,
    ProduceRequest,
    ProduceResponse,
    TopicProduceData,
)
from barnabas.protocol.record import Record, read_records
from tests.kafka.client import RawClient

from .running import RunningNode

TOPIC = "orders"


def create(client: RawClient, name: str = TOPIC, partitions: int = 1, configs: dict[str, str] | None = None) -> None:
    """With configurations by Kafka's names, with underscores for dots."""
    given = [CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in (configs or {}).items()]
    topic = CreatableTopic(name=name, num_partitions=partitions, replication_factor=1, configs=given)
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=5_000), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [0]


def produce(
    client: RawClient, *values: bytes, partition: int = 0, acks: int = -1, timestamp: int = 1_700_000_000_000
) -> PartitionProduceResponse:
    records = build_batch([Record(value=value, timestamp=timestamp) for value in values])
    data = PartitionProduceData(index=partition, records=records)
    request = ProduceRequest(
        acks=acks, timeout_ms=5_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])]
    )
    return client.ask(request, 12, ProduceResponse).responses[0].partition_responses[0]


def fetch(client: RawClient, offset: int, max_bytes: int = 1 << 20) -> list[tuple[int, bytes | None]]:
    partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=max_bytes)
    request = FetchRequest(
        max_wait_ms=0, min_bytes=1, topics=[FetchTopic(topic=TOPIC, partitions=[partition])], session_epoch=-1
    )
    (answer,) = client.ask(request, 12, FetchResponse).responses[0].partitions
    assert answer.error_code == 0
    return [
        (record.offset, record.value)
        for batch in iterate_batches(answer.records or b"")  # type: ignore[arg-type] # it came over a socket
        for record in read_records(batch)
    ]


def test_what_was_produced_is_fetched(client: RawClient) -> None:
    create(client)
    assert [produce(client, b"a", b"b").base_offset, produce(client, b"c").base_offset] == [0, 2]
    assert fetch(client, 0) == [(0, b"a"), (1, b"b"), (2, b"c")]
    assert fetch(client, 3) == []


def test_an_offset_within_a_batch_gives_the_whole_batch(client: RawClient) -> None:
    create(client)
    produce(client, b"a", b"b", b"c")
    assert fetch(client, 2) == [(0, b"a"), (1, b"b"), (2, b"c")]


def test_a_batch_larger_than_all_limits_is_given_all_the_same(client: RawClient) -> None:
    create(client)
    produce(client, bytes(10_000))
    produce(client, b"second")
    assert fetch(client, 0, max_bytes=1) == [(0, bytes(10_000))]


def test_an_unknown_topic_is_refused(client: RawClient) -> None:
    assert produce(client, b"a").error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION


@pytest.mark.parametrize("durability", ["kafka", "fsync"])
def test_records_are_there_after_a_restart(node: RunningNode, durability: str) -> None:
    node.stop()
    node.settings["barnabas.durability"] = durability
    node.start()
    with node.client() as client:
        create(client)
        for number in range(10):
            assert produce(client, b"%d" % number).base_offset == number
    node.restart()
    with node.client() as client:
        assert fetch(client, 0) == [(number, b"%d" % number) for number in range(10)]
        assert produce(client, b"more").base_offset == 10


def test_records_that_arrive_together_with_a_fetch_end_its_wait(node: RunningNode, client: RawClient) -> None:
    """Both requests are there before the node looks at either: what is appended before the wait begins is news too."""
    create(client)
    partition = FetchPartition(partition=0, partition_max_bytes=1 << 20)
    topics = [FetchTopic(topic=TOPIC, partitions=[partition])]
    request = FetchRequest(max_wait_ms=5_000, min_bytes=1, topics=topics, session_epoch=-1)
    data = PartitionProduceData(index=0, records=build_batch([Record(value=b"a")]))
    written = ProduceRequest(acks=1, timeout_ms=1_000, topic_data=[TopicProduceData(name=TOPIC, partition_data=[data])])
    with node.client() as reader:

        def send_both(_node: object) -> None:
            reader.send(request, 12)
            client.send(written, 12)

        node.do(send_both)
        client.receive(ProduceResponse)
        (answer,) = reader.receive(FetchResponse).responses[0].partitions
    assert answer.records
