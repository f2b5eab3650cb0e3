"""What a leader does about its followers: hears what they have, lets them in and puts them out, says what counts.

coordination/replication/ decides; this has the clock, the cluster as it is, and whom to tell.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, NamedTuple

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import Partition as PartitionState
from barnabas.coordination.replication.follower import UNKNOWN
from barnabas.coordination.replication.in_sync import InSyncChange
from barnabas.coordination.replication.leader_state import LeaderState
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition import ResponsePartitionData
from barnabas.replication.watermark import Watermark

if TYPE_CHECKING:
    from barnabas.replication.partition import Partition

__all__ = ["Leading", "Surroundings"]


class Surroundings(NamedTuple):
    """What the leaders of one node share."""

    brokers: Callable[[], Mapping[int, BrokerRegistration]]
    """As the metadata has them now."""
    broker_epoch: Callable[[], int]
    """This node's own."""
    now_ms: Callable[[], int]
    """Of a clock that nobody sets."""
    max_lag_ms: int
    """replica.lag.time.max.ms"""
    propose: Callable[[Partition, InSyncChange], None]
    """To the controller, whose answer comes to the partition."""


class Leading:
    """Of one partition, for as long as it leads and has other replicas."""

    def __init__(self, partition: Partition, node_id: int, surroundings: Surroundings) -> None:
        self.state = LeaderState(node_id)
        self.low_watermark = Watermark(UNKNOWN)
        """From where on all replicas that are alive have their records. One that is new takes it back."""
        self._partition = partition
        self._around = surroundings

    def __repr__(self) -> str:
        return f"<Leading of {self._partition.name}: {self.state}>"

    def take(self, state: PartitionState, epoch_start: int, *, is_new_leader: bool) -> bool:
        """What the metadata has by now; False if the controller has answered with something later already."""
        is_news = self.state.take(state, epoch_start, self._around.now_ms(), is_new_leader=is_new_leader)
        if is_news:
            self.settle_low_watermark()
        return is_news

    # Followers

    def has_follower(self, broker_id: int) -> bool:
        return broker_id in self.state.followers

    def fetched(self, broker_id: int, offset: int, log_start: int, broker_epoch: int) -> None:
        """A follower fetches from there on. KafkaError if that is of an earlier run of its broker."""
        partition, state, brokers = self._partition, self.state, self._around.brokers()
        follower = state.followers[broker_id]
        follower.check_epoch(broker_epoch, brokers)
        end_before, start_before = follower.log_end, follower.log_start
        follower.fetched(
            offset,
            log_start,
            leader_end=partition.log.end_offset,
            now_ms=self._around.now_ms(),
            broker_epoch=broker_epoch,
        )
        if start_before != log_start:
            self.settle_low_watermark()
        if state.may_expand(follower, partition.high_watermark.offset, brokers):
            self._around.propose(partition, state.expand(broker_id, self._around.broker_epoch()))
        if end_before != offset:
            partition.advance()

    def shrink_in_sync(self) -> None:
        """Those go who have lagged for too long."""
        around = self._around
        lagging = self.state.lagging(self._partition.log.end_offset, around.now_ms(), around.max_lag_ms)
        if lagging:
            around.propose(self._partition, self.state.shrink(lagging, around.broker_epoch()))

    # What the controller said

    def accepted(self, change: InSyncChange, answer: ResponsePartitionData) -> None:
        if self.state.accepted(change, answer):
            self._partition.advance()

    def refused(self, change: InSyncChange, code: int) -> bool:
        """Whether it has to be proposed again."""
        return self.state.refused(change, code)

    # What counts

    def check_enough(self) -> None:
        needed, in_sync = self._needed, len(self.state.in_sync)
        if in_sync < needed:
            raise KafkaError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"{self._partition.name} has {in_sync} replicas in sync of the {needed} that min.insync.replicas wants",
            )

    @property
    def lacks_replicas(self) -> bool:
        """Fewer are in sync than have to be, counted with whoever is about to join: what is appended already may have
        come to fewer."""
        return self.state.maximal_size < self._needed

    @property
    def _needed(self) -> int:
        return self.state.needed_in_sync(self._partition.log.config.min_insync_replicas)

    def high_watermark(self, own_end: int) -> int:
        """Up to where records count; less than has counted already is no news. `own_end` is what this leader has for
        sure."""
        log, around = self._partition.log, self._around
        needed, now_ms, lag_ms = log.config.min_insync_replicas, around.now_ms(), around.max_lag_ms
        return self.state.high_watermark(own_end, log.end_offset, needed, now_ms, lag_ms, around.brokers())

    def settle_low_watermark(self) -> None:
        start = self._partition.log.start_offset
        self.low_watermark.begin(self.state.low_watermark(start, self._around.brokers()))
