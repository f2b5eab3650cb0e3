"""The rates of replication, and the replicas here for which they hold, as the configurations have them now."""

from __future__ import annotations

from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.partitions import Partitions
from barnabas.coordination.quotas.replication import ReplicationQuota, is_named
from barnabas.replication.partition import Partition

__all__ = ["ReplicaThrottles"]


class ReplicaThrottles:
    """`leader` is of what followers fetch here, `follower` of what this node fetches."""

    def __init__(self, config: NodeConfig) -> None:
        windows, window_ms = config.replication_quota_window_num, config.replication_quota_window_size_seconds * 1000
        self._node_id = config.node_id
        self.leader = ReplicationQuota(config.leader_replication_throttled_rate, windows, window_ms)
        self.follower = ReplicationQuota(config.follower_replication_throttled_rate, windows, window_ms)

    def attend(self, partitions: Partitions) -> None:
        partitions.on_open.append(self._configured)
        partitions.on_configure.append(self._configured)
        partitions.on_close.append(self._closed)

    def set_rates(self, config: NodeConfig) -> None:
        self.leader.bytes_per_second = config.leader_replication_throttled_rate
        self.follower.bytes_per_second = config.follower_replication_throttled_rate

    def _configured(self, partition: Partition) -> None:
        (topic, number), config = partition.name, partition.log.config
        for quota, replicas in (
            (self.leader, config.leader_replication_throttled_replicas),
            (self.follower, config.follower_replication_throttled_replicas),
        ):
            quota.throttle(topic, number, bool(replicas) and is_named(replicas, number, self._node_id))

    def _closed(self, partition: Partition) -> None:
        for quota in (self.leader, self.follower):
            quota.throttle(*partition.name, False)
