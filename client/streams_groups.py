"""Groups of Kafka Streams (KIP-1071): who is in them, and which tasks and input partitions they have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.client.cluster import Cluster, Node
from barnabas.client.errors import NotOffered
from barnabas.client.spreading import ask_coordinators, error_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.streams_group_describe import (
    Assignment,
    DescribedGroup,
    StreamsGroupDescribeRequest,
    StreamsGroupDescribeResponse,
    Subtopology,
    TaskIds,
)

__all__ = ["StreamsGroup", "StreamsMember", "Tasks", "describe_streams_groups"]

_STREAMS_GROUP_DESCRIBE = APIS[89]

_Numbers = dict[str, list[int]]
"""Partitions, by subtopology."""


@dataclass(frozen=True, slots=True)
class Tasks:
    active: _Numbers
    standby: _Numbers
    warmup: _Numbers


@dataclass(frozen=True, slots=True)
class StreamsMember:
    member_id: str
    process_id: str
    client_id: str
    host: str
    epoch: int
    is_classic: bool
    tasks: Tasks
    target: Tasks


@dataclass(frozen=True, slots=True)
class StreamsGroup:
    name: str
    state: str
    coordinator: Node
    epoch: int
    target_epoch: int
    topology_epoch: int | None
    inputs: dict[str, list[str]]
    """The topics that each subtopology reads."""
    sources: list[str]
    """Of these, those that others write."""
    own_topics: list[str]
    """Those that the application made for itself."""
    members: list[StreamsMember]


def describe_streams_groups(cluster: Cluster, names: Iterable[str]) -> dict[str, StreamsGroup | KafkaError]:
    if _STREAMS_GROUP_DESCRIBE.key not in cluster.offered:
        raise NotOffered("These brokers have no groups of Kafka Streams: its applications are groups of consumers.")

    def ask(node_id: int, own: list[str]) -> dict[str, StreamsGroup | KafkaError]:
        request = StreamsGroupDescribeRequest(group_ids=own)
        groups = cluster.ask_node(node_id, request, StreamsGroupDescribeResponse).groups
        return {
            each.group_id: error_of(each.error_code, each.error_message) or _group(cluster.node(node_id), each)
            for each in groups
        }

    return ask_coordinators(cluster, names, ask)


def _group(node: Node, told: DescribedGroup) -> StreamsGroup:
    topology = told.topology
    parts = (topology.subtopologies or []) if topology is not None else []
    sources = {topic for each in parts for topic in each.source_topics}
    own = {topic.name for each in parts for topic in (*each.repartition_source_topics, *each.state_changelog_topics)}
    members = [
        StreamsMember(
            each.member_id,
            each.process_id,
            each.client_id,
            each.client_host,
            each.member_epoch,
            each.is_classic,
            _tasks(each.assignment),
            _tasks(each.target_assignment),
        )
        for each in told.members
    ]
    return StreamsGroup(
        told.group_id,
        told.group_state,
        node,
        told.group_epoch,
        told.assignment_epoch,
        topology.epoch if topology is not None else None,
        {each.subtopology_id: _inputs(each) for each in parts},
        sorted(sources),
        sorted(own - sources),
        members,
    )


def _inputs(told: Subtopology) -> list[str]:
    return sorted({*told.source_topics, *(each.name for each in told.repartition_source_topics)})


def _tasks(told: Assignment) -> Tasks:
    return Tasks(*(_numbers(each) for each in (told.active_tasks, told.standby_tasks, told.warmup_tasks)))


def _numbers(told: list[TaskIds]) -> _Numbers:
    return {each.subtopology_id: sorted(each.partitions) for each in told}
