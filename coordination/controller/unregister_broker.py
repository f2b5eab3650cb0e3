"""UnregisterBroker (0): a broker that will not come back is forgotten. What it had stays assigned to it."""

from __future__ import annotations

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.leadership import broker_unregistered
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

__all__ = ["unregister_broker"]


def unregister_broker(
    controller: Controller, request: UnregisterBrokerRequest
) -> Outcome[MetadataRecord, UnregisterBrokerResponse]:
    broker = controller.image.brokers.get(request.broker_id)
    if broker is None:
        return Outcome(
            reply=UnregisterBrokerResponse(
                error_code=ErrorCode.BROKER_ID_NOT_REGISTERED,
                error_message=f"Broker {request.broker_id} is not registered.",
            )
        )
    return Outcome(broker_unregistered(controller, broker), UnregisterBrokerResponse())
