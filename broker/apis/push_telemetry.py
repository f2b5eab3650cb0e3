"""PushTelemetry, version 0: metrics of a client, as GetTelemetrySubscriptions asked for them."""

from __future__ import annotations

from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any

from barnabas.broker.call import Call
from barnabas.broker.telemetry import Telemetry, telemetry_of
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest, PushTelemetryResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(
    node: Node, call: Call, request: PushTelemetryRequest
) -> PushTelemetryResponse | Coroutine[Any, Any, PushTelemetryResponse]:
    telemetry = telemetry_of(node)
    telemetry.check_push(call, request)
    return _take(telemetry, call, request) if telemetry.wants(request) else PushTelemetryResponse()


async def _take(telemetry: Telemetry, call: Call, request: PushTelemetryRequest) -> PushTelemetryResponse:
    await telemetry.take(call, request)
    return PushTelemetryResponse()


def refused(_call: Call, _request: PushTelemetryRequest, error: KafkaError) -> PushTelemetryResponse:
    return PushTelemetryResponse(error_code=error.code)
