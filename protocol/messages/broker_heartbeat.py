"""BrokerHeartbeat, API 63: request and response."""

# Made by protocol/generate.py from the schemas of Kafka 4.3.1.

from __future__ import annotations

from barnabas.protocol.schema import Message, field, int16, int32, int64, message, uuid


@message(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatRequest(Message):
    broker_id: int32 = field()
    broker_epoch: int64 = field(default=-1)
    current_metadata_offset: int64 = field()
    want_fence: bool = field()
    want_shut_down: bool = field()
    offline_log_dirs: list[uuid] = field("1+", tag=0)
    cordoned_log_dirs: list[uuid] | None = field("2+", default=None, tag=1)


@message(key=63, versions="0-2", flexible="0+")
class BrokerHeartbeatResponse(Message):
    throttle_time_ms: int32 = field()
    error_code: int16 = field()
    is_caught_up: bool = field()
    is_fenced: bool = field(default=True)
    should_shut_down: bool = field()
