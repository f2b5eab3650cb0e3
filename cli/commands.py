"""Which commands there are, under which names, and which file does each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

__all__ = ["COMMANDS", "KAFKA_TOOLS", "Command", "Group", "find"]


class Command(NamedTuple):
    module: str
    """It has `add_arguments(parser)` and `run(arguments)`, which returns the exit code, or None for 0."""
    help: str


class Group(NamedTuple):
    help: str
    commands: Mapping[str, Command]


COMMANDS: dict[str, Command | Group] = {
    "groups": Command("barnabas.cli.groups", "list, describe, reset and delete groups, and watch their lag"),
    "offsets": Command("barnabas.cli.offsets", "where partitions begin and end, and which offset a moment has"),
    "records": Group(
        "delete and replay records",
        {"delete": Command("barnabas.cli.delete_records", "delete the oldest records of partitions")},
    ),
    "start": Command("barnabas.cli.start", "start a broker, ready in a moment, on ./barnabas-data"),
    "topics": Command("barnabas.cli.topics", "list, create, describe, alter and delete topics"),
    "consume": Command("barnabas.cli.consume", "read records: follow, filter, a range, the last ones"),
    "produce": Command("barnabas.cli.produce", "write records: lines, files, JSON with keys and headers"),
}

KAFKA_TOOLS: dict[str, tuple[str, ...]] = {
    "kafka-consumer-groups": ("groups",),
    "kafka-delete-records": ("records", "delete"),
    "kafka-get-offsets": ("offsets",),
    "kafka-console-consumer": ("consume",),
    "kafka-console-producer": ("produce",),
    "kafka-groups": ("groups", "--all-types"),
    "kafka-share-groups": ("groups", "--share"),
    "kafka-streams-groups": ("groups", "--streams"),
    "kafka-topics": ("topics",),
}
"""The name of Kafka's own tool to ours: a line that was copied from a tutorial works behind `barnabas`."""


def find(words: Sequence[str]) -> tuple[str, Command | Group | None, list[str]]:
    """The name of the command, the command (None: there is none of that name), and what is left for it."""
    rest = list(words)
    name = rest.pop(0)
    tool = KAFKA_TOOLS.get(PurePath(name).name.removesuffix(".sh").removesuffix(".bat"))
    if tool is not None:
        name, *inner = tool
        rest = [*inner, *rest]
    found = COMMANDS.get(name)
    if isinstance(found, Group) and rest and rest[0] in found.commands:
        inner_name = rest.pop(0)
        return f"{name} {inner_name}", found.commands[inner_name], rest
    return name, found, rest
