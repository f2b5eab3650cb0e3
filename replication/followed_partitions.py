"""The partitions that one fetcher has, and which of them it may ask for now.

Most are in its fetch session. Some rest, after an error; some are throttled; some have to be cut before anything is
appended; some have records that the disk does not have yet. The time is an argument here, and nothing waits.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordination.fetching.following_session import FollowingSession, Key
from barnabas.coordination.quotas.replication import ReplicationQuota
from barnabas.protocol.messages.fetch import FetchRequest
from barnabas.replication.following import Cut, Following

__all__ = ["FollowedPartitions"]


class FollowedPartitions:
    def __init__(self, *, partition_max_bytes: int, backoff_s: float) -> None:
        self.session = FollowingSession()
        self._partition_max_bytes = partition_max_bytes
        self._backoff_s = backoff_s
        self._all: dict[Key, Following] = {}
        self._fresh: list[Following] = []
        self._resting: dict[Following, tuple[float, Cut | None]] = {}
        """Until when, and what has to be cut then. All rest for as long, so that the first is the first to go on."""
        self._throttled: set[Following] = set()
        """Until the quota has some left."""
        self._to_cut: dict[Following, Cut] = {}
        self._unsafe: dict[Following, None] = {}

    def __len__(self) -> int:
        return len(self._all)

    @property
    def max_lag(self) -> int:
        return max((following.lag or 0 for following in self._all.values()), default=0)

    # They come and go

    def follow(self, following: Following) -> None:
        self.leave(following.key)
        self._all[following.key] = following
        self._fresh.append(following)
        self._want_or_cut(following, following.first_cut)

    def leave(self, key: Key) -> None:
        following = self._all.pop(key, None)
        if following is not None:
            self.session.leave(key)
            self._resting.pop(following, None)
            self._throttled.discard(following)
            self._to_cut.pop(following, None)
            self._unsafe.pop(following, None)

    def has(self, following: Following) -> bool:
        """And the metadata has not said anything else of it meanwhile."""
        return self._all.get(following.key) is following and following.is_current

    def asked_for(self, key: Key) -> Following | None:
        """Whom an answer is for that comes now."""
        following = self._all.get(key)
        return following if following is not None and not following.is_fresh and following.is_current else None

    # What is ready, and what is not

    def want(self, following: Following) -> None:
        """From the end of its log on: who asks for that says that he has what came before."""
        if following.is_safe:
            self.session.want(following.key[0], following.position(self._partition_max_bytes))
        else:
            self.session.leave(following.key)
            self._unsafe[following] = None

    def cut_later(self, following: Following, cut: Cut) -> None:
        self.session.leave(following.key)
        self._to_cut[following] = cut

    def take_cuts(self) -> dict[Following, Cut]:
        """What is to be cut now."""
        cuts, self._to_cut = self._to_cut, {}
        return cuts

    def take_unsafe(self) -> list[Following]:
        """Those that wait for the disk."""
        unsafe, self._unsafe = list(self._unsafe), {}
        return unsafe

    def rest(self, following: Following, now_s: float, cut: Cut | None = None) -> None:
        self.session.leave(following.key)
        self._resting.pop(following, None)
        self._resting[following] = now_s + self._backoff_s, cut

    def is_resting(self, following: Following) -> bool:
        return following in self._resting

    def wake_rested(self, now_s: float) -> None:
        while self._resting:
            following, (due_s, cut) = next(iter(self._resting.items()))
            if due_s > now_s:
                return
            del self._resting[following]
            self._want_or_cut(following, cut)

    def _want_or_cut(self, following: Following, cut: Cut | None) -> None:
        if cut is not None:
            self.cut_later(following, cut)
        else:
            self.want(following)

    def throttle(self, quota: ReplicationQuota, now_ms: int) -> None:
        """Above the rate, those wait that are throttled and not in sync."""
        if quota.is_exceeded(now_ms):
            for following in self._all.values():
                if not following.is_in_sync and quota.is_throttled(*following.partition.name) and self._asks(following):
                    self.session.leave(following.key)
                    self._throttled.add(following)
        elif self._throttled:
            for following in self._throttled:
                self.want(following)
            self._throttled.clear()

    def _asks(self, following: Following) -> bool:
        return following.key in self.session

    def next_s(self, now_s: float) -> float:
        """When there may be something to do, as far as that is known."""
        rested_s = min((due_s for due_s, _ in [*self._resting.values()][:1]), default=float("inf"))
        looks_again = bool(self._throttled or self._unsafe)
        return min(rested_s, now_s + self._backoff_s) if looks_again else rested_s

    # Requests

    def ask(self, request: FetchRequest) -> None:
        self.session.ask(request)
        for following in self._fresh:
            following.is_fresh = False
        self._fresh.clear()

    def begin_anew(self) -> None:
        """With everybody, whatever was being done about him."""
        self.session.begin_anew()
        for following in self._lost_sight_of():
            self.want(following)

    def _lost_sight_of(self) -> Iterable[Following]:
        elsewhere = self._resting.keys() | self._to_cut.keys() | self._throttled
        return [one for one in self._all.values() if one not in elsewhere and not self._asks(one)]
