"""Client quotas at work: what requests cost is counted, and who used more than his quota is not read for a while.

There is one only while somebody has a quota: `node.throttles` is None else, and nothing is paid. The answer is sent at
once and says how long the client has to wait; meanwhile its connection is muted, for those that do not listen.
"""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TYPE_CHECKING

import trio

from barnabas.broker.call import Call
from barnabas.broker.connection import Connection
from barnabas.coordination.cluster.quotas import ClientQuotas
from barnabas.coordination.quotas.clients import (
    CONSUMER_BYTES,
    MUTATIONS,
    PRODUCER_BYTES,
    REQUEST_PERCENTAGE,
    QuotaUse,
    has_any,
    quota_of,
)
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["Throttles", "throttles_for"]

PRODUCE, FETCH = 0, 1
EXEMPT = frozenset({52, 53, 54, 56, 58, 59, 82})
"""What nodes ask each other about the metadata and its partitions; and Envelope, whose content is counted."""
PERCENT_PER_NS = 100 / 1_000_000_000
MANY_BYTES = 2**31 - 1
LIMITS = (PRODUCER_BYTES, CONSUMER_BYTES, REQUEST_PERCENTAGE, MUTATIONS)


def throttles_for(node: Node, quotas: ClientQuotas, before: Throttles | None) -> Throttles | None:
    """None if nobody has a quota."""
    if not any(has_any(quotas, key) for key in LIMITS):
        return None
    return before or Throttles(node, quotas)


class Throttles:
    def __init__(self, node: Node, quotas: ClientQuotas) -> None:
        config = node.config
        self._node = node
        self._quotas = quotas
        self._use = QuotaUse(config.quota_window_num, config.quota_window_size_seconds * 1000)
        self._mutations = QuotaUse(
            config.controller_quota_window_num, config.controller_quota_window_size_seconds * 1000
        )
        self._began_ns = 0

    # Around a request

    def begin(self) -> None:
        self._began_ns = time.perf_counter_ns()

    def wait(self, call: Call) -> None:
        """The request waits from now on: that costs nothing."""
        call.connection.spent_ns = time.perf_counter_ns() - self._began_ns

    def end(self, call: Call, response: Message | None) -> None:
        """Tell the client of its answer how long to wait, and mute its connection."""
        connection = call.connection
        throttle_ms = connection.throttle_ms
        connection.throttle_ms = 0
        if call.api.key != FETCH and call.api.key not in EXEMPT:
            if call.api.key == PRODUCE:
                throttle_ms = max(throttle_ms, self._charge(call, PRODUCER_BYTES, call.size))
            if response is not None:
                throttle_ms = max(throttle_ms, self._charge_time(call))
        connection.spent_ns = 0
        if throttle_ms <= 0:
            return
        if response is not None and hasattr(response, "throttle_time_ms"):
            response.throttle_time_ms = throttle_ms
        if not connection.muted:
            connection.muted = True
            self._node.start_soon(_unmute_later, connection, throttle_ms)

    def _charge_time(self, call: Call) -> int:
        spent_ns = call.connection.spent_ns or time.perf_counter_ns() - self._began_ns
        throttle_ms = self._charge(call, REQUEST_PERCENTAGE, spent_ns * PERCENT_PER_NS)
        return min(throttle_ms, self._use.window_ms)

    def _charge(self, call: Call, key: str, value: float) -> int:
        found = quota_of(self._quotas, key, call.principal, call.client_id or "")
        if found is None:
            return 0
        scope, limit = found
        now_ms = self._node.clock.steady.now_ms()
        rate = self._use.rate(key, scope, now_ms)
        rate.record(value, now_ms)
        return rate.throttle_ms(limit, now_ms)

    # What single APIs ask

    def fetch_max_bytes(self, call: Call) -> int:
        """More would be throttled whatever came before it, and never get through."""
        found = quota_of(self._quotas, CONSUMER_BYTES, call.principal, call.client_id or "")
        if found is None:
            return MANY_BYTES
        return int(found[1] * (self._use.windows - 1) * self._use.window_ms / 1000)

    def charge_fetch(self, call: Call, size: int) -> int:
        """An answer of that size: if the client has to wait, an empty one is sent, which is not counted."""
        time_ms = self._charge_time(call)
        throttle_ms = max(time_ms, self._charge(call, CONSUMER_BYTES, size))
        if throttle_ms > 0:
            self._charge(call, CONSUMER_BYTES, -size)
            call.connection.throttle_ms = throttle_ms
        return throttle_ms

    def admit_mutations(self, call: Call, *, refuses: bool) -> Callable[[int], None] | None:
        """Asked for every topic with its number of partitions. Where it refuses, it does so only once the quota is used
        up; else everything gets through, and the client waits afterwards."""
        found = quota_of(self._quotas, MUTATIONS, call.principal, call.client_id or "")
        if found is None:
            return None
        scope, limit = found

        def admit(count: int) -> None:
            now_ms = self._node.clock.steady.now_ms()
            bucket = self._mutations.bucket(MUTATIONS, scope, limit, now_ms)
            throttle_ms = bucket.throttle_ms(now_ms)
            if throttle_ms and refuses:
                call.connection.throttle_ms = max(call.connection.throttle_ms, throttle_ms)
                raise KafkaError(
                    ErrorCode.THROTTLING_QUOTA_EXCEEDED,
                    f"too many partitions are made or deleted; try again in {throttle_ms} ms",
                )
            bucket.record(count, now_ms)
            if not refuses:
                call.connection.throttle_ms = max(call.connection.throttle_ms, bucket.throttle_ms(now_ms))

        return admit


async def _unmute_later(connection: Connection, throttle_ms: int) -> None:
    await trio.sleep(throttle_ms / 1000)
    connection.unmute()
