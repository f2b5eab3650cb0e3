"""`barnabas cluster quorum`: what kafka-metadata-quorum.sh does, with its lines."""

from __future__ import annotations

import argparse
import json
import time
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from barnabas.cli.actions import Actions
from barnabas.cli.cluster.controllers import added_controller
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument, columns_of_kafka, confirm, watch
from barnabas.client.cluster import Cluster, check
from barnabas.protocol.messages.add_raft_voter import AddRaftVoterResponse
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    Node,
    PartitionData,
    ReplicaState,
    ResponsePartitionData,
    TopicData,
)
from barnabas.protocol.messages.remove_raft_voter import RemoveRaftVoterRequest, RemoveRaftVoterResponse
from barnabas.protocol.schema import Uuid

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "describe": "who leads the quorum, who votes and who follows (--status, --replication)",
        "add-controller": "let the controller of --command-config vote",
        "remove-controller": "let a controller vote no more",
    },
    operand="status|replication",
    default="describe",
)
_METADATA_TOPIC = "__cluster_metadata"
_HEADERS = ("NodeId", "DirectoryId", "LogEndOffset", "Lag", "LastFetchTimestamp", "LastCaughtUpTimestamp", "Status")


class Quorum(NamedTuple):
    cluster_id: str
    log: ResponsePartitionData
    nodes: dict[int, Node]

    @property
    def leader(self) -> ReplicaState:
        return next(each for each in self.log.current_voters if each.replica_id == self.log.leader_id)

    @property
    def replicas(self) -> list[tuple[str, ReplicaState]]:
        voters = self.log.current_voters
        followers = [each for each in voters if each.replica_id != self.log.leader_id]
        return [
            ("Leader", self.leader),
            *(("Follower", each) for each in followers),
            *(("Observer", each) for each in self.log.observers),
        ]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    parser.add_argument("--status", action="store_true", help="describe: the quorum in short")
    parser.add_argument("--replication", action="store_true", help="describe: each of its members")
    parser.add_argument("--human-readable", action="store_true", help="with --replication: how long ago")
    parser.add_argument("--controller-id", "-i", type=int, metavar="ID", help="remove-controller: which")
    parser.add_argument("--controller-directory-id", "-d", metavar="ID", help="remove-controller: and its directory")
    parser.add_argument("--dry-run", action="store_true", help="say only what would be done")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_connection_arguments(parser, controllers=["--bootstrap-controller"])
    add_watch_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    output = Output(as_json=arguments.json)
    if action == "add-controller":
        _add(arguments, output)
    elif action == "remove-controller":
        _remove(arguments, output)
    else:
        _describe(arguments, words, output)


# Describing


def _describe(arguments: argparse.Namespace, words: Sequence[str], output: Output) -> None:
    wanted = {*words, *(name for name in ("status", "replication") if getattr(arguments, name))}
    if unknown := wanted - {"status", "replication"}:
        raise WrongUsage(f"{', '.join(sorted(unknown))} cannot be described: name --status or --replication")
    if len(wanted) > 1:
        raise WrongUsage("--status and --replication are two questions: name one of them")
    if arguments.human_readable and wanted != {"replication"}:
        raise WrongUsage("--human-readable goes with --replication only")
    with connect(arguments) as cluster:
        watch(arguments, output, lambda: _show(cluster, wanted == {"replication"}, arguments.human_readable, output))


def _show(cluster: Cluster, replication: bool, human_readable: bool, output: Output) -> None:
    quorum = _ask(cluster)
    if output.as_json:
        output.json(_told(quorum))
    elif replication:
        rows = [_row(quorum, status, each, human_readable) for status, each in quorum.replicas]
        for line in columns_of_kafka(_HEADERS, rows):
            output.line(line)
    else:
        for line in _status(quorum):
            output.line(line)


