"""The four kinds of events, as the JSON that is sent; starter.py has their schemas."""

from __future__ import annotations

from datetime import UTC, datetime
from functools import lru_cache
from random import Random
from typing import NamedTuple

import msgspec

__all__ = ["PAGE_VIEWS", "SEARCHES", "SERVICE_LOGS", "SIGN_INS", "TOPICS", "Happening", "Services", "log_line"]

PAGE_VIEWS, SEARCHES, SIGN_INS, SERVICE_LOGS = "page-views", "searches", "sign-ins", "service-logs"
TOPICS = (PAGE_VIEWS, SEARCHES, SIGN_INS, SERVICE_LOGS)
_encode = msgspec.json.Encoder().encode
_INCIDENT_MS = 600_000
_INCIDENTS = 0.04
_FAILING_THEN = 0.2


class Happening(NamedTuple):
    """Something that somebody does."""

    user: str
    session: str
    at_ms: int

    def sign_in(self, method: str, succeeded: bool) -> bytes:
        return _encode({**self._common(), "method": method, "succeeded": succeeded})

    def search(self, words: str, results: int) -> bytes:
        return _encode({**self._common(), "words": words, "results": results})

    def page_view(self, page: str, referrer: str, took_ms: int) -> bytes:
        return _encode({**self._common(), "page": page, "referrer": referrer, "took_ms": took_ms})

    def _common(self) -> dict[str, object]:
        return {"user": self.user, "session": self.session, "at": _moment(self.at_ms)}


class _Service(NamedTuple):
    name: str
    failing: float
    took_ms: float
    """On average."""


_CALLED: dict[str, tuple[_Service, ...]] = {
    SIGN_INS: (_Service("accounts", 0.006, 90),),
    SEARCHES: (_Service("search", 0.009, 140),),
    PAGE_VIEWS: (_Service("web", 0.003, 45), _Service("recommendations", 0.012, 70), _Service("prices", 0.005, 30)),
}


class Services:
    """Now and then, for ten minutes, a service fails far more often than it does otherwise."""

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self._drawn = lru_cache(256)(self._draw)

    def failing(self, service: _Service, at_ms: int) -> float:
        return _FAILING_THEN if self._drawn(service.name, at_ms // _INCIDENT_MS) else service.failing

    def _draw(self, name: str, slot: int) -> bool:
        return Random(f"{self._seed} {name} {slot}").random() < _INCIDENTS  # noqa: S311 - no secret


def log_line(services: Services, topic: str, user: str, at_ms: int, random: Random) -> tuple[str, bytes]:
    """What a service says of something that was done."""
    called = _CALLED[topic]
    service = called[int(random.random() * len(called))]
    took_ms = 1 + int(random.expovariate(1 / service.took_ms))
    level, status = "INFO", 200
    if random.random() < services.failing(service, at_ms):
        level, status = "ERROR", (500, 502, 503, 504)[int(random.random() * 4)]
        took_ms *= 8
    elif random.random() < 0.02:
        level, status = "WARN", 429
    fields = {"service": service.name, "level": level, "status": status, "took_ms": took_ms, "user": user}
    return SERVICE_LOGS, _encode({**fields, "at": _moment(at_ms)})


def _moment(at_ms: int) -> str:
    second, ms = divmod(at_ms, 1000)
    return f"{_second(second)}.{ms:03}Z"


@lru_cache(1024)
def _second(second: int) -> str:
    return datetime.fromtimestamp(second, UTC).strftime("%Y-%m-%dT%H:%M:%S")
