"""`barnabas cluster`: what there is, at a glance."""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterable
from typing import Any

from barnabas.cli.cluster.endpoints import sorted_brokers
from barnabas.cli.cluster.feature_levels import text_of_level
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument, watch
from barnabas.client.cluster import Cluster, check
from barnabas.client.errors import ClientError
from barnabas.protocol.apis import APIS
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from barnabas.protocol.messages.metadata import MetadataResponseTopic

__all__ = ["add_arguments", "run"]

_BROKER = 4
"""The type of a resource that has configs."""
_METADATA = "metadata.version"
_DESCRIBE_CLUSTER, _KNOWS_FENCED = APIS[60], 2
_HEADERS = ("id", "address", "rack", "state", "leads", "replicas", "apis", "listeners")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_connection_arguments(parser)
    add_watch_argument(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        watch(arguments, output, lambda: _show(cluster, output))


def _show(cluster: Cluster, output: Output) -> None:
    told = gather(cluster)
    if output.as_json:
        output.json(told)
        return
    width = max(map(len, told)) + 2
    for name in ("cluster_id", "controller_id", "metadata_version", "features"):
        value = told[name]
        text = ", ".join(f"{key} {level}" for key, level in value.items()) if isinstance(value, dict) else value
        output.line(f"{name.replace('_', ' '):<{width}}{'not known' if text is None else text}")
    topics = f"{told['topics']} with {told['partitions']} partitions"
    internal = f", {told['internal_topics']} internal" if told["internal_topics"] else ""
    output.line(f"{'topics':<{width}}{topics}{internal}")
    for name in ("under_replicated", "without_leader"):
        partitions = told[name]
        text = f"{len(partitions)}: {', '.join(partitions[:5])}{', ...' if len(partitions) > 5 else ''}"
        sound = output.good("none")
        output.line(f"{name.replace('_', ' '):<{width}}{output.bad(text) if partitions else sound}")
    output.line()
    output.table(_HEADERS, [_row(each) for each in told["brokers"]])


def _row(broker: dict[str, Any]) -> list[object]:
    address = f"{broker['host']}:{broker['port']}"
    state = "fenced" if broker["fenced"] else broker["error"] or "in service"
    listeners = broker["listeners"]
    return [
        broker["id"],
        address,
        broker["rack"],
        state,
        broker["leads"],
        broker["replicas"],
        broker["apis"],
        listeners,
    ]


def gather(cluster: Cluster) -> dict[str, Any]:
    described = cluster.describe(include_fenced=cluster.version_of(_DESCRIBE_CLUSTER) >= _KNOWS_FENCED)
    topics = list(cluster.topics().values())
    partitions = [(topic.name, each) for topic in topics for each in topic.partitions]
    leads = Counter(each.leader_id for _, each in partitions)
    replicas = Counter(node for _, each in partitions for node in each.replica_nodes)
    levels = _features(cluster)
    release = text_of_level(_METADATA, levels.pop(_METADATA)) if _METADATA in levels else None
    return {
        "cluster_id": described.cluster_id,
        "controller_id": _leader_of_quorum(cluster),
        "metadata_version": release,
        "features": levels,
        "topics": len(topics),
        "internal_topics": sum(topic.is_internal for topic in topics),
        "partitions": len(partitions),
        "under_replicated": _names(topics, lambda each: len(each.isr_nodes) < len(each.replica_nodes)),
        "without_leader": _names(topics, lambda each: each.leader_id < 0),
        "brokers": [
            {
                "id": each.broker_id,
                "host": each.host,
                "port": each.port,
                "rack": each.rack,
                "fenced": each.is_fenced,
                "leads": leads[each.broker_id],
                "replicas": replicas[each.broker_id],
                **_of_itself(cluster, each.broker_id, fenced=each.is_fenced),
            }
            for each in sorted_brokers(described)
        ],
    }


def _names(topics: Iterable[MetadataResponseTopic], wrong: Any) -> list[str]:
    found = ((topic.name, each.partition_index) for topic in topics for each in topic.partitions if wrong(each))
    return [f"{name}-{number}" for name, number in sorted(found)]


def _features(cluster: Cluster) -> dict[str, int]:
    request = ApiVersionsRequest(client_software_name="barnabas", client_software_version="1")
    answer = cluster.ask(request, ApiVersionsResponse)
    return {each.name: each.max_version_level for each in sorted(answer.finalized_features, key=lambda one: one.name)}


def _leader_of_quorum(cluster: Cluster) -> int | None:
    """The controller that brokers name in Metadata is any broker; who leads, the quorum knows."""
    topic = TopicData(topic_name="__cluster_metadata", partitions=[PartitionData(partition_index=0)])
    try:
        answer = cluster.ask(DescribeQuorumRequest(topics=[topic]), DescribeQuorumResponse)
        check(answer.error_code, answer.error_message)
        (log,) = answer.topics[0].partitions
        check(log.error_code, log.error_message)
    except (ClientError, KafkaError):
        # Not allowed, or a cluster with ZooKeeper: there the controller of Metadata is the one.
        return cluster.controller_id if cluster.controller_id >= 0 else None
    return log.leader_id


def _of_itself(cluster: Cluster, broker_id: int, *, fenced: bool) -> dict[str, Any]:
    """What only the broker knows; a broker that does not answer leaves it open."""
    unknown: dict[str, Any] = {"apis": None, "listeners": None, "error": None}
    if fenced:
        return unknown
    try:
        apis = len(cluster.offered_by(broker_id))
        return {"apis": apis, "listeners": _listeners(cluster, broker_id), "error": None}
    except ClientError:
        return {**unknown, "error": "does not answer"}


def _listeners(cluster: Cluster, broker_id: int) -> str | None:
    resource = DescribeConfigsResource(
        resource_type=_BROKER,
        resource_name=str(broker_id),
        configuration_keys=["advertised.listeners", "listeners"],
    )
    answer = cluster.ask_node(broker_id, DescribeConfigsRequest(resources=[resource]), DescribeConfigsResponse)
    values = {each.name: each.value for result in answer.results for each in result.configs}
    return values.get("advertised.listeners") or values.get("listeners")
