"""The options of commands that carry records: the cluster, and the properties of a producer or consumer."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.clients.settings import merged
from barnabas.cli.connecting import add_connection_arguments, bootstrap_of
from barnabas.cli.failures import WrongUsage
from barnabas.client.address import parse_bootstrap
from barnabas.client.cluster import Cluster
from barnabas.client.properties import ClientProperties, read_client_properties

__all__ = ["add_client_arguments", "bootstrap_from", "not_together", "properties_from", "reach", "tell_of_ignored"]


def add_client_arguments(
    parser: argparse.ArgumentParser, kind: str, old_property: str, *, many: bool = False, timeout: bool = True
) -> None:
    """`kind` is producer or consumer; `many`: a flag takes several properties, as in kafka-producer-perf-test."""
    # Kafka's producer has had --broker-list for ten years, so that it is in more tutorials than its new name.
    old_names = ["--broker-list"] if kind == "producer" else []
    add_connection_arguments(parser, *old_names, timeout_flag="--timeout" if timeout else "--question-timeout")
    group = parser.add_argument_group(f"properties of the {kind}")
    group.add_argument(f"--{kind}.config", dest="old_config", metavar="FILE", type=Path, help=argparse.SUPPRESS)
    for flag, destination in (("--command-property", "command_property"), (old_property, "old_property")):
        group.add_argument(
            flag,
            dest=destination,
            metavar="KEY=VALUE",
            nargs="+" if many else None,
            action="extend" if many else "append",
            default=[],
            help=f"a property of Kafka's {kind}, such as client.id; before --command-config"
            if flag == "--command-property"
            else argparse.SUPPRESS,
        )
    parser.set_defaults(old_property_flag=old_property, kind_of_client=kind)


def properties_from(arguments: argparse.Namespace) -> dict[str, str]:
    """The file's and the single ones', in Kafka's words."""
    kind = arguments.kind_of_client
    not_together(arguments, command_config="--command-config", old_config=f"--{kind}.config")
    not_together(arguments, command_property="--command-property", old_property=arguments.old_property_flag)
    file = arguments.command_config or arguments.old_config
    what = "--command-config" if arguments.command_config else f"--{kind}.config"
    values = read_client_properties(file, what) if file is not None else {}
    return merged(values, arguments.command_property or arguments.old_property)


def not_together(arguments: argparse.Namespace, **flags: str) -> None:
    """WrongUsage if more than one of these was given; by the names that argparse keeps them under."""
    given = [flag for name, flag in flags.items() if getattr(arguments, name) not in (None, False, [])]
    if len(given) > 1:
        raise WrongUsage(f"{given[0]} and {given[1]} cannot be given together")


def bootstrap_from(arguments: argparse.Namespace, properties: dict[str, str]) -> str:
    """The flag's, or that of the properties, as those tools of Kafka's take it that have one."""
    if not arguments.bootstrap_server and properties.get("bootstrap.servers"):
        return properties["bootstrap.servers"]
    return bootstrap_of(arguments)


def reach(bootstrap: str, properties: dict[str, str], timeout_s: float) -> Cluster:
    """Our own client, which is asked before a library is: it says in a sentence what is in the way."""
    return Cluster(parse_bootstrap(bootstrap), ClientProperties(properties), timeout_s)


def tell_of_ignored(ignored: list[str] | tuple[str, ...], client: str) -> str | None:
    """A note for the person."""
    names = ", ".join(sorted(ignored))
    return f"{client} has no {names}: ignored." if names else None
