"""`barnabas acls`: its options and actions."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from barnabas.cli.acls.asking import create, delete, describe
from barnabas.cli.acls.names import Entry, Pattern, PatternType
from barnabas.cli.acls.wanted import Wanted, check_combination, patterns_of, wanted_of
from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.client.cluster import Cluster

__all__ = ["add_arguments", "run"]

_ACTIONS = Actions(
    {"list": "the ACLs of the named resources, or all", "add": "add ACLs", "remove": "remove ACLs"},
    operand="",
    default="list",
)
_PATTERN_TYPES = {each.name.lower(): each for each in PatternType if each is not PatternType.UNKNOWN}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    resources = parser.add_argument_group("for which resources (* is any)")
    for name, text in (
        ("topic", "this topic; any number"),
        ("group", "this group"),
        ("transactional-id", "this transactional id"),
        ("delegation-token", "this token"),
        ("user-principal", "tokens of this user"),
    ):
        resources.add_argument(f"--{name}", action="append", metavar="NAME", help=text)
    resources.add_argument("--cluster", action="store_true", help="the cluster itself")
    resources.add_argument(
        "--resource-pattern-type",
        type=_pattern_type,
        default=PatternType.LITERAL,
        metavar="TYPE",
        help="the names are literal (default) or prefixed; to find ACLs also any, or match: whatever holds for a name",
    )
    people = parser.add_argument_group("who may do what")
    for name in ("allow-principal", "deny-principal"):
        people.add_argument(f"--{name}", action="append", type=_principal, metavar="User:NAME", help="any number")
    people.add_argument("--allow-host", action="append", metavar="HOST", help="from there (from anywhere)")
    people.add_argument("--deny-host", action="append", metavar="HOST", help="not from there (from nowhere)")
    people.add_argument("--operation", action="append", metavar="OPERATION", help="Read, Write, ...; any number (All)")
    people.add_argument("--producer", action="store_true", help="all that a producer to --topic needs")
    people.add_argument("--consumer", action="store_true", help="all that a consumer of --topic in --group needs")
    people.add_argument("--idempotent", action="store_true", help="with --producer, for brokers before 3.0")
    people.add_argument(
        "--principal", action="append", type=_principal, metavar="User:NAME", help="list: only this user's"
    )
    parser.add_argument("--force", "--yes", action="store_true", help="do not ask before removing")
    add_connection_arguments(parser, controllers=["--bootstrap-controller"])
    add_output_arguments(parser)


def _pattern_type(text: str) -> PatternType:
    found = _PATTERN_TYPES.get(text.lower())
    if found is None:
        raise argparse.ArgumentTypeError(f"{text} is none of {', '.join(_PATTERN_TYPES)}")
    return found


def _principal(text: str) -> str:
    kind, colon, name = text.strip().partition(":")
    if not colon:
        raise argparse.ArgumentTypeError(f"{text} is no principal: write User:{kind or 'NAME'}")
    return f"{kind}:{name}"


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    if words:
        raise WrongUsage(f"{words[0]} is not understood: name resources by --topic, --group and others")
    check_combination(action, arguments)
    output = Output(as_json=arguments.json)
    if action == "list":
        with connect(arguments) as cluster:
            _list(cluster, patterns_of(arguments), arguments.principal or [], output)
        return
    wanted = wanted_of(arguments)
    if action == "add" and not all(wanted.values()):
        raise WrongUsage("name who may or may not: --allow-principal or --deny-principal")
    with connect(arguments) as cluster:
        if action == "add":
            _add(cluster, wanted, output)
        else:
            _remove(cluster, wanted, arguments, output)


def _list(cluster: Cluster, patterns: Iterable[Pattern], principals: list[str], output: Output) -> None:
    found = describe(cluster, patterns)
    if output.as_json:
        chosen = {
            pattern: {each for each in entries if not principals or each.principal in principals}
            for pattern, entries in found.items()
        }
        output.json(_told(chosen))
        return
    if not principals:
        _print(found, output)
    for principal in sorted(set(principals)):
        output.line(f"ACLs for principal `{principal}`")
        hers = {
            pattern: {each for each in entries if each.principal == principal} for pattern, entries in found.items()
        }
        _print({pattern: entries for pattern, entries in hers.items() if entries}, output)


def _print(found: Wanted, output: Output) -> None:
    for pattern in sorted(found):
        output.line(f"Current ACLs for resource `{pattern}`:\n{_lines(found[pattern])}\n")


def _lines(entries: Iterable[Entry]) -> str:
    return "\n".join(f"\t{entry}" for entry in sorted(entries))


def _told(found: Wanted) -> list[dict[str, object]]:
    return [
        {
            "resource_type": pattern.resource_type.name,
            "resource_name": pattern.name,
            "pattern_type": pattern.pattern_type.name,
            "principal": entry.principal,
            "host": entry.host,
            "operation": entry.operation.name,
            "permission": entry.permission.name,
        }
        for pattern in sorted(found)
        for entry in sorted(found[pattern])
    ]


def _add(cluster: Cluster, wanted: Wanted, output: Output) -> None:
    added: Wanted = {}
    for pattern in sorted(wanted):
        there = describe(cluster, [pattern]).get(pattern, set())
        for entry in sorted(wanted[pattern] & there):
            output.line(f"Acl (pattern={pattern}, entry={entry}) already exists.")
        if missing := wanted[pattern] - there:
            output.line(f"Adding ACLs for resource `{pattern}`: \n {_lines(missing)}\n")
            create(cluster, pattern, missing)
            added[pattern] = missing
    if output.as_json:
        output.json(_told(added))


def _remove(cluster: Cluster, wanted: Wanted, arguments: argparse.Namespace, output: Output) -> None:
    removed: Wanted = {}
    for pattern in sorted(wanted):
        entries = wanted[pattern]
        what = f"ACLs: \n {_lines(entries)}\n from resource filter `{pattern}`"
        everything = f"all ACLs for resource filter `{pattern}`"
        confirm(f"Remove {what if entries else everything}?", yes=arguments.force)
        for found, gone in delete(cluster, pattern, entries).items():
            removed.setdefault(found, set()).update(gone)
    count = sum(map(len, removed.values()))
    output.note(f"Removed {count} ACL{'' if count == 1 else 's'}.")
    if output.as_json:
        output.json(_told(removed))
