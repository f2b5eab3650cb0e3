"""A request on its way through the broker: who asks, and how the answer has to look."""

from __future__ import annotations

import msgspec

from barnabas.broker.connection import Connection
from barnabas.protocol.apis import Api

__all__ = ["Call"]


class Call(msgspec.Struct, gc=False):
    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    connection: Connection
    size: int
    """Of the request's frame."""

    @property
    def client_host(self) -> str:
        """As Kafka shows it of group members."""
        return f"/{self.connection.peer[0]}"
