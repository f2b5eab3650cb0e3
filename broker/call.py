"""A request on its way through the broker: who asks, and how the answer has to look."""

from __future__ import annotations

import msgspec

from barnabas.broker.connection import Connection
from barnabas.broker.forwarded import ForwardedClient
from barnabas.protocol.apis import Api

__all__ = ["ANONYMOUS", "Call"]

ANONYMOUS = "ANONYMOUS"
"""Who has not said who he is."""


class Call(msgspec.Struct, gc=False):
    api: Api
    version: int
    correlation_id: int
    client_id: str | None
    connection: Connection
    size: int
    """Of the request's frame."""

    @property
    def is_forwarded(self) -> bool:
        """Another node passes it on."""
        return isinstance(self.connection, ForwardedClient)

    @property
    def principal(self) -> str:
        client: object = self.connection
        return client.principal if isinstance(client, ForwardedClient) else ANONYMOUS

    @property
    def client_host(self) -> str:
        """As Kafka shows it of group members."""
        return f"/{self.connection.peer[0]}"
