"""`barnabas topics`: what kafka-topics.sh does, on any Kafka cluster."""

from __future__ import annotations

import argparse

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.cluster import Cluster

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions({"list": "the names of all topics"}, operand="TOPIC", default="list")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    _ACTIONS.chosen(arguments)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        _list(cluster, output)


def _list(cluster: Cluster, output: Output) -> None:
    names = sorted(cluster.topics())
    if output.as_json:
        output.json(names)
    for name in names:
        output.line(name)
