"""What people do on a site, and what its services log of it: page views, searches, sign-ins, service logs.

Pure: the same seed and the same moments give the same records, byte for byte. A few people and a few pages have most of
it (Zipf's law); who comes signs in first, and then does one thing after the other, seconds or minutes apart.
"""

from __future__ import annotations

from bisect import bisect
from collections.abc import Iterable, Iterator
from heapq import heappop, heappush
from itertools import accumulate
from random import Random
from typing import NamedTuple

from barnabas.pipeline.generating.happenings import PAGE_VIEWS, SEARCHES, SIGN_INS, Happening, Services, log_line
from barnabas.pipeline.generating.malformed import spoil

__all__ = ["Record", "records"]

_PAGES_EACH = 8
"""On average, what somebody does after signing in."""
_SEARCHES = 0.2
_SIGN_IN_FAILS = 0.06
_BETWEEN_MS = (9.8, 0.9)
"""Of a log-normal distribution: 18 s in the middle, a minute and a half for one in twenty."""
_LATE_MS = (12.5, 1.6)
"""Five minutes in the middle, over an hour for one in fifteen: phones that were without a network."""
_SECTIONS = ("products", "articles", "help", "offers", "forum")
_ADJECTIVES = ("blue", "quiet", "early", "wild", "small", "northern", "old", "bright", "plain", "late")
_NOUNS = ("river", "lamp", "garden", "coat", "bicycle", "harbour", "kettle", "field", "piano", "window", "bridge")


class Record(NamedTuple):
    topic: str
    key: bytes
    value: bytes
    written_ms: int


class _Session:
    __slots__ = ("left", "name", "page", "to_log", "user")

    def __init__(self, name: str, user: str, left: int) -> None:
        self.name = name
        self.user = user
        self.left = left
        self.page = ""
        """The one they are on; none before they have signed in."""
        self.to_log = ""
        """The topic of what they just did, which a service has still to log."""


def records(
    moments: Iterable[int], *, seed: int, users: int, pages: int, late: float = 0.0, malformed: float = 0.0
) -> Iterator[Record]:
    """One for each moment; shares of them tell of what happened earlier, or cannot be read."""
    crowd = _Crowd(Random(seed), users, pages, Services(seed))  # noqa: S311 - no secret
    random = crowd.random
    waiting: list[tuple[int, int, _Session]] = []
    for number, at in enumerate(moments):
        session = heappop(waiting)[2] if waiting and waiting[0][0] <= at else crowd.newcomer()
        happened = at - int(random.lognormvariate(*_LATE_MS)) if random.random() < late else at
        topic, value, wait_ms = crowd.next_of(session, happened)
        if random.random() < malformed:
            value = spoil(topic, value, random)
        yield Record(topic, session.user.encode(), value, at)
        if session.left > 0 or session.to_log:
            heappush(waiting, (at + wait_ms, number, session))


class _Crowd:
    def __init__(self, random: Random, users: int, pages: int, services: Services) -> None:
        self.random = random
        self._users = [f"user-{number}" for number in range(1, users + 1)]
        self._pages = [_page(number) for number in range(pages)]
        self._user_weights = _zipf(users, 0.9)
        self._page_weights = _zipf(pages, 1.1)
        self._services = services
        self._sessions = 0

    def newcomer(self) -> _Session:
        self._sessions += 1
        left = 1 + int(self.random.expovariate(1 / _PAGES_EACH))
        return _Session(f"session-{self._sessions}", self._draw(self._users, self._user_weights), left)

    def next_of(self, session: _Session, at_ms: int) -> tuple[str, bytes, int]:
        """What comes next of somebody, and how long until the next after that."""
        if session.to_log:
            line = log_line(self._services, session.to_log, session.user, at_ms, self.random)
            session.to_log = ""
            return (*line, int(self.random.lognormvariate(*_BETWEEN_MS)))
        topic, value = self._does(session, at_ms)
        session.to_log = topic
        return topic, value, 10 + int(self.random.random() * 200)

    def _does(self, session: _Session, at_ms: int) -> tuple[str, bytes]:
        random, happening = self.random, Happening(session.user, session.name, at_ms)
        if not session.page:
            succeeded = random.random() >= _SIGN_IN_FAILS
            session.page = "/" if succeeded else ""
            return SIGN_INS, happening.sign_in(("password", "passkey", "code")[int(random.random() * 3)], succeeded)
        session.left -= 1
        if random.random() < _SEARCHES:
            words = f"{_ADJECTIVES[int(random.random() * 10)]} {_NOUNS[int(random.random() * 11)]}"
            return SEARCHES, happening.search(words, int(random.expovariate(0.05)))
        before, session.page = session.page, self._draw(self._pages, self._page_weights)
        return PAGE_VIEWS, happening.page_view(session.page, before, 20 + int(random.expovariate(0.012)))

    def _draw(self, names: list[str], weights: list[float]) -> str:
        return names[bisect(weights, self.random.random() * weights[-1], 0, len(names) - 1)]


def _zipf(count: int, exponent: float) -> list[float]:
    return list(accumulate(rank**-exponent for rank in range(1, count + 1)))


def _page(number: int) -> str:
    if number == 0:
        return "/"
    rest, adjective = divmod(number * 7, len(_ADJECTIVES))
    name = f"{_ADJECTIVES[adjective]}-{_NOUNS[rest % len(_NOUNS)]}"
    return f"/{_SECTIONS[number % len(_SECTIONS)]}/{name}-{number}"
