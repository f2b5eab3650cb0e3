"""Which quota counts for a client, and what it has used of it.

The most specific one counts, and who shares a quota that is not for each shares nothing of its use: a user's quota is
used by all its clients together, a client id's by all users together, and that of both by those who have both. An
entity named by default stands for everybody who has none of his own, each for himself.
"""

from __future__ import annotations

from barnabas.coordination.cluster.quotas import CLIENT_ID, IP, USER, ClientQuotas, QuotaEntity
from barnabas.coordination.quotas.rate import Rate, TokenBucket

__all__ = [
    "CONNECTION_RATE",
    "CONSUMER_BYTES",
    "MUTATIONS",
    "PRODUCER_BYTES",
    "REQUEST_PERCENTAGE",
    "QuotaUse",
    "Scope",
    "connection_rate",
    "has_any",
    "quota_of",
]

PRODUCER_BYTES = "producer_byte_rate"
CONSUMER_BYTES = "consumer_byte_rate"
REQUEST_PERCENTAGE = "request_percentage"
MUTATIONS = "controller_mutation_rate"
CONNECTION_RATE = "connection_creation_rate"

Scope = tuple[str, str]
"""The user and the client id that use a quota together; "" where any counts."""

DEFAULT = None


def _entity(user: str | None, client_id: str | None) -> QuotaEntity:
    return ((CLIENT_ID, client_id), (USER, user))


def quota_of(quotas: ClientQuotas, key: str, user: str, client_id: str) -> tuple[Scope, float] | None:
    """Who uses the quota together with this client, and how much it is."""
    steps: tuple[tuple[QuotaEntity, Scope], ...] = (
        (_entity(user, client_id), (user, client_id)),
        (_entity(user, DEFAULT), (user, client_id)),
        (((USER, user),), (user, "")),
        (_entity(DEFAULT, client_id), (user, client_id)),
        (_entity(DEFAULT, DEFAULT), (user, client_id)),
        (((USER, DEFAULT),), (user, "")),
        (((CLIENT_ID, client_id),), ("", client_id)),
        (((CLIENT_ID, DEFAULT),), ("", client_id)),
    )
    for entity, scope in steps:
        limit = quotas.of(entity).get(key)
        if limit is None:
            continue
        # Without a client id there is nobody whose quota it could be.
        if not client_id and any(kind == CLIENT_ID for kind, _ in entity):
            continue
        return scope, limit
    return None


def connection_rate(quotas: ClientQuotas, address: str) -> float | None:
    for name in (address, DEFAULT):
        limit = quotas.of(((IP, name),)).get(CONNECTION_RATE)
        if limit is not None:
            return limit
    return None


def has_any(quotas: ClientQuotas, key: str) -> bool:
    return any(key in limits for limits in quotas.by_entity.values())


class QuotaUse:
    """What everybody has used lately. Who has been silent for the time that counts is forgotten."""

    def __init__(self, windows: int, window_ms: int) -> None:
        self.windows = windows
        self.window_ms = window_ms
        self._rates: dict[tuple[str, Scope], Rate] = {}
        self._buckets: dict[tuple[str, Scope], TokenBucket] = {}
        self._look_again_at = 1_000

    def __len__(self) -> int:
        return len(self._rates) + len(self._buckets)

    def rate(self, key: str, scope: Scope, now_ms: int) -> Rate:
        found = self._rates.get((key, scope))
        if found is None:
            self._make_room(now_ms)
            found = self._rates[key, scope] = Rate(self.windows, self.window_ms)
        return found

    def bucket(self, key: str, scope: Scope, limit: float, now_ms: int) -> TokenBucket:
        found = self._buckets.get((key, scope))
        if found is None:
            self._make_room(now_ms)
            found = self._buckets[key, scope] = TokenBucket(limit, self.windows, self.window_ms)
        elif found.rate != limit:
            changed = TokenBucket(limit, self.windows, self.window_ms)
            found.throttle_ms(now_ms)
            changed.throttle_ms(now_ms)
            changed.tokens = min(found.tokens, changed.burst)
            found = self._buckets[key, scope] = changed
        return found

    def _make_room(self, now_ms: int) -> None:
        if len(self) < self._look_again_at:
            return
        self._rates = {name: rate for name, rate in self._rates.items() if not rate.is_idle(now_ms)}
        self._buckets = {name: bucket for name, bucket in self._buckets.items() if not bucket.is_idle(now_ms)}
        self._look_again_at = max(1_000, 2 * len(self))
