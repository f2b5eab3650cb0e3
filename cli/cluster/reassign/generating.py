"""`reassign --generate`: where the replicas of some topics could be, on brokers that are named."""

from __future__ import annotations

import json
import secrets
from collections.abc import Sequence

from barnabas.cli.cluster.reassign.looking import current_replicas, directories_of, known_brokers
from barnabas.cli.cluster.reassign.plan import Replica, as_json
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster, Partition
from barnabas.coordination.controller.placement import UsableBroker, place_replicas

__all__ = ["generate"]


def generate(cluster: Cluster, topics: Sequence[str], brokers: Sequence[int], output: Output, *, racks: bool) -> None:
    if twice := sorted({each for each in brokers if brokers.count(each) > 1}):
        raise CommandFailed(f"Broker list contains duplicate entries: {twice}.")
    if again := sorted({each for each in topics if topics.count(each) > 1}):
        raise CommandFailed(f"List of topics to reassign contains duplicate entries: {again}.")
    current = current_replicas(cluster, topics)
    replicas = [Replica(node_id, *partition) for partition, nodes in current.items() for node_id in nodes]
    directories = {
        replica: found.current for replica, found in directories_of(cluster, replicas).items() if found.current
    }
    proposed = _place(current, _usable(cluster, brokers, racks=racks))
    now, then = as_json(current, directories), as_json(proposed, {})
    if output.as_json:
        output.json({"current": now, "proposed": then})
        return
    output.line(f"Current partition replica assignment\n{_compact(now)}\n")
    output.line(f"Proposed partition reassignment configuration\n{_compact(then)}")


def _compact(value: object) -> str:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False)


def _usable(cluster: Cluster, brokers: Sequence[int], *, racks: bool) -> list[UsableBroker]:
    known = known_brokers(cluster)
    usable = [UsableBroker(each, known[each] if racks else None, False) for each in brokers if each in known]
    if len({each.rack is None for each in usable}) > 1:
        raise CommandFailed("Not all brokers have rack information: --disable-rack-aware goes on without it.")
    return usable


def _place(current: dict[Partition, list[int]], brokers: list[UsableBroker]) -> dict[Partition, list[int]]:
    """As a controller places those of new topics."""
    proposed: dict[Partition, list[int]] = {}
    for topic in sorted({partition.topic for partition in current}):
        numbers = [partition.number for partition in current if partition.topic == topic]
        replicas = len(current[Partition(topic, min(numbers))])
        placed = place_replicas(brokers, len(numbers), replicas, secrets.randbits(48))
        proposed |= {Partition(topic, number): nodes for number, nodes in enumerate(placed)}
    return proposed
