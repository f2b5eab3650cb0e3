"""ControllerRegistration, version 0: another controller says where it is found, and which features it knows."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: ControllerRegistrationRequest) -> ControllerRegistrationResponse:
    return await node.controller.decide(lambda controller, _now_ms: register_controller(controller, request))


def refused(_call: Call, _request: ControllerRegistrationRequest, error: KafkaError) -> ControllerRegistrationResponse:
    return ControllerRegistrationResponse(error_code=error.code, error_message=error.message or None)
