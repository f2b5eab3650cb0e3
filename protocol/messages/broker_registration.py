"""BrokerRegistration, API 62: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, Struct, field, int16, int32, int64, message, string, struct, uint16, uuid


@message(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationRequest(Message):
    broker_id: int32 = field()
    cluster_id: string = field()
    incarnation_id: uuid = field()
    listeners: list[Listener] = field()
    features: list[Feature] = field()
    rack: string | None = field()
    is_migrating_zk_broker: bool = field("1+")
    log_dirs: list[uuid] = field("2+", ignorable=True)
    previous_broker_epoch: int64 = field("3+", default=-1, ignorable=True)


@struct
class Listener(Struct):
    name: string = field()
    host: string = field()
    port: uint16 = field()
    security_protocol: int16 = field()


@struct
class Feature(Struct):
    name: string = field()
    min_supported_version: int16 = field()
    max_supported_version: int16 = field()


@message(key=62, versions="0-4", flexible="0+")
class BrokerRegistrationResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    broker_epoch: int64 = field(default=-1)
