"""Who is let in: how many connections there may be, of everybody and of one address, and how many may come in a second.

A listener that has no room does not accept: clients wait in the system's queue. An address that has too many is told so
by the end of its new connection, at once; one that came too often for its quota learns it when it might come again.
"""

from __future__ import annotations

import ipaddress
import socket
from collections import Counter
from contextlib import suppress
from typing import TYPE_CHECKING

from barnabas.broker.connection import Connection
from barnabas.coordination.quotas.clients import CONNECTION_RATE, QuotaUse, connection_rate
from barnabas.coordination.quotas.rate import Rate

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ConnectionLimits"]

UNLIMITED = 2**31 - 1


class ConnectionLimits:
    def __init__(self, node: Node) -> None:
        self._node = node
        config = node.static_config
        self._windows = config.quota_window_num, config.quota_window_size_seconds * 1000
        self._by_address: Counter[str] = Counter()
        self._by_listener: Counter[str] = Counter()
        self._rates: dict[str, Rate] = {}
        self._use = QuotaUse(*self._windows)
        self._overrides: tuple[object, dict[str, int]] = (None, {})

    @property
    def total(self) -> int:
        return self._by_listener.total()

    # Before a connection is accepted

    def has_room(self, listener: str) -> bool:
        config = self._node.config
        if self._by_listener[listener] >= config.of_listener(listener, "max.connections"):
            return False
        return self._is_protected(listener) or self.total < config.max_connections

    def delay_ms(self, listener: str) -> int:
        """The next one is counted: how long nobody must be accepted, so that not too many come in a second."""
        config = self._node.config
        limits = [(listener, config.of_listener(listener, "max.connection.creation.rate"))]
        if not self._is_protected(listener):
            limits.append(("", config.max_connection_creation_rate))
        now_ms = self._node.clock.steady.now_ms()
        longest_ms = 0
        for name, limit in limits:
            if limit >= UNLIMITED:
                continue
            rate = self._rates.setdefault(name, Rate(*self._windows))
            rate.record(1, now_ms)
            longest_ms = max(longest_ms, rate.throttle_ms(limit, now_ms) if limit else self._windows[1])
        return min(longest_ms, self._windows[1])

    def _is_protected(self, listener: str) -> bool:
        """Brokers get in to each other, however many clients there are."""
        return listener == self._node.config.inter_broker_listener_name and len(self._node.listeners) > 1

    # When it is here

    def has_too_many(self, address: str) -> bool:
        config = self._node.config
        most = config.max_connections_per_ip
        if config.max_connections_per_ip_overrides:
            most = self._resolved(config.max_connections_per_ip_overrides).get(address, most)
        return self._by_address[address] >= most

    def quota_delay_ms(self, address: str) -> int:
        """It is not let in, and learns so after that time; 0 if it is."""
        quotas = self._node.image.quotas
        limit = connection_rate(quotas, address) if quotas.by_entity else None
        if limit is None:
            return 0
        now_ms = self._node.clock.steady.now_ms()
        rate = self._use.rate(CONNECTION_RATE, (address, ""), now_ms)
        rate.record(1, now_ms)
        throttle_ms = min(rate.throttle_ms(limit, now_ms) if limit else self._windows[1], self._windows[1])
        if throttle_ms > 0:
            rate.record(-1, now_ms)
        return throttle_ms

    def entered(self, connection: Connection) -> None:
        self._by_address[connection.address] += 1
        self._by_listener[connection.listener] += 1

    def left(self, connection: Connection) -> None:
        self._by_listener[connection.listener] -= 1
        self._by_address[connection.address] -= 1
        if not self._by_address[connection.address]:
            del self._by_address[connection.address]

    def surplus(self) -> int:
        """How many there are too many, since the limit was lowered or brokers came in."""
        return max(self.total - self._node.config.max_connections, 0)

    def is_protected(self, connection: Connection) -> bool:
        return self._is_protected(connection.listener)

    def _resolved(self, overrides: object) -> dict[str, int]:
        """By address; names are looked up once."""
        known, resolved = self._overrides
        if known is not overrides:
            assert isinstance(overrides, dict)
            resolved = {}
            for host, most in overrides.items():
                try:
                    resolved[str(ipaddress.ip_address(host))] = most
                except ValueError:
                    with suppress(OSError):
                        resolved.update((str(each[4][0]), most) for each in socket.getaddrinfo(host, None))
            self._overrides = overrides, resolved
        return resolved
