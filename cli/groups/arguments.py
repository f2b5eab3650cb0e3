"""The options of Kafka's four tools for groups, and which of them go together."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import NamedTuple

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, seconds_or_kafkas_ms
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import add_output_arguments, add_watch_argument

__all__ = [
    "ACTIONS",
    "CONSUMER_KIND",
    "SCENARIOS",
    "SHARE_KIND",
    "STREAMS_KIND",
    "Wanted",
    "add_arguments",
    "wanted_of",
]

ACTIONS = Actions(
    {
        "list": "the names of all groups; with --state or --type a table (this is the default)",
        "describe": "one or more groups: --offsets (the default), --members or --state",
        "lag": "how far groups are behind, in records and, with --time-lag, in time; all groups if none is named",
        "delete": "delete groups that have no members, with their offsets",
        "reset-offsets": "set what a group without members has committed; a dry run unless --execute is given",
        "delete-offsets": "delete what a group has committed for topics that it does not consume now",
    },
    operand="GROUP",
    default="list",
)
CONSUMER_KIND, SHARE_KIND, STREAMS_KIND = "consumer", "share", "streams"
SCENARIOS = (
    "to_earliest",
    "to_latest",
    "to_current",
    "to_offset",
    "shift_by",
    "to_datetime",
    "by_duration",
    "from_file",
)
_ONLY_WITH = {
    "members": ("describe",),
    "offsets": ("describe",),
    "verbose": ("describe", "lag"),
    "state": ("describe", "list"),
    "type": ("list",),
    "protocol": ("list",),
    "time_lag": ("lag",),
    "watch": ("list", "describe", "lag"),
    "topic": ("reset-offsets", "delete-offsets"),
    "all_topics": ("reset-offsets", "delete-offsets"),
    "all_groups": ("describe", "lag", "delete", "reset-offsets"),
    "dry_run": ("reset-offsets",),
    "execute": ("reset-offsets",),
    "delete_internal_topic": ("reset-offsets",),
    "delete_all_internal_topics": ("reset-offsets", "delete"),
    "export": ("reset-offsets",),
    **dict.fromkeys(SCENARIOS, ("reset-offsets",)),
}


class Wanted(NamedTuple):
    groups: list[str]
    """Empty: all of the kind."""
    kind: str
    """Of consumers, both protocols; of share consumers; of streams."""
    options: argparse.Namespace


def add_arguments(parser: argparse.ArgumentParser) -> None:
    ACTIONS.add_to(parser)
    parser.add_argument("--group", action="append", default=[], metavar="GROUP", help="may be given several times")
    parser.add_argument("--all-groups", action="store_true", help="every group")
    _add_kinds(parser)
    _add_views(parser)
    _add_resets(parser)
    parser.add_argument("--validate-regex", metavar="REGEX", help="say whether it can be a subscription's pattern")
    add_watch_argument(parser)
    add_connection_arguments(parser, timeout_type=seconds_or_kafkas_ms)
    add_output_arguments(parser)


def _add_kinds(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which groups")
    kinds = group.add_mutually_exclusive_group()
    kinds.add_argument("--consumer", action="store_true", help="groups of consumers, of both protocols (the default)")
    kinds.add_argument("--share", action="store_true", help="share groups, as kafka-share-groups.sh")
    kinds.add_argument("--streams", action="store_true", help="groups of Kafka Streams, as kafka-streams-groups.sh")
    group.add_argument(
        "--all-types", action="store_true", help="list: of every type, with type and protocol, as kafka-groups.sh"
    )
    group.add_argument(
        "--type",
        "--group-type",
        nargs="?",
        const="",
        metavar="TYPES",
        help="list: with their types, or those of some: classic,consumer",
    )
    group.add_argument("--protocol", metavar="PROTOCOL", help="list: those whose members say that they are of it")


def _add_views(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("describe")
    group.add_argument("--offsets", action="store_true", help="what is committed, and the lag (the default)")
    group.add_argument("--members", action="store_true", help="who is in it; with --verbose, what each has")
    group.add_argument(
        "--state",
        nargs="?",
        const="",
        metavar="STATES",
        help="its state; list: with their states, or those in some: stable,empty",
    )
    group.add_argument("--verbose", action="store_true", help="more columns")
    group.add_argument("--time-lag", action="store_true", help="lag: also how old the next record to be read is")


def _add_resets(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("reset-offsets, delete-offsets")
    group.add_argument(
        "--topic", "--input-topic", action="append", default=[], metavar="TOPIC", help="orders, or orders:0,1"
    )
    group.add_argument(
        "--all-topics", "--all-input-topics", action="store_true", help="every topic the group has committed for"
    )
    group.add_argument("--to-earliest", action="store_true", help="to where the partitions begin")
    group.add_argument("--to-latest", action="store_true", help="to where the partitions end")
    group.add_argument("--to-current", action="store_true", help="to what is committed, or else to the end")
    group.add_argument("--to-offset", type=int, metavar="OFFSET", help="to this offset")
    group.add_argument("--shift-by", type=int, metavar="NUMBER", help="so many records on, or back if it is negative")
    group.add_argument("--to-datetime", metavar="WHEN", help="2026-01-31T18:30:00.000, in UTC, or with +02:00")
    group.add_argument("--by-duration", metavar="DURATION", help="so long before now: P1DT2H, or 1d, 90m")
    group.add_argument("--from-file", type=Path, metavar="CSV", help="to what --export once wrote")
    group.add_argument("--dry-run", action="store_true", help="only say what would be (the default)")
    group.add_argument("--execute", action="store_true", help="do it")
    group.add_argument("--export", action="store_true", help="the result as CSV, for --from-file")
    group.add_argument(
        "--delete-internal-topic",
        action="append",
        default=[],
        metavar="TOPIC",
        help="with --streams, after a reset: delete a topic that the application made for itself",
    )
    group.add_argument(
        "--delete-all-internal-topics",
        action="store_true",
        help="with --streams, after a reset or with delete: all of these",
    )
    group.add_argument("--yes", "--force", action="store_true", help="do not ask before it is done")


def wanted_of(arguments: argparse.Namespace, action: str, words: list[str]) -> Wanted:
    """WrongUsage for what does not go together; Kafka's tools refuse most of it too."""
    groups = [*words, *arguments.group]
    if action == "describe" and arguments.state and not groups:
        # `describe --state orders-app`: the word behind --state is the group.
        groups, arguments.state = [arguments.state], ""
    _check_together(arguments, action)
    _check_groups(arguments, action, groups)
    if action == "describe":
        _check_describe(arguments)
    elif action == "delete-offsets" and not (arguments.topic or arguments.all_topics):
        raise WrongUsage("delete-offsets takes the --topic whose offsets go")
    elif action == "reset-offsets":
        _check_reset(arguments)
    kind = SHARE_KIND if arguments.share else STREAMS_KIND if arguments.streams else CONSUMER_KIND
    if kind != CONSUMER_KIND and action == "lag":
        raise WrongUsage(f"lag is of groups of consumers: --describe --{kind} shows that of others")
    if kind != STREAMS_KIND and (arguments.delete_internal_topic or arguments.delete_all_internal_topics):
        raise WrongUsage("internal topics are of Kafka Streams: add --streams")
    if kind != STREAMS_KIND and action == "delete-offsets" and arguments.all_topics:
        raise WrongUsage("delete-offsets takes --topic, as often as there are topics")
    return Wanted(list(dict.fromkeys(groups)), kind, arguments)


