"""How much of open transactions a reader wants to see."""

from __future__ import annotations

from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["READ_COMMITTED", "check_isolation"]

READ_UNCOMMITTED, READ_COMMITTED = 0, 1


def check_isolation(level: int) -> None:
    """Kafka fails over any other with UNKNOWN_SERVER_ERROR: nobody gets records there, either."""
    if level not in (READ_UNCOMMITTED, READ_COMMITTED):
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"there is no isolation level {level}")
