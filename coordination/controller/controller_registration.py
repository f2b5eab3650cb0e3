"""ControllerRegistration (0): a controller tells the active one where it listens and which features it knows."""

from __future__ import annotations

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.registration_fields import (
    SECURITY_PROTOCOLS,
    recorded_endpoints,
    recorded_features,
)
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.controller_registration import (
    ControllerRegistrationRequest,
    ControllerRegistrationResponse,
)
from barnabas.protocol.records.cluster_metadata import (
    ControllerEndpoint,
    ControllerFeature,
    RegisterControllerRecord,
)

__all__ = ["register_controller"]


def register_controller(
    controller: Controller, request: ControllerRegistrationRequest
) -> Outcome[MetadataRecord, ControllerRegistrationResponse]:
    if not controller.image.required_metadata_version.controller_registration:
        return _refused(ErrorCode.UNSUPPORTED_VERSION, "metadata.version 3.7-IV0 or higher is needed")
    if any(listener.security_protocol not in SECURITY_PROTOCOLS for listener in request.listeners):
        return _refused(ErrorCode.UNKNOWN_SERVER_ERROR, "A listener has a security protocol that there is not.")
    record = RegisterControllerRecord(
        controller_id=request.controller_id,
        incarnation_id=request.incarnation_id,
        end_points=recorded_endpoints(ControllerEndpoint, request.listeners),
        features=recorded_features(ControllerFeature, request.features),
    )
    return Outcome([MetadataRecord(record)], ControllerRegistrationResponse())


def _refused(code: ErrorCode, message: str) -> Outcome[MetadataRecord, ControllerRegistrationResponse]:
    return Outcome(reply=ControllerRegistrationResponse(error_code=code, error_message=message))
