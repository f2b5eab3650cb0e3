"""`barnabas topics describe`: tables for people, JSON for programs, --plain for scripts that read kafka-topics.sh."""

from __future__ import annotations

import argparse
from collections.abc import Mapping
from typing import Any

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output
from barnabas.cli.topics.checks import REPORTS
from barnabas.cli.topics.described import DescribedPartition, DescribedTopic, described_topics, is_reported
from barnabas.cli.topics.selecting import selected_topics
from barnabas.cli.units import counted, size_text
from barnabas.client.cluster import Cluster
from barnabas.client.topics import (
    INTERNAL_TOPICS,
    PARTITIONS_AT_ONCE,
    TopicState,
    describe_topics,
    describe_topics_by_id,
)
from barnabas.protocol.schema import Uuid

__all__ = ["describe", "tell"]


def describe(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    topics = described_topics(
        cluster, _states(cluster, arguments), sizes=not arguments.plain, offsets=arguments.offsets
    )
    if arguments.topics_with_overrides:
        topics = [topic for topic in topics if topic.own_configs]
    elif _reports(arguments):
        live = {node.node_id for node in cluster.nodes}
        for topic in topics:
            topic.partitions = [each for each in topic.partitions if is_reported(topic, each, arguments, live)]
        topics = [topic for topic in topics if topic.partitions]
    tell(topics, arguments, output)


def tell(topics: list[DescribedTopic], arguments: argparse.Namespace, output: Output) -> None:
    if output.as_json:
        output.json([_topic_json(topic, arguments) for topic in topics])
    elif arguments.plain:
        _plainly(topics, arguments, output)
    elif arguments.topics_with_overrides:
        rows = [[each.state.name, _configs_text(each.own_configs, "  ")] for each in topics]
        output.table(["topic", "configs"], rows)
    elif _reports(arguments):
        _report(topics, arguments, output)
    else:
        for number, topic in enumerate(topics):
            if number:
                output.line()
            _table(topic, output, offsets=arguments.offsets)


def _reports(arguments: argparse.Namespace) -> list[str]:
    """Those that were asked for."""
    return [name for name in REPORTS if getattr(arguments, name)]


def _states(cluster: Cluster, arguments: argparse.Namespace) -> list[TopicState]:
    """A topic id counts more than names, unless it is zero: that is nobody's."""
    topic_id = _topic_id(arguments.topic_id)
    if topic_id != Uuid.ZERO:
        found = [
            state
            for state in describe_topics_by_id(cluster, [topic_id])
            if not (arguments.exclude_internal and state.name in INTERNAL_TOPICS)
        ]
        if not found and not arguments.if_exists:
            raise CommandFailed(f"There is no topic with the id {topic_id}: see barnabas topics --describe.")
        return found
    limit = arguments.partition_size_limit_per_response or PARTITIONS_AT_ONCE
    return describe_topics(cluster, selected_topics(cluster, arguments), limit)


def _topic_id(text: str | None) -> Uuid:
    try:
        return Uuid.parse(text) if text else Uuid.ZERO
    except ValueError:
        raise WrongUsage(f"--topic-id {text} is no id of a topic, which has 22 letters.") from None


# For people

_COLUMNS = ["partition", "leader", "replicas", "isr"]


def _table(topic: DescribedTopic, output: Output, *, offsets: bool) -> None:
    state = topic.state
    count = len(topic.partitions)
    factor = topic.partitions[0].replication_factor if topic.partitions else 0
    about = [counted(count, "partition"), counted(factor, "replica")]
    about += [f"id {state.topic_id}"] if state.topic_id != Uuid.ZERO else []
    output.line(f"{output.good(state.name)}: {', '.join(about)}")
    if topic.set_configs:
        output.line(f"  {_configs_text(topic.set_configs, '  ')}")
    columns, cells = list(_COLUMNS), [_cells(each) for each in topic.partitions]

    def add(title: str, values: list[Any]) -> None:
        columns.append(title)
        for row, value in zip(cells, values, strict=True):
            row.append(value)

    _add_eligible(columns, cells, topic.partitions)
    if any(each.reassignment for each in topic.partitions):
        add("adding", [_ids(each.reassignment and each.reassignment.adding_replicas) for each in topic.partitions])
        add("removing", [_ids(each.reassignment and each.reassignment.removing_replicas) for each in topic.partitions])
    add("size", [None if each.size_bytes is None else size_text(each.size_bytes) for each in topic.partitions])
    if offsets:
        add("first offset", [each.first_offset for each in topic.partitions])
        add("end offset", [each.end_offset for each in topic.partitions])
        add("messages", [each.messages for each in topic.partitions])
        add("lag", [each.lag for each in topic.partitions])
    output.table(columns, cells)
    _warn(topic, output)


def _report(topics: list[DescribedTopic], arguments: argparse.Namespace, output: Output) -> None:
    if topics:
        found = [(topic.state.name, each) for topic in topics for each in topic.partitions]
        columns, rows = ["topic", *_COLUMNS], [[name, *_cells(each)] for name, each in found]
        _add_eligible(columns, rows, [each for _, each in found])
        output.table(columns, rows)
    else:
        wanted = (name.removesuffix("_partitions").replace("_", "-") for name in _reports(arguments))
        output.note(f"There are no {' or '.join(wanted)} partitions.")


def _cells(partition: DescribedPartition) -> list[Any]:
    state = partition.state
    leader = "none" if state.leader is None else state.leader
    return [state.number, leader, _ids(state.replicas), _ids(state.isr)]


def _add_eligible(columns: list[str], rows: list[list[Any]], partitions: list[DescribedPartition]) -> None:
    """Where there are any: mostly all are in sync."""
    if any(each.state.elr or each.state.last_known_elr for each in partitions):
        columns += ["elr", "last known elr"]
        for row, each in zip(rows, partitions, strict=True):
            row += [_ids(each.state.elr), _ids(each.state.last_known_elr)]


def _warn(topic: DescribedTopic, output: Output) -> None:
    leaderless = [each.state.number for each in topic.partitions if each.state.leader is None]
    lagging = [each.state.number for each in topic.partitions if len(each.state.isr) < each.replication_factor]
    if leaderless:
        output.line(output.bad(f"Without a leader: {_ids(leaderless)}; a broker that has a replica must start."))
    if lagging:
        output.line(output.warn(f"Under-replicated: {_ids(lagging)}"))


def _configs_text(configs: Mapping[str, str | None], divider: str) -> str:
    return divider.join(f"{key}={_text(value)}" for key, value in configs.items())


def _ids(numbers: Any) -> str:
    return ",".join(map(str, numbers or ()))


def _text(value: str | None) -> str:
    return "null" if value is None else value


# As kafka-topics.sh


def _plainly(topics: list[DescribedTopic], arguments: argparse.Namespace, output: Output) -> None:
    for topic in topics:
        state = topic.state
        if not _reports(arguments):
            first = topic.partitions[0]
            topic_id = f"\tTopicId: {state.topic_id}" if state.topic_id != Uuid.ZERO else ""
            output.line(
                f"Topic: {state.name}{topic_id}\tPartitionCount: {len(topic.partitions)}"
                f"\tReplicationFactor: {first.replication_factor}\tConfigs: {_configs_text(topic.own_configs, ',')}"
            )
        if not arguments.topics_with_overrides:
            for partition in topic.partitions:
                output.line(_plain_line(state.name, partition))


def _plain_line(topic: str, partition: DescribedPartition) -> str:
    state, moving = partition.state, partition.reassignment
    parts = {
        "Topic": topic,
        "Partition": state.number,
        "Leader": "none" if state.leader is None else state.leader,
        "Replicas": _ids(state.replicas),
        "Isr": _ids(state.isr),
    }
    if moving is not None:
        parts |= {"Adding Replicas": _ids(moving.adding_replicas), "Removing Replicas": _ids(moving.removing_replicas)}
    parts["Elr"] = "N/A" if state.elr is None else _ids(state.elr)
    parts["LastKnownElr"] = "N/A" if state.last_known_elr is None else _ids(state.last_known_elr)
    return "".join(f"\t{name}: {value}" for name, value in parts.items())


# For programs


def _topic_json(topic: DescribedTopic, arguments: argparse.Namespace) -> dict[str, Any]:
    state = topic.state
    told: dict[str, Any] = {
        "topic": state.name,
        "topic_id": str(state.topic_id),
        "internal": state.internal,
        "partition_count": len(state.partitions),
        "replication_factor": len(state.partitions[0].replicas),
        "configs": topic.own_configs,
    }
    if not arguments.topics_with_overrides:
        told["partitions"] = [_partition_json(each, offsets=arguments.offsets) for each in topic.partitions]
    return told


def _partition_json(partition: DescribedPartition, *, offsets: bool) -> dict[str, Any]:
    state, moving = partition.state, partition.reassignment
    told: dict[str, Any] = {
        "partition": state.number,
        "leader": state.leader,
        "replicas": list(state.replicas),
        "isr": list(state.isr),
        "offline_replicas": list(state.offline),
        "elr": None if state.elr is None else list(state.elr),
        "last_known_elr": None if state.last_known_elr is None else list(state.last_known_elr),
        "adding_replicas": list(moving.adding_replicas) if moving else [],
        "removing_replicas": list(moving.removing_replicas) if moving else [],
        "size_bytes": partition.size_bytes,
    }
    if offsets:
        told |= {
            "first_offset": partition.first_offset,
            "end_offset": partition.end_offset,
            "messages": partition.messages,
            "lag": partition.lag,
        }
    return told
