"""`barnabas groups`: what kafka-consumer-groups.sh, kafka-groups.sh, kafka-share-groups.sh and kafka-streams-groups.sh
do, on any Kafka cluster, and how far groups are behind."""

from __future__ import annotations

import argparse

from barnabas.cli.connecting import connect
from barnabas.cli.failures import FAILED
from barnabas.cli.groups.arguments import ACTIONS, add_arguments, wanted_of
from barnabas.cli.output import Output, watch

__all__ = ["add_arguments", "run"]


def run(arguments: argparse.Namespace) -> int:
    if arguments.validate_regex is not None:
        from barnabas.cli.groups.patterns import validate

        return validate(arguments.validate_regex)
    action, words = ACTIONS.chosen(arguments)
    wanted = wanted_of(arguments, action, words)
    output = Output(as_json=arguments.json)
    complained = False
    with connect(arguments) as cluster:
        # Imported here: a list shall not wait for all that a reset needs.
        match action:
            case "list":
                from barnabas.cli.groups.listing import list_them

                watch(arguments, output, lambda: list_them(cluster, output, wanted))
            case "describe":
                from barnabas.cli.groups.describing import describe

                def show() -> None:
                    nonlocal complained
                    complained = describe(cluster, output, wanted)

                watch(arguments, output, show)
            case "lag":
                from barnabas.cli.groups.lag import LagView

                view = LagView(cluster, output, wanted)
                watch(arguments, output, view.show)
                complained = view.complained
            case "delete":
                from barnabas.cli.groups.deleting import delete

                complained = delete(cluster, output, wanted)
            case "delete-offsets":
                from barnabas.cli.groups.deleting import delete_committed

                complained = delete_committed(cluster, output, wanted)
            case _:
                from barnabas.cli.groups.resetting import reset

                complained = reset(cluster, output, wanted)
    return FAILED if complained else 0
