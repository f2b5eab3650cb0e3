"""`barnabas cluster brokers`: each broker with what it leads, what it has, and whether that is in sync."""

from __future__ import annotations

import argparse
from collections import Counter
from typing import Any

from barnabas.cli.cluster.endpoints import sorted_brokers
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument, watch
from barnabas.cli.refusals import sentence_of
from barnabas.cli.units import size_text
from barnabas.client.cluster import Cluster, check
from barnabas.client.errors import ClientError, name_of
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

__all__ = ["add_arguments", "run"]

_DESCRIBE_CLUSTER, _KNOWS_FENCED = APIS[60], 2
_HEADERS = ("id", "address", "rack", "state", "leads", "preferred", "replicas", "in sync", "size", "directories")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", nargs="*", type=int, metavar="ID", help="only these (all, those too that are fenced)")
    add_connection_arguments(parser)
    add_watch_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        watch(arguments, output, lambda: _show(cluster, arguments.ids, output))


def _show(cluster: Cluster, wanted: list[int], output: Output) -> None:
    told = _gather(cluster)
    if missing := set(wanted) - {each["id"] for each in told}:
        there = ", ".join(str(each["id"]) for each in told)
        raise CommandFailed(f"There is no broker {', '.join(map(str, sorted(missing)))}: the cluster has {there}.")
    told = [each for each in told if not wanted or each["id"] in wanted]
    if output.as_json:
        output.json(told)
        return
    output.table(_HEADERS, [_row(each, output) for each in told])


def _gather(cluster: Cluster) -> list[dict[str, Any]]:
    described = cluster.describe(include_fenced=cluster.version_of(_DESCRIBE_CLUSTER) >= _KNOWS_FENCED)
    partitions = [each for topic in cluster.topics().values() for each in topic.partitions]
    leads = Counter(each.leader_id for each in partitions)
    preferred = Counter(each.replica_nodes[0] for each in partitions if each.replica_nodes)
    replicas = Counter(node for each in partitions for node in each.replica_nodes)
    in_sync = Counter(node for each in partitions for node in each.isr_nodes)
    return [
        {
            "id": each.broker_id,
            "host": each.host,
            "port": each.port,
            "rack": each.rack,
            "fenced": each.is_fenced,
            "leads": leads[each.broker_id],
            "preferred": preferred[each.broker_id],
            "replicas": replicas[each.broker_id],
            "in_sync": in_sync[each.broker_id],
            **_directories_of(cluster, each.broker_id, fenced=each.is_fenced),
        }
        for each in sorted_brokers(described)
    ]


def _directories_of(cluster: Cluster, broker_id: int, *, fenced: bool) -> dict[str, Any]:
    """Only the broker knows them."""
    if fenced:
        return {"directories": None, "error": None}
    try:
        answer = cluster.ask_node(broker_id, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        check(answer.error_code)
    except (ClientError, KafkaError) as error:
        return {"directories": None, "error": sentence_of(error)}
    return {"directories": [_told(each) for each in sorted(answer.results, key=lambda one: one.log_dir)], "error": None}


def _told(directory: DescribeLogDirsResult) -> dict[str, Any]:
    logs = [log for topic in directory.topics for log in topic.partitions]
    return {
        "path": directory.log_dir,
        "error": name_of(directory.error_code) if directory.error_code else None,
        "cordoned": directory.is_cordoned,
        "replicas": sum(not log.is_future_key for log in logs),
        "size_bytes": sum(log.partition_size for log in logs),
    }


def _row(broker: dict[str, Any], output: Output) -> list[object]:
    directories = broker["directories"]
    return [
        broker["id"],
        f"{broker['host']}:{broker['port']}",
        broker["rack"],
        _state(broker),
        broker["leads"],
        broker["preferred"],
        broker["replicas"],
        broker["in_sync"],
        None if directories is None else size_text(sum(each["size_bytes"] for each in directories)),
        None if directories is None else _states(directories, output),
    ]


def _state(broker: dict[str, Any]) -> str:
    if broker["fenced"]:
        return "fenced"
    return "in service" if broker["error"] is None else "no answer"


def _states(directories: list[dict[str, Any]], output: Output) -> str:
    offline = [each["path"] for each in directories if each["error"] is not None]
    cordoned = sum(each["cordoned"] and each["error"] is None for each in directories)
    parts = [f"{len(directories) - len(offline)} online"]
    parts += [output.bad(f"{len(offline)} offline ({', '.join(offline)})")] if offline else []
    parts += [output.warn(f"{cordoned} cordoned")] if cordoned else []
    return ", ".join(parts)
