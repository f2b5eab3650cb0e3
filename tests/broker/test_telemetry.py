"""Clients' metrics at a running node: beside Kafka where nobody takes them, and from real clients into a topic."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Producer

from barnabas.broker.node import Node
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.compression import Compression, compress
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.schema import Uuid
from tests.kafka.broker import KafkaBroker
from tests.kafka.classpath import java_command
from tests.kafka.client import RawClient

from .running import RunningNode

CLIENT_METRICS = 16
TOPIC = "client-metrics"
SET = 0
MINE = Uuid(range(16))


def subscription(name: str, **configs: str) -> IncrementalAlterConfigsRequest:
    altered = [
        AlterableConfig(name=key.replace("_", "."), config_operation=SET, value=value) for key, value in configs.items()
    ]
    resource = AlterConfigsResource(resource_type=CLIENT_METRICS, resource_name=name, configs=altered)
    return IncrementalAlterConfigsRequest(resources=[resource])


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RunningNode]:
    with RunningNode(tmp_path / "data", barnabas_telemetry_topic=TOPIC, telemetry_max_bytes="100000") as running:
        yield running


def subscribe(client: RawClient, **configs: str) -> None:
    answer = client.ask(subscription("all", **configs), 1, IncrementalAlterConfigsResponse)
    assert answer.responses[0].error_code == ErrorCode.NONE, answer


def asked(client: RawClient, instance_id: Uuid = Uuid.ZERO) -> GetTelemetrySubscriptionsResponse:
    return client.ask(GetTelemetrySubscriptionsRequest(instance_id), 0, GetTelemetrySubscriptionsResponse)


def pushed(client: RawClient, request: PushTelemetryRequest) -> ErrorCode:
    return ErrorCode(client.ask(request, 0, PushTelemetryResponse).error_code)


def taken(node: Node) -> list[Record]:
    """All that is in the topic, partition by partition."""
    found: list[Record] = []
    for partition in node.partitions:
        if partition.name.topic == TOPIC:
            for segment in partition.log.segments:
                for batch in iterate_batches(segment.file.read(0, segment.size)):
                    found += read_records(batch)
    return found


def test_a_push_becomes_a_record(node: RunningNode) -> None:
    with RawClient(*node.address) as client:
        subscribe(client, metrics="org.apache.kafka.", interval_ms="100")
        told = asked(client)
        assert told.error_code == ErrorCode.NONE
        assert told.requested_metrics == ["org.apache.kafka."]
        assert (told.push_interval_ms, told.telemetry_max_bytes) == (100, 100_000)
        request = PushTelemetryRequest(
            client_instance_id=told.client_instance_id,
            subscription_id=told.subscription_id,
            compression_type=Compression.ZSTD,
            metrics=compress(Compression.ZSTD, b"as the client wrote them"),
        )
        assert pushed(client, request) is ErrorCode.NONE
        assert pushed(client, request) is ErrorCode.THROTTLING_QUOTA_EXCEEDED
        request.terminating = True
        request.metrics = compress(Compression.ZSTD, b"the last")
        assert pushed(client, request) is ErrorCode.NONE
    first, last = node.do(taken)
    assert first.key == str(told.client_instance_id).encode()
    assert (first.value, last.value) == (b"as the client wrote them", b"the last")
    headers = dict(last.headers)
    assert headers["client_software_name"] == b"unknown"
    assert headers["client_source_address"] == b"127.0.0.1"
    assert headers["terminating"] == b"true"


def test_what_cannot_be_unpacked_or_unpacks_to_too_much_is_refused_and_said(node: RunningNode) -> None:
    with RawClient(*node.address) as client:
        told = asked(client)
        for metrics in (b"no zstd at all", compress(Compression.ZSTD, bytes(100_001))):
            request = PushTelemetryRequest(
                client_instance_id=told.client_instance_id,
                subscription_id=told.subscription_id,
                compression_type=Compression.ZSTD,
                metrics=metrics,
                terminating=True,
            )
            assert pushed(client, request) is ErrorCode.INVALID_RECORD
            told = asked(client)
    assert sum("are not kept" in line for line in node.lines) == 2


def test_who_is_advertised(node: RunningNode, tmp_path: Path) -> None:
    with RunningNode(tmp_path / "other") as other:
        for running, wanted in ((node, {71, 72}), (other, set[int]())):
            with running.client() as client:
                answer = client.ask(ApiVersionsRequest("tests", "1"), 4, ApiVersionsResponse)
            assert {one.api_key for one in answer.api_keys} & {71, 72} == wanted


def test_librdkafka_pushes_its_metrics(node: RunningNode) -> None:
    with node.client() as client:
        subscribe(client, metrics="*", interval_ms="100", match="client_software_name=confluent-kafka.*")
    producer = Producer({"bootstrap.servers": node.bootstrap, "client.id": "shop", "enable.metrics.push": True})
    producer.produce("orders", b"x")
    assert producer.flush(20) == 0
    node.until(taken)
    producer.flush(0)
    del producer
    record = node.do(taken)[0]
    assert record.value is not None
    assert b"org.apache.kafka.producer." in record.value
    assert dict(record.headers)["client_id"] == b"shop"


@pytest.mark.slow
@pytest.mark.java
def test_the_java_client_pushes_its_metrics(tmp_path: Path, kafka_classpath: str) -> None:
    with RunningNode(tmp_path / "data", barnabas_telemetry_topic=TOPIC) as node:
        with node.client() as client:
            subscribe(client, metrics="org.apache.kafka.producer.", interval_ms="100")
        tool = ["org.apache.kafka.tools.VerifiableProducer", "--bootstrap-server", node.bootstrap]
        forty = ["--topic", "orders", "--max-messages", "40", "--throughput", "20"]
        done = subprocess.run(
            [*java_command(kafka_classpath, heap_mib=128), *tool, *forty],
            check=False,
            capture_output=True,
            text=True,
            timeout=60,
        )
        assert '"acked":40' in done.stdout, done.stderr[-2000:]
        records = node.do(taken)
        assert {dict(record.headers)["client_software_name"] for record in records} == {b"apache-kafka-java"}
        assert all(record.value and b"org.apache.kafka.producer." in record.value for record in records[:1])
        assert len({record.value for record in records}) > 1


class Told:
    """One of two brokers, asked as a client that chose its id itself; what it gives out at random is left out."""

    def __init__(self, client: RawClient) -> None:
        self.client = client
        self.subscription_id = 0

    def asked(self, instance_id: Uuid) -> GetTelemetrySubscriptionsResponse:
        told = asked(self.client, instance_id)
        if told.error_code == ErrorCode.NONE:
            self.subscription_id = told.subscription_id
            assert instance_id in (told.client_instance_id, Uuid.ZERO)
            assert told.client_instance_id != Uuid.ZERO
        told.subscription_id, told.client_instance_id = 0, Uuid.ZERO
        told.requested_metrics.sort()
        return told

    def pushed(self, **fields: Any) -> ErrorCode:
        known: dict[str, Any] = {"client_instance_id": MINE, "subscription_id": self.subscription_id}
        return pushed(self.client, PushTelemetryRequest(**(known | fields)))


@pytest.mark.slow
@pytest.mark.java
def test_beside_kafka(kafka_classpath: str, tmp_path: Path) -> None:
    """Where nobody takes metrics, clients are not asked for them, and who comes all the same is answered."""
    with (
        KafkaBroker(kafka_classpath, tmp_path) as kafka,
        RunningNode(tmp_path / "ours") as node,
        RawClient(kafka.host, kafka.port) as theirs,
        node.client() as ours,
    ):
        sides = [Told(theirs), Told(ours)]

        def same(ask: Callable[[Told], Any]) -> Any:
            kafkas, own = map(ask, sides)
            assert own == kafkas
            return own

        same(lambda side: side.asked(Uuid.ZERO))
        assert same(lambda side: side.asked(MINE)).push_interval_ms == 300_000
        assert same(lambda side: side.asked(MINE)).error_code == ErrorCode.THROTTLING_QUOTA_EXCEEDED
        assert same(lambda side: side.pushed(metrics=b"x")) is ErrorCode.NONE
        same(lambda side: side.pushed())
        same(lambda side: side.pushed(client_instance_id=Uuid.ZERO))
        same(lambda side: side.pushed(client_instance_id=Uuid(bytes(15) + b"\1")))
        same(lambda side: side.pushed(subscription_id=4711, terminating=True))
        same(lambda side: side.pushed())
        for side in sides:
            subscribe(side.client, metrics="org.apache.kafka.b.,org.apache.kafka.a.", interval_ms="3000")

        def settled(side: Told) -> GetTelemetrySubscriptionsResponse:
            while (told := side.asked(MINE)).error_code:
                pass
            return told

        told = same(settled)
        assert told.requested_metrics == ["org.apache.kafka.a.", "org.apache.kafka.b."]
        assert same(lambda side: side.pushed(compression_type=9)) is ErrorCode.UNSUPPORTED_COMPRESSION_TYPE
        assert same(lambda side: side.asked(MINE)).error_code == ErrorCode.NONE
        assert same(lambda side: side.pushed(metrics=bytes(1 << 21), terminating=True)) is ErrorCode.TELEMETRY_TOO_LARGE
        assert same(lambda side: side.pushed(terminating=True)) is ErrorCode.INVALID_REQUEST
