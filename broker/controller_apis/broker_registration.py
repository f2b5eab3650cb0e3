"""BrokerRegistration, versions 0 to 4: a broker introduces itself. The answer has no words, and so the log has them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.registration import registered
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, BrokerRegistrationResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: BrokerRegistrationRequest) -> BrokerRegistrationResponse:
    try:
        return await node.controller.decide(
            lambda controller, now_ms: registered(
                controller, request, call.version, next_offset=node.journal.end_offset, now_ms=now_ms
            )
        )
    except KafkaError as error:
        # Whoever was killed comes back before its session is over, and tries until then.
        if error.code != ErrorCode.DUPLICATE_BROKER_REGISTRATION:
            node.warn(f"broker {request.broker_id} at {call.connection.address} is not let in: {error.message}")
        raise


def refused(_call: Call, _request: BrokerRegistrationRequest, error: KafkaError) -> BrokerRegistrationResponse:
    return BrokerRegistrationResponse(error_code=error.code)
