"""What the leader of a partition with other replicas knows: its followers, who is in sync, and what it has proposed.

Two sets are in sync while a change is under way: the committed one, and the one with whoever is about to join. What
counts has to be with all of the larger one, so that the change may come true at any moment, or never.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import LeaderRecoveryState, Partition
from barnabas.coordination.replication.follower import ANY_EPOCH, UNKNOWN, Follower
from barnabas.coordination.replication.in_sync import InSyncChange, Refusal, meaning_of
from barnabas.protocol.messages.alter_partition import ResponsePartitionData

__all__ = ["LeaderState"]

Brokers = Mapping[int, BrokerRegistration]


class LeaderState:
    def __init__(self, node_id: int) -> None:
        self.node_id = node_id
        self.leader_epoch = -1
        self.partition_epoch = -1
        self.epoch_start = UNKNOWN
        self.followers: dict[int, Follower] = {}
        self.in_sync: tuple[int, ...] = ()
        """Those that the controller has committed, this one among them."""
        self.pending: InSyncChange | None = None

    def __repr__(self) -> str:
        change = "" if self.pending is None else f", soon {self.pending.in_sync}"
        return f"<LeaderState in epoch {self.leader_epoch}, in sync {self.in_sync}{change}>"

    def take(self, state: Partition, epoch_start: int, now_ms: int, *, is_new_leader: bool) -> bool:
        """What the metadata has by now; False if the controller has answered with that, or something later, already.
        `epoch_start` is where the log ended when the leader's epoch began.

        Kafka takes it again where it has had the answer, and with that takes back what it has proposed since, which the
        controller may have committed: for a moment records count then that one in sync does not have."""
        if (state.leader_epoch, state.partition_epoch) <= (self.leader_epoch, self.partition_epoch):
            return False
        self.followers = {
            broker_id: self.followers.get(broker_id) or Follower(broker_id)
            for broker_id in state.replicas
            if broker_id != self.node_id
        }
        self.in_sync, self.pending = state.isr, None
        if state.leader_epoch > self.leader_epoch:
            self.leader_epoch = state.leader_epoch
            self.epoch_start = epoch_start
            for follower in self.followers.values():
                in_sync = follower.broker_id in state.isr
                follower.begin(epoch_start, now_ms, is_new_leader=is_new_leader, in_sync=in_sync)
        self.partition_epoch = state.partition_epoch
        return True

    # Who is in sync

    @property
    def maximal_size(self) -> int:
        """Of the larger set."""
        return len(self.in_sync) + (self.pending is not None and self.pending.joins is not None)

    def is_held_up_by(self, broker_id: int) -> bool:
        """Whether it is of the larger set."""
        return broker_id in self.in_sync or (self.pending is not None and self.pending.joins == broker_id)

    def needed_in_sync(self, min_in_sync: int) -> int:
        """min.insync.replicas may be more than there are."""
        return min(min_in_sync, len(self.followers) + 1)

    def lagging(self, log_end: int, now_ms: int, max_lag_ms: int) -> tuple[int, ...]:
        """Who is in sync and should not be; nobody while a change is under way."""
        if self.pending is not None:
            return ()
        return tuple(
            broker_id
            for broker_id in self.in_sync
            if broker_id != self.node_id and not self._is_caught_up(broker_id, log_end, now_ms, max_lag_ms)
        )

    def _is_caught_up(self, broker_id: int, log_end: int, now_ms: int, max_lag_ms: int) -> bool:
        follower = self.followers.get(broker_id)
        return follower is not None and follower.is_caught_up(log_end, now_ms, max_lag_ms)

    def may_expand(self, follower: Follower, high_watermark: int, brokers: Brokers) -> bool:
        """It has what counts, and everything from before this leader: some of that may have counted already."""
        return (
            self.pending is None
            and follower.broker_id not in self.in_sync
            and follower.log_end >= high_watermark
            and follower.log_end >= self.epoch_start
            and follower.may_join(brokers)
        )

    # Changing that

    def expand(self, broker_id: int, broker_epoch: int) -> InSyncChange:
        return self._propose((*self.in_sync, broker_id), broker_epoch, joins=broker_id)

    def shrink(self, lagging: Sequence[int], broker_epoch: int) -> InSyncChange:
        return self._propose(tuple(one for one in self.in_sync if one not in lagging), broker_epoch, joins=None)

    def _propose(self, in_sync: tuple[int, ...], broker_epoch: int, *, joins: int | None) -> InSyncChange:
        self.pending = InSyncChange(
            in_sync,
            tuple(broker_epoch if one == self.node_id else self._broker_epoch(one) for one in in_sync),
            self.leader_epoch,
            self.partition_epoch,
            # Whatever an unclean election left open, this leader has settled by leading.
            LeaderRecoveryState.RECOVERED,
            joins,
        )
        return self.pending

    def _broker_epoch(self, broker_id: int) -> int:
        """Of one in sync that has not fetched yet any will do: if its broker ends, the controller takes it out, and
        refuses what was proposed before."""
        follower = self.followers.get(broker_id)
        epoch = None if follower is None else follower.broker_epoch
        return ANY_EPOCH if epoch is None else epoch

    def accepted(self, change: InSyncChange, answer: ResponsePartitionData) -> bool:
        """Whether that is news: the metadata may have told already, or of something later."""
        if (
            self.pending is not change
            or answer.leader_epoch != self.leader_epoch
            or answer.partition_epoch < self.partition_epoch
        ):
            return False
        self.in_sync, self.pending = tuple(answer.isr), None
        self.partition_epoch = answer.partition_epoch
        return True

    def refused(self, change: InSyncChange, code: int) -> bool:
        """Whether it has to be proposed again. Otherwise it is taken back, or stands until the metadata tells more."""
        if self.pending is not change:
            return False
        meaning = meaning_of(code)
        if meaning is Refusal.NOT_DONE:
            self.pending = None
        return meaning is Refusal.TRY_AGAIN

    # Offsets

    def high_watermark(
        self, own_end: int, log_end: int, min_in_sync: int, now_ms: int, max_lag_ms: int, brokers: Brokers
    ) -> int:
        """Up to where records count: what all in sync have, and those who have caught up and only wait to be let in,
        since otherwise they would never reach it. Nothing more counts while fewer are in sync than have to be.
        `own_end` is what this leader has for sure, `log_end` all it has."""
        if len(self.in_sync) < self.needed_in_sync(min_in_sync):
            return UNKNOWN
        counts = own_end
        for follower in self.followers.values():
            if follower.log_end < counts and (
                self.is_held_up_by(follower.broker_id)
                or (follower.is_caught_up(log_end, now_ms, max_lag_ms) and follower.may_join(brokers))
            ):
                counts = follower.log_end
        return counts

    def low_watermark(self, log_start: int, brokers: Brokers) -> int:
        """From where on all replicas have their records whose brokers are alive."""
        starts = [log_start]
        for follower in self.followers.values():
            broker = brokers.get(follower.broker_id)
            if broker is not None and not broker.fenced:
                starts.append(follower.log_start)
        return min(starts)
