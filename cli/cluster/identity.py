"""`barnabas cluster id`: what kafka-cluster.sh cluster-id does."""

from __future__ import annotations

import argparse

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.output import Output, add_output_arguments

__all__ = ["add_arguments", "add_cluster_connection", "run"]


def add_cluster_connection(parser: argparse.ArgumentParser) -> None:
    """The flags of kafka-cluster.sh, --config being its old name of --command-config."""
    add_connection_arguments(parser, "-b", controllers=["--bootstrap-controller", "-C"], old_files=["-c", "--config"])


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_cluster_connection(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        cluster_id = cluster.describe().cluster_id
    if output.as_json:
        output.json({"cluster_id": cluster_id})
    output.line(f"Cluster ID: {cluster_id}")
