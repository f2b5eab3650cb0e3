"""How fast replicas move: configs of brokers and topics, set while a reassignment goes on and cleared at its end."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.cluster.reassign.looking import Moving
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["Move", "clear_brokers", "clear_topics", "moves_of", "set_directory_rate", "set_rates", "throttled_replicas"]

_TOPIC, _BROKER = 2, 4
_SET, _DELETE = 0, 1
_LEADER_RATE = "leader.replication.throttled.rate"
_FOLLOWER_RATE = "follower.replication.throttled.rate"
_DIRECTORY_RATE = "replica.alter.log.dirs.io.max.bytes.per.second"
_LEADER_REPLICAS = "leader.replication.throttled.replicas"
_FOLLOWER_REPLICAS = "follower.replication.throttled.replicas"

Settings = dict[str, str | None]


class Move(NamedTuple):
    sources: frozenset[int]
    destinations: frozenset[int]


def moves_of(
    moving: Mapping[Partition, Moving],
    proposed: Mapping[Partition, list[int]],
    current: Mapping[Partition, list[int]],
) -> dict[Partition, Move]:
    """All that moves already, and all that is proposed: a partition that moves already does so from where it began."""
    moves = {
        partition: Move(frozenset(each.replicas) - frozenset(each.adding), frozenset(each.adding))
        for partition, each in moving.items()
    }
    for partition, replicas in proposed.items():
        sources = moves[partition].sources if partition in moves else frozenset(current[partition])
        moves[partition] = Move(sources, frozenset(replicas) - sources)
    return moves


def throttled_replicas(moves: Mapping[Partition, Move]) -> dict[str, Settings]:
    """For each topic, the values of its two configs."""
    leaders: dict[str, set[str]] = {}
    followers: dict[str, set[str]] = {}
    for (topic, number), move in moves.items():
        leaders.setdefault(topic, set()).update(f"{number}:{node_id}" for node_id in move.sources)
        followers.setdefault(topic, set()).update(f"{number}:{node_id}" for node_id in move.destinations - move.sources)
    return {
        topic: {
            _LEADER_REPLICAS: ",".join(sorted(leaders[topic])),
            _FOLLOWER_REPLICAS: ",".join(sorted(followers[topic])),
        }
        for topic in leaders
    }


def set_rates(cluster: Cluster, moves: Mapping[Partition, Move], bytes_per_second: int) -> None:
    for topic, settings in throttled_replicas(moves).items():
        _alter(cluster, _TOPIC, topic, settings)
    rate = str(bytes_per_second)
    for node_id in sorted({each for move in moves.values() for each in move.sources | move.destinations}):
        _alter(cluster, _BROKER, str(node_id), {_LEADER_RATE: rate, _FOLLOWER_RATE: rate})


def set_directory_rate(cluster: Cluster, brokers: Iterable[int], bytes_per_second: int) -> None:
    for node_id in sorted(brokers):
        _alter(cluster, _BROKER, str(node_id), {_DIRECTORY_RATE: str(bytes_per_second)})


def clear_brokers(cluster: Cluster, brokers: Iterable[int]) -> None:
    for node_id in sorted(brokers):
        _alter(cluster, _BROKER, str(node_id), dict.fromkeys((_LEADER_RATE, _FOLLOWER_RATE, _DIRECTORY_RATE)))


def clear_topics(cluster: Cluster, topics: Iterable[str]) -> None:
    for topic in sorted(topics):
        _alter(cluster, _TOPIC, topic, dict.fromkeys((_LEADER_REPLICAS, _FOLLOWER_REPLICAS)))


def _alter(cluster: Cluster, kind: int, name: str, settings: Settings) -> None:
    """None takes a config away."""
    configs = [
        AlterableConfig(name=key, config_operation=_DELETE if value is None else _SET, value=value)
        for key, value in settings.items()
    ]
    resource = AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)
    request = IncrementalAlterConfigsRequest(resources=[resource], validate_only=False)
    if kind == _BROKER and int(name) in {node.node_id for node in cluster.nodes} and not cluster.of_controllers:
        answer = cluster.ask_node(int(name), request, IncrementalAlterConfigsResponse)
    else:
        answer = cluster.ask_controller(request, IncrementalAlterConfigsResponse)
    for each in answer.responses:
        check(each.error_code, each.error_message)