def _check_together(arguments: argparse.Namespace, action: str) -> None:
    for name, actions in _ONLY_WITH.items():
        if _is_given(arguments, name) and action not in actions:
            raise WrongUsage(f"--{_flag(name)} goes with {' and '.join(actions)}, not with {action}")


def _check_groups(arguments: argparse.Namespace, action: str, groups: list[str]) -> None:
    if groups and arguments.all_groups:
        raise WrongUsage("name groups, or give --all-groups, not both")
    if action == "list" and groups:
        raise WrongUsage(f"list takes no GROUP: to see it, barnabas groups describe {groups[0]}")
    if action not in ("list", "lag") and not groups and not arguments.all_groups:
        raise WrongUsage(f"{action} takes a GROUP" + ("" if action == "delete-offsets" else " or --all-groups"))
    if action == "delete-offsets" and len(set(groups)) > 1:
        raise WrongUsage("delete-offsets takes one GROUP at a time")


def _check_describe(arguments: argparse.Namespace) -> None:
    views = [name for name in ("members", "offsets", "state") if _is_given(arguments, name)]
    if len(views) > 1:
        raise WrongUsage(f"describe takes one of --{', --'.join(views)}")
    if arguments.state:
        raise WrongUsage(f"describe takes --state without a value such as {arguments.state}")


def _check_reset(arguments: argparse.Namespace) -> None:
    if arguments.dry_run and arguments.execute:
        raise WrongUsage("reset-offsets takes --dry-run or --execute, not both")
    given = [name for name in SCENARIOS if _is_given(arguments, name)]
    if len(given) != 1:
        named = ", ".join(f"--{_flag(name)}" for name in given or SCENARIOS)
        raise WrongUsage(f"reset-offsets takes one of {named}")
    if (arguments.delete_internal_topic or arguments.delete_all_internal_topics) and not arguments.execute:
        raise WrongUsage("internal topics are deleted with --execute")
    if not arguments.topic and not arguments.all_topics and arguments.from_file is None:
        raise WrongUsage("reset-offsets takes --topic or --all-topics")
    if arguments.share and given[0] not in ("to_earliest", "to_latest", "to_datetime"):
        raise WrongUsage("a share group takes --to-earliest, --to-latest or --to-datetime")


def _is_given(arguments: argparse.Namespace, name: str) -> bool:
    """Offset 0 and --state without a value are."""
    value = getattr(arguments, name)
    return value is not None and value is not False and value != []


def _flag(name: str) -> str:
    return name.replace("_", "-")