def _ask(cluster: Cluster) -> Quorum:
    topic = TopicData(topic_name=_METADATA_TOPIC, partitions=[PartitionData(partition_index=0)])
    answer = cluster.ask_controller(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
    check(answer.error_code, answer.error_message)
    (log,) = answer.topics[0].partitions
    check(log.error_code, log.error_message)
    if all(each.replica_id != log.leader_id for each in log.current_voters):
        raise CommandFailed("The quorum has no leader now: see that more than half of its controllers run.")
    return Quorum(cluster.describe().cluster_id, log, {node.node_id: node for node in answer.nodes})


def _told(quorum: Quorum) -> dict[str, object]:
    log = quorum.log
    return {
        "cluster_id": quorum.cluster_id,
        "leader_id": log.leader_id,
        "leader_epoch": log.leader_epoch,
        "high_watermark": log.high_watermark,
        "replicas": [
            {
                "id": each.replica_id,
                "directory_id": str(each.replica_directory_id),
                "status": status.lower(),
                "log_end_offset": each.log_end_offset,
                "lag": quorum.leader.log_end_offset - each.log_end_offset,
                "last_fetch_ms": each.last_fetch_timestamp,
                "last_caught_up_ms": each.last_caught_up_timestamp,
                "endpoints": _endpoints(quorum, each),
            }
            for status, each in quorum.replicas
        ],
    }


def _row(quorum: Quorum, status: str, replica: ReplicaState, human_readable: bool) -> list[object]:
    lag = quorum.leader.log_end_offset - replica.log_end_offset
    moments = (replica.last_fetch_timestamp, replica.last_caught_up_timestamp)
    times = [_ago(each) if human_readable else each for each in moments]
    return [replica.replica_id, replica.replica_directory_id, replica.log_end_offset, lag, *times, status]


def _ago(moment_ms: int) -> str:
    if moment_ms < 0:
        return "-1"
    return f"{max(0, int(time.time() * 1000) - moment_ms)} ms ago"


def _status(quorum: Quorum) -> list[str]:
    log = quorum.log
    slowest = min(log.current_voters, key=lambda each: each.log_end_offset)
    return [
        f"ClusterId:              {quorum.cluster_id}",
        f"LeaderId:               {log.leader_id}",
        f"LeaderEpoch:            {log.leader_epoch}",
        f"HighWatermark:          {log.high_watermark}",
        f"MaxFollowerLag:         {quorum.leader.log_end_offset - slowest.log_end_offset}",
        f"MaxFollowerLagTimeMs:   {_lag_ms(quorum.leader, slowest)}",
        f"CurrentVoters:          {_members(quorum, log.current_voters)}",
        f"CurrentObservers:       {_members(quorum, log.observers)}",
    ]


def _lag_ms(leader: ReplicaState, slowest: ReplicaState) -> int:
    """-1: not known."""
    if slowest is leader:
        return 0
    if min(leader.last_caught_up_timestamp, slowest.last_caught_up_timestamp) < 0:
        return -1
    return leader.last_caught_up_timestamp - slowest.last_caught_up_timestamp


def _members(quorum: Quorum, replicas: Iterable[ReplicaState]) -> str:
    return "[" + ", ".join(_member(quorum, each) for each in replicas) + "]"


def _member(quorum: Quorum, replica: ReplicaState) -> str:
    parts = [f'"id": {replica.replica_id}']
    if any(replica.replica_directory_id):
        parts.append(f'"directoryId": "{replica.replica_directory_id}"')
    if endpoints := _endpoints(quorum, replica):
        parts.append(f'"endpoints": {json.dumps(endpoints)}')
    return "{" + ", ".join(parts) + "}"


def _endpoints(quorum: Quorum, replica: ReplicaState) -> list[str]:
    node = quorum.nodes.get(replica.replica_id)
    listeners = node.listeners if node else []
    return [f"{each.name}://{f'[{each.host}]' if ':' in each.host else each.host}:{each.port}" for each in listeners]


# Changing


def _add(arguments: argparse.Namespace, output: Output) -> None:
    if arguments.command_config is None:
        raise WrongUsage("add-controller reads what the new controller is from its own file: --command-config FILE")
    request, sentence = added_controller(arguments.command_config)
    if not arguments.dry_run:
        with connect(arguments) as cluster:
            request.timeout_ms = int(cluster.timeout_s * 1000)
            answer = cluster.ask_controller(request, AddRaftVoterResponse)
            check(answer.error_code, answer.error_message)
    output.line(f"{'DRY RUN of adding' if arguments.dry_run else 'Added'} {sentence}")
    if output.as_json:
        directory_id = str(request.voter_directory_id)
        output.json({"added": request.voter_id, "directory_id": directory_id, "dry_run": arguments.dry_run})


def _remove(arguments: argparse.Namespace, output: Output) -> None:
    voter_id = arguments.controller_id
    if voter_id is None or arguments.controller_directory_id is None:
        raise WrongUsage("name the controller: --controller-id ID --controller-directory-id ID")
    if voter_id < 0:
        raise WrongUsage(f"--controller-id {voter_id} is negative")
    try:
        directory_id = Uuid.parse(arguments.controller_directory_id)
    except ValueError:
        raise WrongUsage(f"--controller-directory-id {arguments.controller_directory_id} is no id") from None
    if not arguments.dry_run:
        confirm(f"Let controller {voter_id} vote no more?", yes=arguments.yes)
        request = RemoveRaftVoterRequest(cluster_id=None, voter_id=voter_id, voter_directory_id=directory_id)
        with connect(arguments) as cluster:
            answer = cluster.ask_controller(request, RemoveRaftVoterResponse)
            check(answer.error_code, answer.error_message)
    # Two spaces after "removing", as Kafka has them.
    done = "DRY RUN of removing " if arguments.dry_run else "Removed "
    output.line(f"{done} KRaft controller {voter_id} with directory id {directory_id}")
    if output.as_json:
        output.json({"removed": voter_id, "directory_id": str(directory_id), "dry_run": arguments.dry_run})
