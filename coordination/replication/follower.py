"""What a leader knows of one follower: what it has, as its Fetches say, and when it last had everything."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["ANY_EPOCH", "UNKNOWN", "Follower"]

UNKNOWN = -1
ANY_EPOCH = -1
"""A follower's that does not say which run of its broker it is: Fetch before version 15."""

_LONG_AGO_MS = -(1 << 62)


class Follower:
    __slots__ = ("broker_epoch", "broker_id", "caught_up_ms", "fetched_ms", "leader_end", "log_end", "log_start")

    def __init__(self, broker_id: int) -> None:
        self.broker_id = broker_id
        self.log_start = UNKNOWN
        self.log_end = UNKNOWN
        self.leader_end = 0
        """Where the leader's log ended when this one fetched last."""
        self.fetched_ms = _LONG_AGO_MS
        self.caught_up_ms = _LONG_AGO_MS
        """The last moment of which it is known that everything had been fetched that the leader had then."""
        self.broker_epoch: int | None = None
        """Of the run of its broker that fetched last; None before it has."""

    def __repr__(self) -> str:
        return f"<Follower {self.broker_id}, {self.log_start} to {self.log_end}>"

    def begin(self, leader_end: int, now_ms: int, *, is_new_leader: bool, in_sync: bool) -> None:
        """An election: who was in sync has the whole of replica.lag.time.max.ms to show that it still is, and who was
        not holds up nobody before it fetches. A leader that goes on knows still what the others have."""
        moment_ms = now_ms if in_sync else _LONG_AGO_MS
        self.caught_up_ms = moment_ms
        if is_new_leader:
            self.log_start = self.log_end = self.leader_end = UNKNOWN
            self.fetched_ms = _LONG_AGO_MS
            self.broker_epoch = None
        else:
            self.leader_end = leader_end
            self.fetched_ms = moment_ms

    def fetched(self, offset: int, log_start: int, *, leader_end: int, now_ms: int, broker_epoch: int) -> None:
        """From this offset on, so that it has all before. One that always fetches a little less than there is by then,
        and each time what there was the time before, keeps up as well."""
        if offset >= leader_end:
            self.caught_up_ms = max(self.caught_up_ms, now_ms)
        elif offset >= self.leader_end:
            self.caught_up_ms = max(self.caught_up_ms, self.fetched_ms)
        self.log_start, self.log_end = log_start, offset
        self.leader_end = max(self.leader_end, leader_end)
        self.fetched_ms = now_ms
        self.broker_epoch = broker_epoch

    def is_caught_up(self, leader_end: int, now_ms: int, max_lag_ms: int) -> bool:
        return self.log_end == leader_end or now_ms - self.caught_up_ms <= max_lag_ms

    def may_join(self, brokers: Mapping[int, BrokerRegistration]) -> bool:
        """Whether the controller would have it in sync: its broker is in service, and it is this run of the broker that
        fetched. One that has restarted since may have lost what the run before had."""
        broker = brokers.get(self.broker_id)
        return broker is not None and broker.active and self.broker_epoch in (broker.epoch, ANY_EPOCH)

    def check_epoch(self, broker_epoch: int, brokers: Mapping[int, BrokerRegistration]) -> None:
        """A request of an earlier run of the broker, which came late, says nothing of what it has now."""
        broker = brokers.get(self.broker_id)
        if broker_epoch != ANY_EPOCH and broker is not None and not broker.fenced and broker.epoch > broker_epoch:
            raise KafkaError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"broker {self.broker_id} has registered in epoch {broker.epoch}, and fetches as of {broker_epoch}",
            )
