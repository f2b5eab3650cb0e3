"""BrokerRegistration (0-4): a broker introduces itself, and again after every start.

Its epoch is the offset at which the records of this decision begin. It stays fenced until its heartbeats show that it
has read its own registration. A broker of the same incarnation only amends what it said before. Before another
incarnation is let in, the session of the last one must have run out: there may still be two of them.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.features import KRAFT_VERSION, VersionRange
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.leadership import broker_gone
from barnabas.coordination.controller.registration_fields import (
    SECURITY_PROTOCOLS,
    recorded_endpoints,
    recorded_features,
)
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.directory_ids import is_reserved
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
)
from barnabas.protocol.records.cluster_metadata import BrokerEndpoint, BrokerFeature, RegisterBrokerRecord

__all__ = ["register_broker", "registered"]

_KNOWS_ITS_LAST_EPOCH = 3
"""From this version on a broker says which epoch it had when it stopped cleanly."""


def register_broker(
    controller: Controller, request: BrokerRegistrationRequest, version: int, *, next_offset: int, now_ms: int
) -> Outcome[MetadataRecord, BrokerRegistrationResponse]:
    try:
        return registered(controller, request, version, next_offset=next_offset, now_ms=now_ms)
    except KafkaError as error:
        return Outcome(reply=BrokerRegistrationResponse(error_code=error.code))


def registered(
    controller: Controller, request: BrokerRegistrationRequest, version: int, *, next_offset: int, now_ms: int
) -> Outcome[MetadataRecord, BrokerRegistrationResponse]:
    """The same for a broker in this process: KafkaError tells it why not, for which the answer has no words."""
    existing = controller.image.brokers.get(request.broker_id)
    _check_identity(controller, request, existing, now_ms)
    if controller.image.required_metadata_version.directories:
        _check_directories(controller, request)
    _check_endpoints(request)
    _check_features(controller, request)
    record = _record(controller, request)
    if existing is not None and existing.incarnation_id == request.incarnation_id:
        record.fenced = existing.fenced
        record.in_controlled_shutdown = existing.in_controlled_shutdown
        record.broker_epoch = existing.epoch
        gone = []
    else:
        clean = (
            existing is not None
            and version >= _KNOWS_ITS_LAST_EPOCH
            and request.previous_broker_epoch == existing.epoch
        )
        gone = broker_gone(controller, request.broker_id, clean=clean)
        record.broker_epoch = next_offset
    record_version = controller.image.required_metadata_version.register_broker_record
    # The registration comes last: if only some of the records were written, the broker would have to come again.
    records = [*gone, MetadataRecord(record, record_version)]
    return Outcome(records, BrokerRegistrationResponse(broker_epoch=record.broker_epoch))


def _check_identity(
    controller: Controller,
    request: BrokerRegistrationRequest,
    existing: BrokerRegistration | None,
    now_ms: int,
) -> None:
    cluster_id = controller.settings.cluster_id
    if request.cluster_id != cluster_id:
        raise KafkaError(ErrorCode.INCONSISTENT_CLUSTER_ID, f"this is cluster {cluster_id}, not {request.cluster_id}")
    if (
        existing is not None
        and existing.incarnation_id != request.incarnation_id
        and controller.has_session(existing, now_ms)
    ):
        raise KafkaError(ErrorCode.DUPLICATE_BROKER_REGISTRATION, f"broker {existing.id} is still being heard of")
    if request.is_migrating_zk_broker:
        raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, "brokers of ZooKeeper cannot be taken over any more")


def _check_directories(controller: Controller, request: BrokerRegistrationRequest) -> None:
    directories = request.log_dirs
    if not directories or any(map(is_reserved, directories)) or len(set(directories)) != len(directories):
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, "a broker has log directories, each with an id of its own")
    for other in controller.image.brokers.values():
        if other.id != request.broker_id and not set(other.directories).isdisjoint(directories):
            raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"broker {other.id} has one of these log directories")


def _check_endpoints(request: BrokerRegistrationRequest) -> None:
    for listener in request.listeners:
        if listener.security_protocol not in SECURITY_PROTOCOLS:
            raise KafkaError(
                ErrorCode.UNKNOWN_SERVER_ERROR, f"there is no security protocol {listener.security_protocol}"
            )


def _check_features(controller: Controller, request: BrokerRegistrationRequest) -> None:
    """Every level that is set has to be one that the broker can work with, also of features that it does not name."""
    finalized = {**controller.image.finalized_features(), KRAFT_VERSION: controller.settings.kraft_version}
    named = {feature.name for feature in request.features}
    for feature in request.features:
        _check_feature(finalized, feature)
    if METADATA_VERSION not in named:
        raise KafkaError(ErrorCode.INVALID_REGISTRATION, f"the broker does not name {METADATA_VERSION}")
    for name, level in finalized.items():
        if level and name not in named:
            _check_feature(finalized, Feature(name=name))


def _check_feature(finalized: Mapping[str, int], feature: Feature) -> None:
    level = finalized.get(feature.name, 0)
    supported = VersionRange(feature.min_supported_version, feature.max_supported_version)
    if level not in supported:
        raise KafkaError(
            ErrorCode.UNSUPPORTED_VERSION,
            f"{feature.name} has level {level}, and the broker works with {supported.low} to {supported.high}",
        )


def _record(controller: Controller, request: BrokerRegistrationRequest) -> RegisterBrokerRecord:
    record = RegisterBrokerRecord(
        broker_id=request.broker_id,
        is_migrating_zk_broker=request.is_migrating_zk_broker,
        incarnation_id=request.incarnation_id,
        rack=request.rack,
        end_points=recorded_endpoints(BrokerEndpoint, request.listeners),
        features=recorded_features(BrokerFeature, request.features),
    )
    if controller.image.required_metadata_version.directories:
        record.log_dirs = list(request.log_dirs)
    return record
