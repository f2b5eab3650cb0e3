"""`barnabas client-metrics`: what kafka-client-metrics.sh does. A subscription says which clients push which metrics of
theirs, and how often (KIP-714)."""

from __future__ import annotations

import argparse
import re
import secrets
from collections.abc import Mapping

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments
from barnabas.client.cluster import Cluster
from barnabas.client.configs import Resource, ResourceKind, alter_configs, describe_configs, list_config_resources
from barnabas.protocol.schema import Uuid

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "list": "the names of all subscriptions",
        "describe": "what each asks for, or the one that --name names",
        "alter": "make a subscription, or change one",
        "delete": "what a subscription asks for, and so the subscription",
    },
    operand="NAME",
)
_OPTIONS = {"interval": "interval.ms", "metrics": "metrics", "match": "match"}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    parser.add_argument("--name", metavar="NAME", help="of the subscription")
    group = parser.add_argument_group("alter")
    group.add_argument("--generate-name", action="store_true", help="a new name that nobody else has")
    group.add_argument("--interval", metavar="MS", help="between two pushes; empty for Kafka's default")
    group.add_argument(
        "--metrics", metavar="PREFIX,...", action="append", help="prefixes of their names; * for all, empty for none"
    )
    group.add_argument(
        "--match",
        metavar="KEY=PATTERN,...",
        action="append",
        help="which clients: client_id, client_instance_id, client_software_name, client_software_version, "
        "client_source_address, client_source_port; empty for all",
    )
    parser.add_argument("--plain", action="store_true", help="describe as kafka-client-metrics.sh writes it")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    if len(words) > 1 or (words and arguments.name is not None):
        raise WrongUsage("One name at a time.")
    if words:
        arguments.name = words[0]
    _check(action, arguments)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        if action == "list":
            _list(cluster, output)
        elif action == "describe":
            _describe(cluster, arguments, output)
        elif action == "alter":
            _alter(cluster, arguments, output)
        else:
            _delete(cluster, arguments.name, output)


def _check(action: str, arguments: argparse.Namespace) -> None:
    for option in ("generate_name", *_OPTIONS):
        if action != "alter" and getattr(arguments, option) not in (None, False):
            raise WrongUsage(f"--{option.replace('_', '-')} goes with --alter, not with --{action}.")
    if action == "list" and arguments.name is not None:
        raise WrongUsage("--list has all names: see --describe for one.")
    if action == "delete" and not arguments.name:
        raise WrongUsage("--delete needs --name.")
    if action == "alter":
        if (arguments.name is not None) == arguments.generate_name:
            raise WrongUsage("--alter needs either --name or --generate-name.")
        if arguments.interval and not re.fullmatch(r"[+-]?[0-9]+", arguments.interval):
            raise WrongUsage(f"--interval {arguments.interval} is no number of milliseconds; empty resets it.")
    if arguments.plain and (action != "describe" or arguments.json):
        raise WrongUsage("--plain goes with --describe, and without --json.")


def _alter(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    name = str(Uuid(secrets.token_bytes(16))) if arguments.generate_name else arguments.name
    given = {key: getattr(arguments, option) for option, key in _OPTIONS.items()}
    texts = {key: ",".join(text) if isinstance(text, list) else text for key, text in given.items() if text is not None}
    values = {key: text for key, text in texts.items() if text}
    removed = [key for key, text in texts.items() if not text]
    alter_configs(cluster, _subscription(name), values, removed)
    output.line(f"Altered client metrics config for {name}.")
    if output.as_json:
        output.json({"name": name, "set": values, "removed": removed})


def _delete(cluster: Cluster, name: str, output: Output) -> None:
    """Of one that is not there there is nothing to delete, as Kafka's tool has it."""
    resource = _subscription(name)
    removed = [each.name for each in describe_configs(cluster, [resource])[resource]]
    alter_configs(cluster, resource, {}, removed)
    output.line(f"Deleted client metrics config for {name}.")
    if output.as_json:
        output.json({"name": name, "deleted": True})


def _list(cluster: Cluster, output: Output) -> None:
    names = sorted(list_config_resources(cluster, ResourceKind.CLIENT_METRICS))
    if output.as_json:
        output.json(names)
    for name in names:
        output.line(name)


def _describe(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    names = sorted(list_config_resources(cluster, ResourceKind.CLIENT_METRICS))
    if arguments.name is not None:
        if arguments.name not in names:
            raise CommandFailed(f"There is no subscription {arguments.name}: see barnabas client-metrics --list.")
        names = [arguments.name]
    found = {
        resource.name: {each.name: each.value or "" for each in configs}
        for resource, configs in describe_configs(cluster, map(_subscription, names)).items()
    }
    if output.as_json:
        output.json([{"name": name, "configs": found[name]} for name in names])
    elif arguments.plain:
        for name in names:
            output.line(f"Client metrics configs for {name} are:")
            for key, value in found[name].items():
                output.line(f"  {key}={value}")
    elif names:
        output.table(["name", "metrics", "every", "of clients"], [[name, *_cells(found[name])] for name in names])
    else:
        output.note("There are no subscriptions.")


def _cells(configs: Mapping[str, str]) -> list[str]:
    interval = configs.get("interval.ms", "")
    return [configs.get("metrics") or "none", f"{interval} ms" if interval else "-", configs.get("match") or "all"]


def _subscription(name: str) -> Resource:
    return Resource(ResourceKind.CLIENT_METRICS, name)
