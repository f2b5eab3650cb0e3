"""Which partitions of a cluster are to be compared, from where to where."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from barnabas.cli.failures import CommandFailed
from barnabas.cli.partition_words import PartitionFilter
from barnabas.cli.replicas.brokers import Brokers
from barnabas.cli.replicas.checked import Checked
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.configs import Resource, ResourceKind, describe_configs
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, list_offsets
from barnabas.client.topics import describe_topics
from barnabas.protocol.schema import Uuid

__all__ = ["begin", "look", "topic_ids"]


def topic_ids(cluster: Cluster, wanted: PartitionFilter) -> dict[str, Uuid]:
    found = {name: topic.topic_id for name, topic in cluster.topics().items() if wanted.takes_topic(name)}
    if not found:
        raise CommandFailed("No topic is meant by that: see barnabas topics --list.")
    return found


def look(cluster: Cluster, names: Iterable[str], wanted: PartitionFilter) -> list[Checked]:
    topics = describe_topics(cluster, names)
    configs = describe_configs(cluster, [Resource(ResourceKind.TOPIC, each.name) for each in topics])
    found = []
    for topic in topics:
        policy = next(
            (
                each.value or ""
                for each in configs[Resource(ResourceKind.TOPIC, topic.name)]
                if each.name == "cleanup.policy"
            ),
            "",
        )
        for state in sorted(topic.partitions, key=lambda each: each.number):
            partition = Partition(topic.name, state.number)
            if wanted.takes(partition):
                found.append(Checked(partition, list(state.replicas), compacted="compact" in policy))
    if not found:
        raise CommandFailed("No partition is meant by that: see barnabas topics --describe.")
    return found


def begin(cluster: Cluster, brokers: Brokers, checked: Iterable[Checked], timestamp: int, *, to_end: bool) -> None:
    """Where all replicas have something, and not before the time that is asked for. `to_end`: up to where it is
    committed now; a replica that cannot be asked is left out. Otherwise it is waited for."""
    every = list(checked)
    latest = _of_leaders(cluster, every, LATEST)
    if timestamp != EARLIEST:
        from_time = latest if timestamp == LATEST else _of_leaders(cluster, every, timestamp)
    else:
        from_time = {}
    starts = brokers.starts(by_broker(every), EARLIEST)
    for each in every:
        known = []
        for replica in list(each.replicas):
            start = starts[each.partition, replica]
            if isinstance(start, int):
                known.append(start)
            elif to_end:
                each.replicas.remove(replica)
                each.absent[replica] = start
        end = latest.get(each.partition)
        if end is None and to_end:
            each.absent |= dict.fromkeys(each.replicas, "no broker leads the partition, which would know its end")
            each.replicas.clear()
        # None that young: at the end.
        wanted = from_time.get(each.partition, 0)
        each.begin(max([*known, end or 0 if wanted < 0 else wanted]))
        each.end_offset = max(end or 0, each.first_offset) if to_end else None


def _of_leaders(cluster: Cluster, checked: Iterable[Checked], timestamp: int) -> Mapping[Partition, int]:
    found = list_offsets(cluster, dict.fromkeys((each.partition for each in checked), timestamp), patient=False)
    return {partition: each.offset for partition, each in found.items() if isinstance(each, FoundOffset)}


def by_broker(checked: Iterable[Checked]) -> dict[int, list[Partition]]:
    found: dict[int, list[Partition]] = {}
    for each in checked:
        for replica in each.replicas:
            found.setdefault(replica, []).append(each.partition)
    return found
