"""Topics of the target kept as those of the source: made, given more partitions, configured."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.settings import Settings
from barnabas.cli.units import counted
from barnabas.client.cluster import Cluster, check
from barnabas.client.configs import Resource, ResourceKind, Source, alter_configs, describe_configs
from barnabas.client.deadline import Deadline
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_configs import DescribeConfigsResourceResult
from barnabas.protocol.messages.metadata import MetadataResponseTopic
from barnabas.protocol.schema import Uuid

__all__ = ["Mirrored", "keep_in_step"]

_ONE_CLUSTERS_ALONE = frozenset(
    {
        "follower.replication.throttled.replicas",
        "leader.replication.throttled.replicas",
        "local.retention.bytes",
        "local.retention.ms",
        "message.timestamp.after.max.ms",
        "message.timestamp.before.max.ms",
        "message.timestamp.difference.max.ms",
        "message.timestamp.type",
        "min.insync.replicas",
        "remote.log.copy.disable",
        "remote.log.delete.on.disable",
        "remote.storage.enable",
        "unclean.leader.election.enable",
    }
)
"""What is about brokers, or would change the times of records."""

_UNTIL_ALL_KNOW_S = 5.0
_PAUSE_S = 0.05


class Mirrored(NamedTuple):
    source: str
    target: str
    source_id: Uuid
    target_id: Uuid
    partitions: int


def keep_in_step(
    source: Cluster,
    target: Cluster,
    settings: Settings,
    takes: Callable[[str], bool],
    note: Callable[[str], None],
) -> list[Mirrored]:
    """Those that can be copied now; a topic that has just been made may not be there before the next time."""
    topics = {
        name: topic
        for name, topic in source.topics().items()
        if takes(name) and not topic.error_code and topic.partitions
    }
    names = {name: settings.prefix + name for name in topics}
    there = target.topics()
    configs = _own_configs(source, names) if settings.configs != "none" else {}
    new = [name for name in names if names[name] not in there]
    if new:
        _make(target, {names[name]: topics[name] for name in new}, _renamed(configs, names), settings)
        for name in new:
            partitions = counted(len(topics[name].partitions), "partition")
            note(f"{names[name]} is made at the target, with {partitions}.")
    small = {
        names[name]: len(topic.partitions)
        for name, topic in topics.items()
        if names[name] in there and len(there[names[name]].partitions) < len(topic.partitions)
    }
    if small:
        _grow(target, small)
        for name, count in small.items():
            note(f"{name} has {counted(count, 'partition')} at the target now.")
    if settings.configs == "follow":
        _follow(target, {names[name]: own for name, own in configs.items() if name not in new}, note)
    now = _all_there(target, {names[name]: len(topic.partitions) for name, topic in topics.items()})
    _check_times(target, now)
    return [
        Mirrored(name, names[name], topic.topic_id, now[names[name]].topic_id, len(topic.partitions))
        for name, topic in sorted(topics.items())
        if names[name] in now
    ]


def _renamed(configs: Mapping[str, dict[str, str]], names: Mapping[str, str]) -> dict[str, dict[str, str]]:
    return {names[name]: own for name, own in configs.items()}


def _own_configs(cluster: Cluster, names: Iterable[str]) -> dict[str, dict[str, str]]:
    """What somebody has set for each topic."""
    found = describe_configs(cluster, [Resource(ResourceKind.TOPIC, name) for name in names])
    return {resource.name: _own(configs) for resource, configs in found.items()}


def _own(configs: Iterable[DescribeConfigsResourceResult]) -> dict[str, str]:
    return {
        each.name: each.value
        for each in configs
        if each.config_source == Source.DYNAMIC_TOPIC_CONFIG
        and each.name not in _ONE_CLUSTERS_ALONE
        and each.value is not None
    }


def _make(
    target: Cluster,
    topics: Mapping[str, MetadataResponseTopic],
    configs: Mapping[str, dict[str, str]],
    settings: Settings,
) -> None:
    request = CreateTopicsRequest(
        topics=[
            CreatableTopic(
                name=name,
                num_partitions=len(topic.partitions),
                replication_factor=settings.replication_factor,
                configs=[
                    CreatableTopicConfig(name=key, value=value) for key, value in sorted(configs.get(name, {}).items())
                ],
            )
            for name, topic in topics.items()
        ],
        timeout_ms=int(target.timeout_s * 1000),
    )
    for result in target.ask_controller(request, CreateTopicsResponse).topics:
        if result.error_code == ErrorCode.INVALID_CONFIG:
            raise CommandFailed(
                f"The target does not take what {result.name} is configured with ({result.error_message}): "
                "make the topic yourself, or leave configurations out with --configs none."
            )
        if result.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            check(result.error_code, result.error_message or f"topic {result.name}")


def _grow(target: Cluster, counts: Mapping[str, int]) -> None:
    request = CreatePartitionsRequest(
        topics=[CreatePartitionsTopic(name=name, count=count, assignments=None) for name, count in counts.items()],
        timeout_ms=int(target.timeout_s * 1000),
    )
    for result in target.ask_controller(request, CreatePartitionsResponse).results:
        check(result.error_code, result.error_message or f"topic {result.name}")


def _follow(target: Cluster, wanted: Mapping[str, dict[str, str]], note: Callable[[str], None]) -> None:
    if not wanted:
        return
    now = _own_configs(target, wanted)
    for name, configs in wanted.items():
        own = now[name]
        changed = {key: value for key, value in configs.items() if own.get(key) != value}
        removed = sorted(set(own) - set(configs))
        if changed or removed:
            alter_configs(target, Resource(ResourceKind.TOPIC, name), changed, removed)
            words = [f"{key}={value}" for key, value in changed.items()] + [f"no {key}" for key in removed]
            note(f"{name} is set as at the source: {', '.join(words)}.")


def _all_there(target: Cluster, counts: Mapping[str, int]) -> dict[str, MetadataResponseTopic]:
    """Brokers hear of a new topic a moment after it was made."""
    deadline = Deadline(_UNTIL_ALL_KNOW_S)
    while True:
        topics = target.topics()
        found = {
            name: topics[name]
            for name, count in counts.items()
            if name in topics and not topics[name].error_code and len(topics[name].partitions) >= count
        }
        if len(found) == len(counts) or deadline.is_over:
            return found
        deadline.sleep(_PAUSE_S)


def _check_times(target: Cluster, names: Iterable[str]) -> None:
    try:
        found = describe_configs(target, [Resource(ResourceKind.TOPIC, name) for name in names])
    except KafkaError as error:
        if error.code is ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return
        raise
    for resource, configs in found.items():
        if any(each.name == "message.timestamp.type" and each.value == "LogAppendTime" for each in configs):
            raise CommandFailed(
                f"{resource.name} at the target stamps records itself, so that their times would be lost: "
                "set its message.timestamp.type to CreateTime, or leave it out with --exclude."
            )
