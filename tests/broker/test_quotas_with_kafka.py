"""Quotas beside Kafka: how long both let a client wait, and that they do."""

from __future__ import annotations

import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from barnabas.protocol.apis import APIS
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.frames import encode_request
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record
from barnabas.protocol.schema import Message
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode
from .twins import Twins

pytestmark = [pytest.mark.slow, pytest.mark.java]

TOPIC = "limited"


class Named(RawClient):
    """Each has a client id, and so a quota, of its own."""

    def __init__(self, address: tuple[str, int], name: str) -> None:
        super().__init__(*address)
        self._name = name

    def send(self, request: Message, version: int) -> None:
        api = APIS[request.__definition__.key]
        correlation_id = next(self._correlation_ids)
        self._socket.sendall(b"".join(encode_request(api, version, correlation_id, self._name, request)))  # type: ignore[arg-type]
        self._asked.append((api, version, correlation_id))


@pytest.fixture(scope="module")
def both(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    directory: Path = tmp_path_factory.mktemp("limited")
    with KafkaBroker(kafka_classpath) as kafka, RunningNode(directory / "data", node_id="1") as running:
        twins = Twins(kafka, running)
        twins.create(TOPIC)
        yield twins
        twins.close()


def limit(both: Twins, name: str, **quotas: float) -> list[Named]:
    """A client on either side that has these quotas."""
    ops = [OpData(key=key, value=value, remove=False) for key, value in quotas.items()]
    entry = EntryData(entity=[EntityData(entity_type="client-id", entity_name=name)], ops=ops)
    for side in both.sides:
        answer = side.client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse)
        assert [one.error_code for one in answer.entries] == [0]
    return [Named(side.address, name) for side in both.sides]


def produce(size: int, acks: int = -1) -> ProduceRequest:
    records = build_batch([Record(value=bytes(size), timestamp=1_700_000_000_000)])
    data = [TopicProduceData(name=TOPIC, partition_data=[PartitionProduceData(index=0, records=records)])]
    return ProduceRequest(acks=acks, timeout_ms=5_000, topic_data=data)


def test_producers(both: Twins) -> None:
    throttles = []
    for client in limit(both, "producer", producer_byte_rate=1_000):
        with client:
            first = client.ask(produce(5_000), 12, ProduceResponse)
            assert first.throttle_time_ms == 0
            assert first.responses[0].partition_responses[0].error_code == 0
            started = time.monotonic()
            # In the same window of the first: 10,600 bytes and a little over ten seconds and a little.
            throttles.append(client.ask(produce(5_600), 12, ProduceResponse).throttle_time_ms)
            client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
            assert time.monotonic() - started >= throttles[-1] / 1000 > 0.5
    kafka, ours = throttles
    assert abs(kafka - ours) < 400


def test_a_producer_far_over_its_quota(both: Twins) -> None:
    throttles = []
    for client in limit(both, "greedy", producer_byte_rate=1_000):
        with client:
            throttles.append(client.ask(produce(50_000), 12, ProduceResponse).throttle_time_ms)
    assert throttles[0] == throttles[1] > 30_000


@pytest.mark.parametrize("version", [4, 11, 12, 17])
def test_consumers(both: Twins, version: int) -> None:
    for side in both.sides:
        answer = side.client.ask(produce(20_000), 12, ProduceResponse)
        assert answer.responses[0].partition_responses[0].error_code == 0
    told = []
    for side, client in zip(both.sides, limit(both, f"consumer-{version}", consumer_byte_rate=100), strict=True):
        topic = FetchTopic(topic_id=side.topic_ids[TOPIC]) if version > 12 else FetchTopic(topic=TOPIC)
        topic.partitions = [FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=10)]
        epoch = 0 if version >= 7 else -1
        with client:
            answered = client.ask(
                FetchRequest(max_wait_ms=0, min_bytes=1, topics=[topic], session_epoch=epoch), version, FetchResponse
            )
        told.append((answered.throttle_time_ms, answered.error_code, answered.session_id, len(answered.responses)))
    assert told[0] == told[1]
    assert told[0][0] > 10_000


def test_the_time_of_requests(both: Twins) -> None:
    for client in limit(both, "busy", request_percentage=0.000_001):
        with client:
            answer = client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
            assert answer.throttle_time_ms == 1_000
            started = time.monotonic()
            client.ask(MetadataRequest(topics=[]), 12, MetadataResponse)
            assert time.monotonic() - started > 0.9


@pytest.mark.parametrize("version", [5, 7])
def test_topics(both: Twins, version: int) -> None:
    told = []
    for client in limit(both, f"creator-{version}", controller_mutation_rate=1):
        codes = []
        throttled = []
        with client:
            for number, partitions in enumerate((5, 8, 1)):
                topic = CreatableTopic(name=f"made-{version}-{number}", num_partitions=partitions, replication_factor=1)
                answer = client.ask(
                    CreateTopicsRequest(topics=[topic], timeout_ms=10_000), version, CreateTopicsResponse
                )
                codes.append(ErrorCode(answer.topics[0].error_code).name)
                throttled.append(answer.throttle_time_ms > 0)
        told.append((codes, throttled))
    assert told[0] == told[1]
    assert told[0][1][-1]


@pytest.mark.parametrize("version", [4, 5])
def test_topics_that_go(both: Twins, version: int) -> None:
    both.create(f"going-{version}", 30)
    both.create(f"staying-{version}", 1)
    told = []
    for client in limit(both, f"remover-{version}", controller_mutation_rate=2):
        with client:
            steps = []
            for name in (f"going-{version}", f"staying-{version}"):
                request = DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000)
                answer = client.ask(request, version, DeleteTopicsResponse)
                steps.append((ErrorCode(answer.responses[0].error_code).name, answer.throttle_time_ms > 0))
        told.append(steps)
    assert told[0] == told[1]


def test_without_a_quota_nothing_is_counted(both: Twins) -> None:
    """The last quota takes everything with it."""
    with RunningNode(both.node.directory.parent / "another") as node:
        assert node.node is not None
        assert node.node.throttles is None
        entry = EntryData(entity=[EntityData(entity_type="user", entity_name=None)])
        with node.client() as client:
            for remove in (False, True):
                entry.ops = [OpData(key="producer_byte_rate", value=1e9, remove=remove)]
                client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse)
                assert (node.node.throttles is None) is remove
