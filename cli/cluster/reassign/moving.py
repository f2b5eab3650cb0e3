"""`reassign --execute` and `--cancel`: what changes the cluster."""

from __future__ import annotations

import json
from collections.abc import Mapping

from barnabas.cli.cluster.reassign import throttles
from barnabas.cli.cluster.reassign.looking import by_topic, current_replicas, directories_of, known_brokers, moving
from barnabas.cli.cluster.reassign.plan import Plan, Replica, as_json, check_executable, names_of
from barnabas.cli.cluster.reassign.verifying import clear_throttles
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output
from barnabas.cli.refusals import words_for
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.deadline import Deadline
from barnabas.client.errors import code_of
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopic,
)

__all__ = ["cancel", "execute"]

_PAUSE_S = 0.1


def execute(
    cluster: Cluster,
    plan: Plan,
    output: Output,
    *,
    additional: bool,
    keep_factor: bool,
    rate: int,
    directory_rate: int,
    timeout_s: float,
) -> None:
    """Rates below 0 are none."""
    check_executable(plan)
    proposed = plan.replicas
    ongoing = moving(cluster)
    if ongoing and not additional:
        raise CommandFailed(
            f"Cannot execute because {names_of(ongoing)} is being moved: wait for it, or add to it with --additional, "
            "which can also change its throttle."
        )
    current = _check_that_all_is_there(cluster, plan)
    replicas = [Replica(node_id, *partition) for partition, nodes in current.items() for node_id in nodes]
    places = {each: found.current for each, found in directories_of(cluster, replicas).items() if found.current}
    before = as_json(current, places)
    text = json.dumps(before, separators=(",", ":"), ensure_ascii=False)
    output.line(
        f"Current partition replica assignment\n\n{text}\n\n"
        "Save this to use as the --reassignment-json-file option during rollback"
    )
    if rate >= 0 or directory_rate >= 0:
        output.line(
            "Warning: You must run --verify periodically, until the reassignment completes, to ensure the throttle "
            "is removed."
        )
    if rate >= 0:
        throttles.set_rates(cluster, throttles.moves_of(ongoing, proposed, current), rate)
        output.line(f"The inter-broker throttle limit was set to {rate} B/s")
    if directory_rate >= 0:
        throttles.set_directory_rate(cluster, {replica.node_id for replica in plan.directories}, directory_rate)
        output.line(f"The replica-alter-dir throttle limit was set to {directory_rate} B/s")
    wanted: dict[Partition, list[int] | None] = dict(proposed)
    _raise_errors("Error reassigning partition(s)", _reassign(cluster, wanted, keep_factor=keep_factor))
    plural = "" if len(proposed) == 1 else "s"
    output.line(f"Successfully started partition reassignment{plural} for {names_of(proposed)}")
    _move_directories(cluster, plan.directories, timeout_s, output)
    if output.as_json:
        moved = {str(replica): directory for replica, directory in sorted(plan.directories.items())}
        output.json({"started": [str(each) for each in sorted(proposed)], "directories": moved, "before": before})


def _check_that_all_is_there(cluster: Cluster, plan: Plan) -> dict[Partition, list[int]]:
    """Where the partitions are now."""
    brokers = known_brokers(cluster)
    proposed = plan.replicas
    for node_id in sorted({each for replicas in proposed.values() for each in replicas}):
        if node_id not in brokers:
            known = ", ".join(map(str, sorted(brokers)))
            raise CommandFailed(f"Unknown broker id {node_id}: the cluster has {known}.")
    current = current_replicas(cluster, {partition.topic for partition in proposed})
    if missing := set(proposed) - set(current):
        raise CommandFailed(f"Unable to find partition: {names_of(missing)}.")
    return {partition: current[partition] for partition in proposed}


