"""Requests that one node passes on to another for a client, in an Envelope."""

from __future__ import annotations

__all__ = ["FORWARDABLE", "ForwardedClient"]

FORWARDABLE = frozenset({19, 20, 30, 31, 33, 37, 38, 39, 40, 43, 44, 45, 46, 49, 51, 55, 57, 64, 67, 80, 81})
"""The APIs that Kafka's brokers may pass on to their controller."""


class ForwardedClient:
    """Who asked. It has of a Connection what handlers of such requests, and quotas, look at."""

    def __init__(self, principal: str, address: str, listener: str) -> None:
        """`listener` is the one that the other node came in by."""
        self.principal = principal
        self.address = address
        self.peer = (address, 0)
        self.listener = listener
        self.client = ("unknown", "unknown")
        self.throttle_ms = 0
        self.spent_ns = 0
        self.muted = True
        """Whoever passes it on does not wait; he tells his client to."""
