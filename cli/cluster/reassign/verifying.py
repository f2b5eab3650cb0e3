"""`reassign --verify` and `--list`: how far it has come."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from barnabas.cli.cluster.reassign import throttles
from barnabas.cli.cluster.reassign.looking import (
    Directories,
    Moving,
    current_replicas,
    directories_of,
    known_brokers,
    moving,
)
from barnabas.cli.cluster.reassign.plan import Plan, Replica
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster, Partition

__all__ = ["clear_throttles", "list_moving", "move_state", "partition_state", "verify"]


class State(NamedTuple):
    done: bool
    name: str
    sentence: str


def list_moving(cluster: Cluster, output: Output) -> None:
    ongoing = moving(cluster)
    if output.as_json:
        output.json(
            [
                {"topic": topic, "partition": number, **each._asdict()}
                for (topic, number), each in sorted(ongoing.items())
            ]
        )
        return
    if not ongoing:
        output.line("No partition reassignments found.")
        return
    output.line("Current partition reassignments:")
    for partition, each in sorted(ongoing.items()):
        output.line(_line(partition, each))


def _line(partition: Partition, each: Moving) -> str:
    adding = f" adding: {_ids(each.adding)}." if each.adding else ""
    removing = f" removing: {_ids(each.removing)}." if each.removing else ""
    return f"{partition}: replicas: {_ids(each.replicas)}.{adding}{removing}"


def _ids(ids: Iterable[int]) -> str:
    return ",".join(map(str, ids))


def verify(cluster: Cluster, plan: Plan, output: Output, *, keep_throttles: bool) -> None:
    ongoing = moving(cluster)
    topics = {partition.topic for partition in plan.replicas if partition not in ongoing}
    current = current_replicas(cluster, topics, must_be=False)
    partitions = {
        partition: partition_state(partition, partition in ongoing, current.get(partition, []), target)
        for partition, target in plan.replicas.items()
    }
    output.line("Status of partition reassignment:")
    for _, state in sorted(partitions.items()):
        output.line(state.sentence)
    found = directories_of(cluster, plan.directories)
    moves = {replica: move_state(replica, found.get(replica), target) for replica, target in plan.directories.items()}
    output.line("\n".join(state.sentence for _, state in sorted(moves.items())))
    if not ongoing and all(state.done for state in moves.values()) and not keep_throttles:
        clear_throttles(cluster, plan, output)
    if output.as_json:
        output.json({"partitions": _told(partitions), "directories": _told(moves)})


def _told(states: Mapping[Partition, State] | Mapping[Replica, State]) -> list[dict[str, object]]:
    return [{"what": str(each), "state": state.name, "done": state.done} for each, state in sorted(states.items())]


def partition_state(partition: Partition, is_moving: bool, current: list[int], target: list[int]) -> State:
    if is_moving:
        return State(False, "moving", f"Reassignment of partition {partition} is still in progress.")
    if current == target:
        return State(True, "completed", f"Reassignment of partition {partition} is completed.")
    sentence = (
        f"There is no active reassignment of partition {partition}, "
        f"but replica set is {_ids(current)} rather than {_ids(target)}."
    )
    return State(True, "elsewhere", sentence)


def move_state(replica: Replica, found: Directories | None, target: str) -> State:
    name, node_id = f"{replica.topic}-{replica.number}", replica.node_id
    if found is None:
        sentence = f"Partition {name} cannot be found in any live log directory on broker {node_id}."
        return State(True, "missing", sentence)
    if found.current is None:
        sentence = (
            f"Partition {name} is not found in any live log dir on broker {node_id}. "
            "There is likely an offline log directory on the broker."
        )
        return State(True, "missing", sentence)
    if found.future == target:
        return State(False, "moving", f"Reassignment of replica {replica} is still in progress.")
    if found.future is not None:
        where = f"is being moved to log dir {found.future} instead of {target}."
        return State(False, "moving elsewhere", f"Partition {name} on broker {node_id} {where}")
    if found.current == target:
        return State(True, "completed", f"Reassignment of replica {replica} completed successfully.")
    where = f"is not being moved from log dir {found.current} to {target}."
    return State(True, "elsewhere", f"Partition {name} on broker {node_id} {where}")


def clear_throttles(cluster: Cluster, plan: Plan, output: Output) -> None:
    """Of all brokers: who had a part in an earlier reassignment is not known."""
    brokers = {*known_brokers(cluster), *(node_id for replicas in plan.replicas.values() for node_id in replicas)}
    topics = {partition.topic for partition in plan.replicas}
    output.line(f"Clearing broker-level throttles on broker{'' if len(brokers) == 1 else 's'} {_ids(sorted(brokers))}")
    throttles.clear_brokers(cluster, brokers)
    output.line(f"Clearing topic-level throttles on topic{'' if len(topics) == 1 else 's'} {','.join(sorted(topics))}")
    throttles.clear_topics(cluster, topics)
