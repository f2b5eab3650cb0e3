"""A topic with all that `describe` tells of it, and which of its partitions a report is about."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.configs import Resource, ResourceKind, Source, describe_configs
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from barnabas.client.topics import LogSize, PartitionState, TopicState, log_sizes, reassignments
from barnabas.protocol.messages.describe_configs import DescribeConfigsResourceResult
from barnabas.protocol.messages.list_partition_reassignments import OngoingPartitionReassignment

__all__ = ["DescribedPartition", "DescribedTopic", "described_topics", "is_reported"]


@dataclass
class DescribedPartition:
    state: PartitionState
    reassignment: OngoingPartitionReassignment | None
    logs: Mapping[int, LogSize] = field(default_factory=dict)
    """By broker."""
    first_offset: int | None = None
    end_offset: int | None = None

    @property
    def replication_factor(self) -> int:
        """Without the replicas that a reassignment under way adds."""
        moving = self.reassignment
        if moving is not None and set(self.state.replicas) & {*moving.adding_replicas, *moving.removing_replicas}:
            return len(moving.replicas) - len(moving.adding_replicas)
        return len(self.state.replicas)

    @property
    def size_bytes(self) -> int | None:
        """Of the leader's log."""
        log = None if self.state.leader is None else self.logs.get(self.state.leader)
        return None if log is None else log.size_bytes

    @property
    def messages(self) -> int | None:
        """Offsets, to be exact: a compacted log has fewer messages, one with transactions too."""
        if self.first_offset is None or self.end_offset is None:
            return None
        return self.end_offset - self.first_offset

    @property
    def lag(self) -> int | None:
        """Of the replica that is farthest behind."""
        return max((log.offset_lag for log in self.logs.values()), default=None)


@dataclass
class DescribedTopic:
    state: TopicState
    configs: Sequence[DescribeConfigsResourceResult]
    partitions: list[DescribedPartition]

    @property
    def own_configs(self) -> dict[str, str | None]:
        """Those that are not Kafka's defaults: set for the topic, or for brokers. Kafka's tool tells of these."""
        return self._configs(lambda source: source != Source.DEFAULT_CONFIG)

    @property
    def set_configs(self) -> dict[str, str | None]:
        """Those that are set for the topic itself."""
        return self._configs(lambda source: source == Source.DYNAMIC_TOPIC_CONFIG)

    def _configs(self, wanted: Callable[[int], bool]) -> dict[str, str | None]:
        found = sorted(self.configs, key=lambda config: config.name)
        return {each.name: each.value for each in found if wanted(each.config_source)}

    @property
    def min_in_sync(self) -> int:
        return next((int(each.value or 1) for each in self.configs if each.name == "min.insync.replicas"), 1)


def described_topics(
    cluster: Cluster, states: Sequence[TopicState], *, sizes: bool, offsets: bool
) -> list[DescribedTopic]:
    if not states:
        return []
    configs = describe_configs(cluster, [Resource(ResourceKind.TOPIC, each.name) for each in states])
    moving = reassignments(cluster)
    logs = log_sizes(cluster, states) if sizes or offsets else {}
    first, end = ((_offsets(cluster, states, which) if offsets else {}) for which in (EARLIEST, LATEST))

    def described(topic: TopicState, state: PartitionState) -> DescribedPartition:
        at = Partition(topic.name, state.number)
        own = {node: logs[at, node] for node in state.replicas if (at, node) in logs}
        return DescribedPartition(state, moving.get(at), own, first.get(at), end.get(at))

    return [
        DescribedTopic(
            topic,
            configs[Resource(ResourceKind.TOPIC, topic.name)],
            [described(topic, state) for state in sorted(topic.partitions, key=lambda state: state.number)],
        )
        for topic in states
    ]


def _offsets(cluster: Cluster, states: Sequence[TopicState], which: int) -> dict[Partition, int]:
    """Of those that have a leader who answers."""
    led = [
        Partition(topic.name, each.number) for topic in states for each in topic.partitions if each.leader is not None
    ]
    found = list_offsets(cluster, dict.fromkeys(led, which))
    return {partition: each.offset for partition, each in found.items() if isinstance(each, FoundOffset)}


def is_reported(
    topic: DescribedTopic, partition: DescribedPartition, arguments: argparse.Namespace, live: Collection[int]
) -> bool:
    """Whether one of the reports that were asked for is about it."""
    leader, in_sync = partition.state.leader, len(partition.state.isr)
    return (
        (arguments.under_replicated_partitions and in_sync < partition.replication_factor)
        or (arguments.unavailable_partitions and (leader is None or leader not in live))
        or (arguments.under_min_isr_partitions and (leader is None or in_sync < topic.min_in_sync))
        or (arguments.at_min_isr_partitions and in_sync == topic.min_in_sync)
    )
