"""Clients that push their metrics: what each is asked for, and whether it keeps to that.

A client is known by the instance id that it was given. What it is asked for is made of all subscriptions that match it,
when it first comes and again when they have changed. Who has not come for a while, or is one too many, is forgotten; it
is then a new client to us, and learns by its next push that its subscription is not known.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Hashable, Mapping, Sequence
from re import Pattern
from typing import NamedTuple
from zlib import crc32

from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.get_telemetry_subscriptions import (
    GetTelemetrySubscriptionsRequest,
    GetTelemetrySubscriptionsResponse,
)
from barnabas.protocol.messages.push_telemetry import PushTelemetryRequest
from barnabas.protocol.schema import Uuid

__all__ = ["ALL_METRICS", "Clients", "Subscription"]

ALL_METRICS = "*"
LONGEST_INTERVAL_MS = 300_000
"""Of who matches no subscription: he asks again after so long."""

MOST_CLIENTS = 16_384
KEPT_MS = 60_000
KEPT_INTERVALS = 3
TAKEN = (Compression.ZSTD, Compression.LZ4, Compression.GZIP, Compression.SNAPPY)
"""Best first. What is not compressed is taken too."""

RESERVED = {Uuid.ZERO, Uuid(bytes(15) + b"\1")}


class Subscription(NamedTuple):
    metrics: frozenset[str]
    """How their names begin, or ALL_METRICS."""
    interval_ms: int
    match: Mapping[str, Pattern[str]]
    """Patterns for facts of a client, all of which have to match; none match everybody."""

    def matches(self, facts: Mapping[str, str | None]) -> bool:
        return all((fact := facts.get(name)) is not None and like.fullmatch(fact) for name, like in self.match.items())


class _Client:
    __slots__ = (
        "connection",
        "expires_ms",
        "facts",
        "has_ended",
        "interval_ms",
        "last_error",
        "last_get_ms",
        "last_push_ms",
        "metrics",
        "round",
        "subscription_id",
    )

    connection: Hashable
    expires_ms: int

    def __init__(self, facts: Mapping[str, str | None]) -> None:
        self.facts = facts

    def subscribe(self, instance_id: Uuid, subscriptions: Sequence[Subscription], number: int) -> None:
        """All that is known of its requests begins anew, so that it is told of the change at once."""
        matching = [one for one in subscriptions if one.matches(self.facts)]
        wanted = {name for one in matching for name in one.metrics}
        self.metrics = [ALL_METRICS] if ALL_METRICS in wanted else sorted(wanted)
        self.interval_ms = min([LONGEST_INTERVAL_MS, *(one.interval_ms for one in matching)])
        self.subscription_id = _subscription_id(instance_id, self.metrics, self.interval_ms)
        self.round = number
        self.last_get_ms = self.last_push_ms = 0
        self.has_ended = False
        self.last_error = ErrorCode.NONE

    def may_get(self, now_ms: int) -> bool:
        if now_ms - max(self.last_get_ms, self.last_push_ms) >= self.interval_ms:
            self.last_get_ms = now_ms
            return True
        return self.last_error in (ErrorCode.UNKNOWN_SUBSCRIPTION_ID, ErrorCode.UNSUPPORTED_COMPRESSION_TYPE)

    def may_push(self, now_ms: int) -> bool:
        """The first push after a subscription may come at any time: clients spread theirs over the interval."""
        if self.last_get_ms > self.last_push_ms or now_ms - self.last_push_ms >= self.interval_ms:
            self.last_push_ms = now_ms
            return True
        return False


class Clients:
    def __init__(self, max_bytes: int, most: int = MOST_CLIENTS) -> None:
        """`max_bytes` is the most that one push may have."""
        self._max_bytes = max_bytes
        self._most = most
        self._known: OrderedDict[Uuid, _Client] = OrderedDict()
        """Who came last is last."""
        self._by_connection: dict[Hashable, Uuid] = {}
        self._subscriptions: Sequence[Subscription] = ()
        self._round = 0

    def __len__(self) -> int:
        return len(self._known)

    def subscribe(self, subscriptions: Sequence[Subscription]) -> None:
        """From now on; clients learn of it when they come next."""
        self._subscriptions = subscriptions
        self._round += 1

    def forget(self, connection: Hashable) -> None:
        """It is closed."""
        instance_id = self._by_connection.pop(connection, None)
        if instance_id is None:
            return
        client = self._known.get(instance_id)
        if client is not None and client.connection is connection:
            del self._known[instance_id]

    def ask(
        self,
        request: GetTelemetrySubscriptionsRequest,
        facts: Mapping[str, str | None],
        connection: Hashable,
        now_ms: int,
        new_id: Callable[[], Uuid],
    ) -> GetTelemetrySubscriptionsResponse:
        """What a client is to push. `new_id` names one that has no id yet."""
        instance_id = request.client_instance_id
        while instance_id == Uuid.ZERO or (instance_id in self._known and request.client_instance_id == Uuid.ZERO):
            instance_id = new_id()
        client = self._client(instance_id, facts, connection, now_ms)
        if not client.may_get(now_ms):
            raise _early(instance_id)
        client.last_error = ErrorCode.NONE
        return GetTelemetrySubscriptionsResponse(
            client_instance_id=instance_id,
            subscription_id=client.subscription_id,
            requested_metrics=client.metrics,
            accepted_compression_types=list(TAKEN),
            push_interval_ms=client.interval_ms,
            telemetry_max_bytes=self._max_bytes,
            delta_temporality=True,
        )

    def check_push(
        self, request: PushTelemetryRequest, facts: Mapping[str, str | None], connection: Hashable, now_ms: int
    ) -> None:
        """KafkaError, if it is not taken."""
        instance_id = request.client_instance_id
        if instance_id in RESERVED:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{instance_id} is no id of a client instance")
        client = self._client(instance_id, facts, connection, now_ms)
        try:
            self._check_push(client, request, now_ms)
        except KafkaError as error:
            client.last_error = error.code
            raise
        finally:
            client.has_ended = request.terminating
        client.last_error = ErrorCode.NONE

    def push_failed(self, instance_id: Uuid) -> None:
        """It was taken, and could not be kept."""
        client = self._known.get(instance_id)
        if client is not None:
            client.last_error = ErrorCode.INVALID_RECORD

    def _check_push(self, client: _Client, request: PushTelemetryRequest, now_ms: int) -> None:
        who = request.client_instance_id
        if client.has_ended:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{who} has said that it ends, and pushes again")
        if not client.may_push(now_ms) and not request.terminating:
            raise _early(who)
        if request.subscription_id != client.subscription_id:
            raise KafkaError(
                ErrorCode.UNKNOWN_SUBSCRIPTION_ID,
                f"{who} pushes for subscription {request.subscription_id}, and has {client.subscription_id}",
            )
        if request.compression_type not in set(Compression):
            raise KafkaError(
                ErrorCode.UNSUPPORTED_COMPRESSION_TYPE,
                f"{who} pushes with the unknown compression {request.compression_type}",
            )
        if len(request.metrics) > self._max_bytes:
            raise KafkaError(
                ErrorCode.TELEMETRY_TOO_LARGE,
                f"{who} pushes {len(request.metrics)} bytes, and {self._max_bytes} are allowed",
            )

    def _client(self, instance_id: Uuid, facts: Mapping[str, str | None], connection: Hashable, now_ms: int) -> _Client:
        client = self._known.get(instance_id)
        if client is not None and client.expires_ms <= now_ms:
            client = None
        if client is None:
            client = _Client({**facts, "client_instance_id": str(instance_id)})
            client.subscribe(instance_id, self._subscriptions, self._round)
            self._known[instance_id] = client
        elif client.round != self._round:
            client.subscribe(instance_id, self._subscriptions, self._round)
        client.expires_ms = now_ms + max(KEPT_MS, KEPT_INTERVALS * client.interval_ms)
        client.connection = connection
        self._by_connection[connection] = instance_id
        self._known.move_to_end(instance_id)
        if len(self._known) > self._most:
            _, oldest = self._known.popitem(last=False)
            self._by_connection.pop(oldest.connection, None)
        return client


def _early(instance_id: Uuid) -> KafkaError:
    return KafkaError(ErrorCode.THROTTLING_QUOTA_EXCEEDED, f"{instance_id} comes before its interval is over")


def _subscription_id(instance_id: Uuid, metrics: Sequence[str], interval_ms: int) -> int:
    """Another one for every client and everything that it can be asked for; signed, as it travels."""
    crc = crc32(f"{','.join(metrics)} {interval_ms}".encode(), crc32(instance_id))
    return crc - (1 << 32) if crc >> 31 else crc
