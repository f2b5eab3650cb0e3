"""`barnabas doctor`: its options."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.connecting import add_connection_arguments, bootstrap_of, properties_of
from barnabas.cli.doctor.checks import show
from barnabas.cli.failures import FAILED, WrongUsage
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.address import parse_bootstrap

__all__ = ["add_arguments", "run"]

_LOCAL_ONLY = ("data", "config", "listen", "set")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    local = parser.add_argument_group("this machine instead, with the options of barnabas start")
    local.add_argument("--local", action="store_true", help="could a broker start here, and would it do well?")
    local.add_argument("--data", metavar="DIR", help="its log directory (./barnabas-data)")
    local.add_argument("--config", metavar="FILE", type=Path, help="Kafka's server.properties")
    local.add_argument("--listen", metavar="HOST:PORT", help="where clients would connect (127.0.0.1:9092)")
    local.add_argument("--set", metavar="KEY=VALUE", action="append", default=[], help="a key of Kafka's")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    if arguments.local:
        # Late: to look at a cluster, the broker's own code is of no use.
        from barnabas.cli.doctor.local import check_machine

        checks = check_machine(arguments.listen, arguments.data, arguments.config, arguments.set)
    else:
        if given := [name for name in _LOCAL_ONLY if getattr(arguments, name)]:
            raise WrongUsage(f"--{given[0]} goes with --local")
        from barnabas.cli.doctor.remote import check_cluster

        where = parse_bootstrap(bootstrap_of(arguments))
        checks = check_cluster(where, properties_of(arguments), arguments.timeout)
    return 0 if show(checks, output) else FAILED
