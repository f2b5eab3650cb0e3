"""`barnabas cluster unregister`: what kafka-cluster.sh unregister does."""

from __future__ import annotations

import argparse

from barnabas.cli.cluster.identity import add_cluster_connection
from barnabas.cli.connecting import connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.client.cluster import check
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest, UnregisterBrokerResponse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="?", type=int, metavar="ID", help="the broker to forget")
    parser.add_argument("--id", "-i", type=int, metavar="ID", help="the broker to forget")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_cluster_connection(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    broker_id = arguments.words if arguments.id is None else arguments.id
    if broker_id is None:
        raise WrongUsage("name the broker: --id ID")
    confirm(f"Forget broker {broker_id}, with all that is registered of it?", yes=arguments.yes)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        answer = cluster.ask_controller(UnregisterBrokerRequest(broker_id=broker_id), UnregisterBrokerResponse)
        check(answer.error_code, answer.error_message)
    if output.as_json:
        output.json({"unregistered": broker_id})
    output.line(f"Broker {broker_id} is no longer registered.")
