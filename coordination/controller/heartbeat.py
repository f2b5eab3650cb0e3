"""BrokerHeartbeat (0-2): a broker lives, wants in, or wants to stop.

fenced      -> in service, once it has read its own registration and does not ask to stay out
in service  -> controlled shutdown, while it still leads; its partitions get other leaders
controlled shutdown -> may stop, once it leads nothing and all others have read that
fenced, wants to stop -> may stop at once
"""

from __future__ import annotations

from enum import Enum, auto

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.leadership import (
    broker_fenced,
    broker_in_controlled_shutdown,
    broker_unfenced,
    directories_cordoned,
    directories_offline,
    has_leaderships,
)
from barnabas.coordination.controller.state import BrokerSession, Controller, Heard, SessionOutcome
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse

__all__ = ["BrokerState", "heartbeat"]


class BrokerState(Enum):
    FENCED = auto()
    UNFENCED = auto()
    CONTROLLED_SHUTDOWN = auto()
    SHUTDOWN_NOW = auto()

    @property
    def fenced(self) -> bool:
        return self in (BrokerState.FENCED, BrokerState.SHUTDOWN_NOW)


def heartbeat(
    controller: Controller, request: BrokerHeartbeatRequest, *, now_ms: int
) -> SessionOutcome[BrokerHeartbeatResponse]:
    try:
        broker = controller.registered_broker(request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return SessionOutcome(reply=BrokerHeartbeatResponse(error_code=error.code))
    session = controller.sessions[broker.id]
    caught_up = request.current_metadata_offset >= session.registration_offset
    present = _present_state(broker, session)
    following = _following_state(controller, broker, session, request, present, caught_up)
    records = [] if following is present else _records(controller, broker, following)
    version = controller.image.required_metadata_version
    if version.directories:
        records += directories_offline(controller, broker, request.offline_log_dirs)
    if version.cordoned_directories:
        records += directories_cordoned(broker, request.cordoned_log_dirs)
    reply = BrokerHeartbeatResponse(
        is_caught_up=caught_up,
        is_fenced=following.fenced,
        should_shut_down=following is BrokerState.SHUTDOWN_NOW,
    )
    in_controlled_shutdown = following is BrokerState.CONTROLLED_SHUTDOWN
    heard = Heard(broker.id, now_ms, request.current_metadata_offset, in_controlled_shutdown)
    return SessionOutcome(records, reply, heard=heard)


def _present_state(broker: BrokerRegistration, session: BrokerSession) -> BrokerState:
    if session.shutting_down:
        return BrokerState.CONTROLLED_SHUTDOWN
    return BrokerState.FENCED if broker.fenced else BrokerState.UNFENCED


def _following_state(
    controller: Controller,
    broker: BrokerRegistration,
    session: BrokerSession,
    request: BrokerHeartbeatRequest,
    present: BrokerState,
    caught_up: bool,
) -> BrokerState:
    match present:
        case BrokerState.FENCED:
            if request.want_shut_down:
                return BrokerState.SHUTDOWN_NOW
            return BrokerState.UNFENCED if caught_up and not request.want_fence else BrokerState.FENCED
        case BrokerState.UNFENCED:
            if request.want_fence:
                return BrokerState.SHUTDOWN_NOW if request.want_shut_down else BrokerState.FENCED
            if not request.want_shut_down:
                return BrokerState.UNFENCED
            leads = has_leaderships(controller, broker.id)
            return BrokerState.CONTROLLED_SHUTDOWN if leads else BrokerState.SHUTDOWN_NOW
        case _:
            if has_leaderships(controller, broker.id) or not _all_others_know(controller, session):
                return BrokerState.CONTROLLED_SHUTDOWN
            return BrokerState.SHUTDOWN_NOW


def _all_others_know(controller: Controller, session: BrokerSession) -> bool:
    """Every broker in service has read that this one leads nothing any more."""
    return all(
        session.controlled_shutdown_offset <= other.metadata_offset
        for broker_id, other in controller.sessions.items()
        if not controller.image.brokers[broker_id].fenced and not other.shutting_down
    )


def _records(controller: Controller, broker: BrokerRegistration, following: BrokerState) -> list[MetadataRecord]:
    match following:
        case BrokerState.UNFENCED:
            return broker_unfenced(controller, broker)
        case BrokerState.CONTROLLED_SHUTDOWN:
            return broker_in_controlled_shutdown(controller, broker)
        case _:
            return broker_fenced(controller, broker)
