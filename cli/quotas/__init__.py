"""`barnabas quotas`: how much users, clients and addresses may do. Kafka's tools have it within kafka-configs.sh."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.cli.quotas.tables import quota_json, quota_table
from barnabas.cli.units import number_text, parse_quantity
from barnabas.client.cluster import Cluster
from barnabas.client.quotas import (
    CLIENT_ID,
    CLIENT_QUOTAS,
    IP,
    IP_QUOTAS,
    USER,
    AnyName,
    alter_quotas,
    describe_quotas,
)

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {
        "list": "all quotas, or those of the users, clients or addresses that are named",
        "set": "give a user, a client, both together, or an address a quota",
        "remove": "take quotas away; without KEY, all that it has",
    },
    operand="KEY=VALUE",
    default="list",
)
_TYPES = {"user": USER, "client": CLIENT_ID, "ip": IP}
_SHORT = {
    "produce": "producer_byte_rate",
    "fetch": "consumer_byte_rate",
    "request": "request_percentage",
    "partitions": "controller_mutation_rate",
    "connections": "connection_creation_rate",
}
_DEFAULT = None

Entity = dict[str, str | None]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.epilog = (
        "Quotas: produce and fetch (bytes a second), request (percent of a thread's time), partitions (made and "
        "deleted, a second), connections (new ones a second, of an address); or Kafka's names for them. "
        "Example: set --user alice produce=10MiB fetch=20MiB. They hold for each broker by itself."
    )
    _ACTIONS.add_to(parser)
    group = parser.add_argument_group("whose")
    for name in _TYPES:
        text = {"user": "a user's name", "client": "a client id", "ip": "an address or host"}[name]
        either = group.add_mutually_exclusive_group()
        either.add_argument(f"--{name}", metavar="NAME", help=text)
        either.add_argument(
            f"--{name}-defaults", action="store_true", help=f"what holds for each {name} without its own"
        )
    parser.add_argument("--dry-run", action="store_true", help="set and remove: only let the cluster check it")
    parser.add_argument("--yes", "-y", action="store_true", help="remove all without a question")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    entity = _entity(arguments)
    output = Output(as_json=arguments.json)
    if IP in entity and len(entity) > 1:
        raise WrongUsage("An address has quotas by itself: leave out --user and --client.")
    if action == "list":
        if words or arguments.dry_run:
            raise WrongUsage(f"--list shows all quotas: {words[0] if words else '--dry-run'} means nothing to it.")
        with connect(arguments) as cluster:
            _list(cluster, entity, output)
        return
    if not entity:
        raise WrongUsage(f"--{action} needs to know whose: --user, --client, --ip, or the defaults of one.")
    if action == "set":
        _set(entity, words, arguments, output)
    else:
        _remove(entity, words, arguments, output)


def _entity(arguments: argparse.Namespace) -> Entity:
    found: Entity = {}
    for name, kind in _TYPES.items():
        if getattr(arguments, name) is not None:
            found[kind] = getattr(arguments, name)
        elif getattr(arguments, f"{name}_defaults"):
            found[kind] = _DEFAULT
    return found


def _list(cluster: Cluster, entity: Entity, output: Output) -> None:
    """Of a user also those of its clients one by one."""
    wanted: Mapping[str, str | type[AnyName] | None] = {**entity}
    quotas = describe_quotas(cluster, wanted, strict=False)
    if output.as_json:
        output.json([quota_json(each) for each in quotas])
    elif quotas:
        quota_table(quotas, output)
    else:
        output.note("There are no quotas." if not entity else "There are no quotas of that name.")


def _set(entity: Entity, words: Sequence[str], arguments: argparse.Namespace, output: Output) -> None:
    values = {}
    for word in words:
        key, equals, text = word.partition("=")
        if not equals:
            raise WrongUsage(f"{word} is not of the form KEY=VALUE, such as produce=10MiB.")
        values[_key(entity, key)] = _quantity(key, text)
    if not values:
        raise WrongUsage("--set needs what to set: KEY=VALUE, such as produce=10MiB.")
    with connect(arguments) as cluster:
        alter_quotas(cluster, entity, values, dry=arguments.dry_run)
    _tell(entity, values, [], arguments, output)


def _remove(entity: Entity, words: Sequence[str], arguments: argparse.Namespace, output: Output) -> None:
    keys = [_key(entity, word) for word in words]
    with connect(arguments) as cluster:
        there = [key for quota in describe_quotas(cluster, {**entity}, strict=True) for key in quota.values]
        if missing := [key for key in keys if key not in there]:
            raise CommandFailed(f"{_described(entity)} has no quota {', '.join(missing)}: see barnabas quotas --list.")
        if not there:
            raise CommandFailed(f"{_described(entity)} has no quotas: see barnabas quotas --list.")
        if not keys and not arguments.dry_run:
            confirm(f"Remove all quotas of {_described(entity)} ({', '.join(there)})?", yes=arguments.yes)
        alter_quotas(cluster, entity, {}, keys or there, dry=arguments.dry_run)
    _tell(entity, {}, keys or there, arguments, output)


def _tell(
    entity: Entity, values: Mapping[str, float], removed: Sequence[str], arguments: argparse.Namespace, output: Output
) -> None:
    if output.as_json:
        output.json({"entity": entity, "set": values, "removed": list(removed), "done": not arguments.dry_run})
    changed = [*(f"{key}={number_text(value)}" for key, value in values.items()), *(f"no {key}" for key in removed)]
    output.line(f"{'Would be allowed: ' if arguments.dry_run else ''}{_described(entity)}: {', '.join(changed)}")


def _described(entity: Entity) -> str:
    titles = {kind: name for name, kind in _TYPES.items()}
    parts = [f"{titles[kind]} {name}" if name is not None else f"each {titles[kind]}" for kind, name in entity.items()]
    return " with ".join(parts)


def _key(entity: Entity, word: str) -> str:
    possible = IP_QUOTAS if IP in entity else CLIENT_QUOTAS
    key = _SHORT.get(word, word)
    if key not in possible:
        shorts = [short for short, name in _SHORT.items() if name in possible]
        raise WrongUsage(f"{word} is no quota of {_described(entity)}: there {_are(shorts)} {', '.join(shorts)}.")
    return key


def _are(names: Sequence[str]) -> str:
    return "is" if len(names) == 1 else "are"


def _quantity(key: str, text: str) -> float:
    try:
        return parse_quantity(text.removesuffix("%"))
    except ValueError:
        raise WrongUsage(
            f"{key}={text} is no quantity: write a number, with k, M, G or Ki, Mi, Gi behind it."
        ) from None
