"""The metrics that clients push of themselves, and the topic that takes them.

Kafka hands them to a plugin, and asks clients for none where there is no plugin. Here barnabas.telemetry.topic takes
the plugin's place: a record for each push, its key the client's instance id, its value the metrics as the client wrote
them (OTLP, a MetricsData message of Protocol Buffers), its headers who the client is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING
from zlib import crc32

from barnabas.broker.auto_creation import create_missing
from barnabas.broker.call import Call
from barnabas.broker.configuration.client_metrics_configs import client_metrics_values, client_pattern
from barnabas.broker.connection import Connection
from barnabas.broker.random_values import random_uuid
from barnabas.coordination.cluster.configs import ResourceType
from barnabas.coordination.telemetry.clients import Clients, Subscription
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import Batch
from barnabas.protocol.compression import Compression, decompress
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.record import Record
from barnabas.replication.partition import Partition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Telemetry", "telemetry_of"]

CONTENT_TYPE = b"application/x-protobuf; messageType=opentelemetry.proto.metrics.v1.MetricsData"


def telemetry_of(node: Node) -> Telemetry:
    if node.telemetry is None:
        node.telemetry = Telemetry(node)
    return node.telemetry


class Telemetry:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._topic = node.config.barnabas_telemetry_topic
        self._clients = Clients(node.config.telemetry_max_bytes)
        self.subscribe()

    def subscribe(self) -> None:
        """By what is configured now."""
        found = []
        for resource, overrides in self._node.image.configs.by_resource.items():
            if resource.type == ResourceType.CLIENT_METRICS:
                values = client_metrics_values(overrides)
                patterns = dict(map(client_pattern, values["match"]))
                found.append(Subscription(frozenset(values["metrics"]), values["interval.ms"], patterns))
        self._clients.subscribe(found)

    def closed(self, connection: Connection) -> None:
        self._clients.forget(connection)

    def ask(self, call: Call, request: GetTelemetrySubscriptionsRequest) -> GetTelemetrySubscriptionsResponse:
        return self._clients.ask(
            request,
            _facts(call),
            call.connection,
            self._node.clock.now_ms(),
            lambda: random_uuid(self._node.random_bytes),
        )

    def check_push(self, call: Call, request: PushTelemetryRequest) -> None:
        self._clients.check_push(request, _facts(call), call.connection, self._node.clock.now_ms())

    def wants(self, request: PushTelemetryRequest) -> bool:
        return bool(self._topic and request.metrics)

    async def take(self, call: Call, request: PushTelemetryRequest) -> None:
        """KafkaError, if the topic does not."""
        now_ms = self._node.clock.now_ms()
        try:
            batch = Batch(build_batch([self._record(call, request, now_ms)], compression=_compression(request)))
            partition = await self._partition(request)
            partition.append((batch,), now_ms)
        except (KafkaError, MalformedFrame) as error:
            self._clients.push_failed(request.client_instance_id)
            self._node.warn(f"metrics of client {request.client_instance_id} are not kept: {error}")
            raise KafkaError(ErrorCode.INVALID_RECORD, str(error)) from None

    def _record(self, call: Call, request: PushTelemetryRequest, now_ms: int) -> Record:
        metrics = decompress(_compression(request), request.metrics, self._node.config.telemetry_max_bytes)
        headers = [(name, None if fact is None else fact.encode()) for name, fact in _facts(call).items()]
        headers += [("content_type", CONTENT_TYPE), ("terminating", str(request.terminating).lower().encode())]
        return Record(key=str(request.client_instance_id).encode(), value=metrics, headers=headers, timestamp=now_ms)

    async def _partition(self, request: PushTelemetryRequest) -> Partition:
        """One client's are in one partition, in their order."""
        known = self._node.image.topics.by_name
        if self._topic not in known:
            failed = await create_missing(self._node, [self._topic])
            for code in failed.values():
                raise KafkaError(code, f"{self._topic} cannot be created")
        return self._node.partition(self._topic, crc32(request.client_instance_id) % len(known[self._topic].partitions))


def _facts(call: Call) -> Mapping[str, str | None]:
    """What subscriptions may ask of a client."""
    connection = call.connection
    software, version = connection.client
    return {
        "client_id": call.client_id,
        "client_software_name": software,
        "client_software_version": version,
        "client_source_address": connection.address,
        "client_source_port": str(connection.peer[1]) if len(connection.peer) > 1 else None,
    }


def _compression(request: PushTelemetryRequest) -> Compression:
    return Compression(request.compression_type)
