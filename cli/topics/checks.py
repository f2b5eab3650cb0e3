"""Which options of `barnabas topics` go together: as kafka-topics.sh has it."""

from __future__ import annotations

import argparse
from collections.abc import Iterable

from barnabas.cli.failures import WrongUsage

__all__ = ["REPORTS", "check_combinations"]

REPORTS = (
    "under_replicated_partitions",
    "unavailable_partitions",
    "under_min_isr_partitions",
    "at_min_isr_partitions",
)

_ONLY_WITH = {
    "partitions": ("create", "alter"),
    "replication_factor": ("create",),
    "replica_assignment": ("create", "alter"),
    "if_exists": ("alter", "delete", "describe"),
    "if_not_exists": ("create",),
    "exclude_internal": ("list", "describe"),
    "topic_id": ("describe",),
    "topics_with_overrides": ("describe",),
    "offsets": ("describe",),
    "plain": ("describe",),
    "watch": ("list", "describe"),
    **dict.fromkeys(REPORTS, ("describe",)),
}


def check_combinations(action: str, arguments: argparse.Namespace) -> None:
    given = {name for name, value in vars(arguments).items() if value not in (None, False, [])}
    for name, actions in _ONLY_WITH.items():
        if name in given and action not in actions:
            raise WrongUsage(f"{_flag(name)} goes with {_flags(actions)}, not with --{action}.")
    if "config" in given and action != "create":
        raise WrongUsage("--config goes with --create; that of a topic that is there is changed by barnabas configs.")
    if action in ("create", "alter", "delete") and not arguments.topics:
        raise WrongUsage(f"--{action} needs the name of a topic: --topic TOPIC.")
    _check_action(action, arguments, given)
    if arguments.json and arguments.plain:
        raise WrongUsage("--json and --plain are two ways to write the same: choose one.")


def _check_action(action: str, arguments: argparse.Namespace, given: set[str]) -> None:
    if action == "create" and "replica_assignment" in given and {"partitions", "replication_factor"} & given:
        raise WrongUsage("--replica-assignment says both already: leave out --partitions and --replication-factor.")
    if action == "alter" and "partitions" not in given:
        raise WrongUsage("--alter needs --partitions, which is all that it changes; see barnabas configs for the rest.")
    if action in ("create", "alter") and arguments.partitions is not None and arguments.partitions < 1:
        raise WrongUsage(f"--partitions {arguments.partitions}: a topic has one at least.")
    if arguments.replication_factor is not None and not 1 <= arguments.replication_factor < 2**15:
        raise WrongUsage(f"--replication-factor {arguments.replication_factor} is not between 1 and 32767.")
    if action == "describe" and arguments.if_exists and not (arguments.topics or arguments.topic_id):
        raise WrongUsage("--describe --if-exists needs --topic or --topic-id.")
    reports = [name for name in REPORTS if name in given]
    if reports and arguments.topics_with_overrides:
        raise WrongUsage(f"--topics-with-overrides tells of topics, {_flag(reports[0])} of partitions: choose one.")


def _flag(name: str) -> str:
    return "--" + name.replace("_", "-")


def _flags(names: Iterable[str]) -> str:
    return " or ".join(map(_flag, names))