def cancel(cluster: Cluster, plan: Plan, output: Output, *, keep_throttles: bool, timeout_s: float) -> None:
    ongoing = moving(cluster, plan.replicas)
    active = {partition for partition, each in ongoing.items() if each.adding or each.removing}
    if active:
        _raise_errors("Error cancelling partition reassignment(s)", _reassign(cluster, dict.fromkeys(active)))
        plural = "" if len(active) == 1 else "s"
        output.line(f"Successfully cancelled partition reassignment{plural} for: {names_of(active)}")
    else:
        output.line("None of the specified partition reassignments are active.")
    found = directories_of(cluster, plan.directories)
    back = {each: places.current for each, places in found.items() if places.future and places.current}
    if back:
        _move_directories(cluster, back, timeout_s, output)
    else:
        output.line("None of the specified partition moves are active.")
    if not keep_throttles:
        clear_throttles(cluster, plan, output)
    if output.as_json:
        output.json(
            {"cancelled": [str(each) for each in sorted(active)], "directories": [str(each) for each in sorted(back)]}
        )


def _reassign(
    cluster: Cluster, wanted: Mapping[Partition, list[int] | None], *, keep_factor: bool = False
) -> dict[Partition, str]:
    """None ends a reassignment. What was refused, with why."""
    request = AlterPartitionReassignmentsRequest(
        timeout_ms=int(cluster.timeout_s * 1000),
        allow_replication_factor_change=not keep_factor,
        topics=[
            ReassignableTopic(
                name=name,
                partitions=[
                    ReassignablePartition(partition_index=number, replicas=wanted[Partition(name, number)])
                    for number in numbers
                ],
            )
            for name, numbers in by_topic(wanted).items()
        ],
    )
    answer = cluster.ask_controller(request, AlterPartitionReassignmentsResponse)
    check(answer.error_code, answer.error_message)
    return {
        Partition(topic.name, each.partition_index): words_for(code_of(each.error_code), each.error_message)
        for topic in answer.responses
        for each in topic.partitions
        if each.error_code
    }


def _raise_errors(what: str, errors: Mapping[Partition, str]) -> None:
    if errors:
        reasons = "; ".join(f"{partition}: {errors[partition]}" for partition in sorted(errors))
        raise CommandFailed(f"{what}: {reasons}.")


def _move_directories(cluster: Cluster, wanted: Mapping[Replica, str], timeout_s: float, output: Output) -> None:
    """A replica that comes to its broker by the same reassignment cannot be moved before it has come."""
    deadline = Deadline(timeout_s)
    pending = dict(wanted)
    while pending:
        for replica in sorted(_alter_directories(cluster, pending)):
            output.line(
                f"Successfully started moving log directory to {pending.pop(replica)} "
                f"for replica {replica.topic}-{replica.number} with broker {replica.node_id} "
            )
        if pending and deadline.is_over:
            plural = "" if len(pending) == 1 else "s"
            raise CommandFailed(
                f"Timed out before log directory move{plural} could be started for: {names_of(pending)}."
            )
        if pending:
            deadline.sleep(_PAUSE_S)


def _alter_directories(cluster: Cluster, wanted: Mapping[Replica, str]) -> set[Replica]:
    """Those that have begun."""
    begun = set()
    for node_id in sorted({replica.node_id for replica in wanted}):
        paths: dict[str, list[Partition]] = {}
        for replica, path in wanted.items():
            if replica.node_id == node_id:
                paths.setdefault(path, []).append(Partition(replica.topic, replica.number))
        request = AlterReplicaLogDirsRequest(
            dirs=[
                AlterReplicaLogDir(
                    path=path,
                    topics=[
                        AlterReplicaLogDirTopic(name=name, partitions=numbers)
                        for name, numbers in by_topic(partitions).items()
                    ],
                )
                for path, partitions in paths.items()
            ]
        )
        answer = cluster.ask_node(node_id, request, AlterReplicaLogDirsResponse)
        for topic in answer.results:
            for each in topic.partitions:
                replica = Replica(node_id, topic.topic_name, each.partition_index)
                if not each.error_code:
                    begun.add(replica)
                elif each.error_code != ErrorCode.REPLICA_NOT_AVAILABLE:
                    why = words_for(code_of(each.error_code))
                    raise CommandFailed(f"Failed to alter dir for {replica} to {wanted[replica]}: {why}.")
    return begun
