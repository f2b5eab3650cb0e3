"""Who sends a Fetch: a consumer, or a follower that has to be heard; and up to where, and from whom, he may read."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.isolation import READ_COMMITTED
from barnabas.coordination.replication.follower import ANY_EPOCH
from barnabas.coordination.replication.read_replica import nearest_replica
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest
from barnabas.replication.leading import Leading
from barnabas.replication.partition import Partition
from barnabas.replication.watermark import Watermark

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["NO_EPOCH", "Reader", "replica_of"]

NO_EPOCH = -1
"""So is any below zero."""
CONSUMER = -1
FUTURE_REPLICA = -3
FIRST_WITH_RACK = 11


def replica_of(request: FetchRequest) -> int:
    """The broker that asks; consumers have negative ones."""
    return request.replica_id if request.replica_state is None else request.replica_state.replica_id


class Reader:
    __slots__ = (
        "_call",
        "_from_log_end",
        "_node",
        "_only_from_leader",
        "_racks",
        "_replica",
        "_request",
        "committed_only",
        "is_follower",
        "rack",
    )

    def __init__(self, node: Node, call: Call, request: FetchRequest) -> None:
        self._node = node
        self._call = call
        self._request = request
        self._replica = replica_of(request)
        self.is_follower = self._replica >= 0
        self._from_log_end = self.is_follower or self._replica == FUTURE_REPLICA
        self.committed_only = request.isolation_level == READ_COMMITTED and not self._from_log_end
        self._only_from_leader = self.is_follower or (self._replica == CONSUMER and call.version < FIRST_WITH_RACK)
        self.rack = "" if self.is_follower or node.config.replica_selector_class is None else request.rack_id
        """Where the consumer is, if that decides from which replica it shall read."""
        self._racks: dict[int, str | None] | None = None

    def bound(self, partition: Partition) -> Watermark:
        if self.committed_only:
            return partition.last_stable
        return partition.log_end if self._from_log_end else partition.high_watermark

    def may_read(self, partition: Partition) -> bool:
        """Without being told where to read instead."""
        if partition.leads:
            return not self.rack or partition.leading is None
        return partition.follows and not self._only_from_leader

    def check(self, partition: Partition, one: FetchPartition) -> None:
        epoch = one.current_leader_epoch
        if partition.leads and not self.is_follower and (epoch < 0 or epoch == partition.leader_epoch):
            return
        epoch = max(epoch, NO_EPOCH)
        if self._only_from_leader:
            partition.check_leader(epoch)
        else:
            partition.check_readable(epoch)
        if self.is_follower:
            self._led(partition, one)

    def nearest(self, partition: Partition, offset: int) -> int | None:
        """Another replica from which this consumer had better read."""
        if partition.leading is None:
            return None
        if self._racks is None:
            brokers = self._node.brokers_for(self._call.connection)
            self._racks = {broker_id: rack for broker_id, _, _, rack in brokers}
        return nearest_replica(partition.leading.state, offset, self.rack, self._racks)

    # A follower

    def tell(self, partition: Partition, one: FetchPartition) -> None:
        """The leader, what its follower has by now. What counts after that the follower is told with the next answer,
        as by Kafka."""
        state = self._request.replica_state
        broker_epoch = ANY_EPOCH if state is None else state.replica_epoch
        self._led(partition, one).fetched(self._replica, one.fetch_offset, one.log_start_offset, broker_epoch)

    def is_throttled(self, partition: Partition) -> bool:
        """It gets no records now, so that replicas which move leave room for others; who is in sync stays so."""
        quota = self._node.replica_throttles.leader
        return (
            self.is_follower
            and quota.is_throttled(*partition.name)
            and partition.leading is not None
            and self._replica not in partition.leading.state.in_sync
            and quota.is_exceeded(self._node.clock.steady.now_ms())
        )

    def _led(self, partition: Partition, one: FetchPartition) -> Leading:
        leading = partition.leading
        if leading is None or not leading.has_follower(self._replica):
            knows_epoch = one.current_leader_epoch > NO_EPOCH
            raise KafkaError(
                ErrorCode.UNKNOWN_LEADER_EPOCH if knows_epoch else ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"broker {self._replica} has no replica of {partition.name} that would follow this one",
            )
        return leading
