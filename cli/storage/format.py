"""`barnabas storage format`: what kafka-storage.sh format does. `barnabas start` formats what is empty by itself."""

from __future__ import annotations

import argparse
import time

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.storage.features import first_levels
from barnabas.cli.storage.formatting import format_directories, standalone
from barnabas.cli.storage.node_files import NodeFiles, add_config_argument, read_node_files
from barnabas.cli.storage.scram import parse_scram
from barnabas.cli.storage.voters import InitialVoter, parse_voters
from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.records import MetadataRecord

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    add_config_argument(parser)
    parser.add_argument("--cluster-id", "-t", metavar="ID", required=True, help="see barnabas storage random-uuid")
    parser.add_argument(
        "--add-scram", "-S", metavar="CREDENTIAL", action="append", default=[], help="a user of SASL/SCRAM"
    )
    parser.add_argument(
        "--ignore-formatted", "-g", action="store_true", help="format only directories that are not yet"
    )
    parser.add_argument(
        "--release-version", "-r", metavar="VERSION", help="of Kafka, whose features the cluster begins with"
    )
    parser.add_argument(
        "--feature", "-f", metavar="NAME=LEVEL", action="append", default=[], help="one of them otherwise"
    )
    quorum = parser.add_mutually_exclusive_group()
    quorum.add_argument("--standalone", "-s", action="store_true", help="this node alone is the quorum, which may grow")
    quorum.add_argument("--no-initial-controllers", "-N", action="store_true", help="it will join a quorum")
    quorum.add_argument("--initial-controllers", "-I", metavar="ID@HOST:PORT:DIRECTORY-ID,...", help="the whole quorum")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    output = Output(as_json=arguments.json)
    node = read_node_files(arguments.config)
    if not arguments.cluster_id:
        raise WrongUsage("--cluster-id is empty")
    voters = _voters(arguments, node)
    version, levels = first_levels(
        arguments.release_version,
        arguments.feature,
        dynamic_quorum=not node.static_voters,
        unstable=node.unstable_features,
    )
    records = bootstrap_records(version, levels)
    if arguments.add_scram and not version.scram:
        raise CommandFailed("SCRAM is only supported in metadata.version 3.5-IV2 or later.")
    records += [MetadataRecord(parse_scram(each)) for each in arguments.add_scram]
    formatted = format_directories(
        node,
        arguments.cluster_id,
        version,
        records,
        voters,
        ignore_formatted=arguments.ignore_formatted,
        now_ms=time.time_ns() // 1_000_000,
        tell=output.line,
    )
    if output.as_json:
        features = {"metadata.version": int(version), **dict(sorted(levels.items()))}
        output.json({"formatted": list(map(str, formatted)), "clusterId": arguments.cluster_id, "features": features})


def _voters(arguments: argparse.Namespace, node: NodeFiles) -> list[InitialVoter]:
    names = "--standalone" if arguments.standalone else "--initial-controllers"
    if node.static_voters and (arguments.standalone or arguments.initial_controllers):
        raise CommandFailed(
            f"controller.quorum.voters is set, which says who votes, and so does {names}: remove the key, and set "
            "controller.quorum.bootstrap.servers instead, or leave out the option."
        )
    if arguments.initial_controllers:
        return parse_voters(arguments.initial_controllers)
    if arguments.standalone:
        return standalone(node)
    if not (arguments.no_initial_controllers or node.static_voters) and "controller" in node.roles:
        raise CommandFailed(
            "Because controller.quorum.voters is not set on this controller, you must specify one of the following: "
            "--standalone, --initial-controllers, or --no-initial-controllers."
        )
    return []
