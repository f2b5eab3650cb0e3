"""`barnabas cluster endpoints`: what kafka-cluster.sh list-endpoints does."""

from __future__ import annotations

import argparse

from barnabas.cli.cluster.identity import add_cluster_connection
from barnabas.cli.connecting import connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments
from barnabas.protocol.messages.describe_cluster import DescribeClusterBroker, DescribeClusterResponse

__all__ = ["add_arguments", "run", "sorted_brokers"]

_HOST_WIDTH, _RACK_WIDTH = 100, 10
"""Kafka's, where there is nothing to be measured."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--include-fenced-brokers", action="store_true", help="brokers, too, that are not in service")
    add_cluster_connection(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        if cluster.of_controllers and arguments.include_fenced_brokers:
            raise WrongUsage("--include-fenced-brokers goes with --bootstrap-server only: controllers are not fenced")
        found = cluster.describe(include_fenced=arguments.include_fenced_brokers)
    nodes = sorted_brokers(found)
    kind = "controller" if cluster.of_controllers else "broker"
    if output.as_json:
        output.json([_told(node, kind) for node in nodes])
    for line in _lines(nodes, kind):
        output.line(line)


def sorted_brokers(found: DescribeClusterResponse) -> list[DescribeClusterBroker]:
    return sorted(found.brokers, key=lambda node: node.broker_id)


def _told(node: DescribeClusterBroker, kind: str) -> dict[str, object]:
    told: dict[str, object] = {"id": node.broker_id, "host": node.host, "port": node.port, "rack": node.rack}
    return {**told, "type": kind, **({"fenced": node.is_fenced} if kind == "broker" else {})}


def _lines(nodes: list[DescribeClusterBroker], kind: str) -> list[str]:
    """As Kafka's tool prints them, with its widths."""
    host = max((len(node.host) for node in nodes), default=_HOST_WIDTH)
    rack = max((len(node.rack) for node in nodes if node.rack is not None), default=_RACK_WIDTH)
    widths = [10, host, 10, rack, *([10] if kind == "broker" else []), 15]
    rows: list[list[str]] = [["ID", "HOST", "PORT", "RACK", *(["STATE"] if kind == "broker" else []), "ENDPOINT_TYPE"]]
    for node in nodes:
        state = ["fenced" if node.is_fenced else "unfenced"] if kind == "broker" else []
        rows.append([str(node.broker_id), node.host, str(node.port), node.rack or "null", *state, kind])
    return [" ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)) for row in rows]
