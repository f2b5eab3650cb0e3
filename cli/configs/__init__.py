"""`barnabas configs`: what kafka-configs.sh does, on any Kafka cluster."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.actions import Actions
from barnabas.cli.configs.altering import alter
from barnabas.cli.configs.checks import check_combinations
from barnabas.cli.configs.describing import describe
from barnabas.cli.configs.entities import add_entity_arguments, entities_of
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.output import Output, add_output_arguments

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "describe": "what is set for it; with --all also what holds without being set",
        "alter": "set or remove some of it, leaving the rest",
    },
    operand="WORD",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Words say the same as options: describe topic orders; alter topic orders retention.ms=60000; "
        "alter user alice client app producer_byte_rate=1048576; describe broker-defaults."
    )
    _ACTIONS.add_to(parser)
    add_entity_arguments(parser)
    group = parser.add_argument_group("alter")
    group.add_argument(
        "--add-config",
        metavar="KEY=VALUE,...",
        action="append",
        default=[],
        help="what to set; a value with commas stands in square brackets: k=[a,b]",
    )
    group.add_argument("--add-config-file", metavar="FILE", type=Path, help="the same from a file of properties")
    group.add_argument(
        "--delete-config", metavar="KEY,...", action="append", default=[], help="what shall be as if never set"
    )
    group = parser.add_argument_group("describe")
    group.add_argument("--all", action="store_true", help="also what is not set here, and where each value comes from")
    group.add_argument("--plain", action="store_true", help="as kafka-configs.sh writes it, for scripts that cut it up")
    add_connection_arguments(parser, controllers=("--bootstrap-controller",))
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    if action == "alter":
        arguments.add_config += [word for word in words if "=" in word]
        words = [word for word in words if "=" not in word]
    entities = entities_of(arguments, words)
    check_combinations(action, arguments, entities)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        (alter if action == "alter" else describe)(cluster, entities, arguments, output)
