"""One question about many partitions, or many groups: each broker is asked for those that are its own, and what its
broker cannot answer just now (a new leader, a coordinator that loads) is asked again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.deadline import Deadline
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["ask_coordinators", "ask_leaders", "error_of"]

_FIRST_PAUSE_S, _LONGEST_PAUSE_S = 0.05, 0.5
_PATIENCE_WITH_PARTITIONS_S = 3.0
"""A partition without a leader, or of a topic that is not there, mostly stays so: others shall not wait for it."""

Key = TypeVar("Key")
Result = TypeVar("Result")
Ask = Callable[[int, list[Key]], Mapping[Key, Result | KafkaError]]
"""Asks that broker for these, and says what it answered for each."""


def error_of(code: int, message: str | None = None) -> KafkaError | None:
    return KafkaError(ErrorCode(code), message or "") if code else None


def ask_leaders(
    cluster: Cluster, partitions: Iterable[Partition], ask: Ask[Partition, Result], *, patient: bool = True
) -> dict[Partition, Result | KafkaError]:
    """`patient`: those without a leader may get one in a moment, those that are not there have just been made."""
    patience_s = min(cluster.timeout_s, _PATIENCE_WITH_PARTITIONS_S)
    return _ask_each(cluster, list(partitions), _by_leader, ask, patience_s, patient=patient)


def ask_coordinators(cluster: Cluster, groups: Iterable[str], ask: Ask[str, Result]) -> dict[str, Result | KafkaError]:
    return _ask_each(cluster, list(dict.fromkeys(groups)), _by_coordinator, ask, cluster.timeout_s)


def _ask_each(
    cluster: Cluster,
    keys: list[Key],
    spread: Callable[[Cluster, list[Key]], tuple[Mapping[int, list[Key]], Mapping[Key, KafkaError]]],
    ask: Ask[Key, Result],
    patience_s: float,
    *,
    patient: bool = True,
) -> dict[Key, Result | KafkaError]:
    """In the order of the keys."""
    deadline = Deadline(patience_s)
    pause_s = _FIRST_PAUSE_S
    found: dict[Key, Result | KafkaError] = {}
    rest = keys
    while rest:
        nodes, lost = spread(cluster, rest)
        found |= lost
        for node_id, own in nodes.items():
            found |= ask(node_id, own)
        rest = [key for key in rest if _may_pass(found[key]) and (patient or key not in lost)]
        if not rest or deadline.rest_s <= pause_s:
            break
        cluster.forget()
        deadline.sleep(pause_s)
        pause_s = min(pause_s * 2, _LONGEST_PAUSE_S)
    return {key: found[key] for key in keys}


def _may_pass(result: object) -> bool:
    return isinstance(result, KafkaError) and result.code.retriable


def _by_leader(
    cluster: Cluster, partitions: list[Partition]
) -> tuple[dict[int, list[Partition]], dict[Partition, KafkaError]]:
    topics = {topic.name: topic for topic in cluster.metadata(sorted({each.topic for each in partitions})).topics}
    leaders = {
        (name, each.partition_index): each.leader_id for name, topic in topics.items() for each in topic.partitions
    }
    nodes: dict[int, list[Partition]] = {}
    lost: dict[Partition, KafkaError] = {}
    for partition in partitions:
        topic = topics[partition.topic]
        leader = leaders.get(partition)
        if topic.error_code:
            lost[partition] = KafkaError(ErrorCode(topic.error_code), f"topic {partition.topic}")
        elif leader is None:
            lost[partition] = KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"partition {partition}")
        elif leader < 0:
            lost[partition] = KafkaError(ErrorCode.LEADER_NOT_AVAILABLE, f"partition {partition}")
        else:
            nodes.setdefault(leader, []).append(partition)
    return nodes, lost


def _by_coordinator(cluster: Cluster, groups: list[str]) -> tuple[dict[int, list[str]], dict[str, KafkaError]]:
    nodes: dict[int, list[str]] = {}
    lost: dict[str, KafkaError] = {}
    cluster.find_coordinators(groups)
    for group in groups:
        try:
            nodes.setdefault(cluster.coordinator_of(group), []).append(group)
        except KafkaError as error:
            lost[group] = error
    return nodes, lost
