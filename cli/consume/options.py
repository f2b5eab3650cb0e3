"""What the options of consume ask for together, and which of them cannot be had together: Kafka's rules, and ours."""

from __future__ import annotations

import argparse
import re
import time
from typing import NamedTuple

from barnabas.cli.clients.arguments import bootstrap_from, not_together, properties_from
from barnabas.cli.consume.bounds import Ends, Start
from barnabas.cli.failures import WrongUsage
from barnabas.cli.times import moment_ms
from barnabas.client.offsets import EARLIEST, LATEST

__all__ = ["Wanted", "parse_partitions", "wanted"]

_NUMBERS = re.compile(r"\d+(-\d+)?(,\d+(-\d+)?)*")
_MOST = 2**31 - 1
_RESETS = ("earliest", "latest", "none")


class Wanted(NamedTuple):
    topic: str | None
    include: str | None
    group: str | None
    partitions: list[int] | None
    start: Start
    ends: Ends
    tail: int | None
    is_assigned: bool
    """By us, to begin or end somewhere in particular; otherwise the library subscribes."""
    most: int | None
    idle_s: float | None
    bootstrap: str
    properties: dict[str, str]

    @property
    def reads_committed(self) -> bool:
        return self.properties["isolation.level"] == "read_committed"


def wanted(arguments: argparse.Namespace) -> Wanted:
    topic = _topic(arguments)
    partitions = parse_partitions(arguments.partition)
    _check_combinations(arguments, partitions)
    properties = properties_from(arguments)
    group = _group(arguments, properties)
    if group is not None and partitions is not None:
        raise WrongUsage("--group and --partition cannot be given together: the group shares the partitions out")
    ends = _ends(arguments)
    start = _start(arguments)
    positions = {"--since": arguments.since, "--tail": arguments.tail}
    for flag, value in positions.items():
        if value is not None and (group is not None or arguments.include is not None):
            raise WrongUsage(f"{flag} is for a topic that is read without --group and --include")
    return Wanted(
        topic=topic,
        include=arguments.include,
        group=group,
        partitions=partitions,
        start=start,
        ends=ends,
        tail=_positive(arguments.tail, "--tail"),
        is_assigned=group is None
        and topic is not None
        and (partitions is not None or ends.are_there or any(value is not None for value in positions.values())),
        most=None if arguments.max_messages is None or arguments.max_messages < 0 else arguments.max_messages,
        idle_s=None if arguments.timeout_ms is None or arguments.timeout_ms < 0 else arguments.timeout_ms / 1000,
        bootstrap=bootstrap_from(arguments, properties),
        properties=_consumer_properties(arguments, properties, group),
    )


def _topic(arguments: argparse.Namespace) -> str | None:
    names = [*([arguments.topic] if arguments.topic else []), *arguments.words]
    if len(names) + (arguments.include is not None) != 1:
        raise WrongUsage("name one topic: consume TOPIC, or --include PATTERN")
    if arguments.include is not None:
        try:
            re.compile(arguments.include)
        except re.error as error:
            raise WrongUsage(f"--include {arguments.include} is no regular expression ({error})") from None
    return names[0] if names else None


def _check_combinations(arguments: argparse.Namespace, partitions: list[int] | None) -> None:
    not_together(arguments, from_beginning="--from-beginning", since="--since", tail="--tail", offset="--offset")
    not_together(arguments, pretty="--pretty", plain="--plain", json="--json")
    not_together(arguments, formatter="--formatter", pretty="--pretty", json="--json")
    if partitions is not None and arguments.include is not None:
        raise WrongUsage("--partition is for one topic: name it")
    for flag, value in (("--offset", arguments.offset), ("--to-offset", arguments.to_offset)):
        if value is not None and (partitions is None or len(partitions) > 1):
            raise WrongUsage(f"{flag} is for one partition: name it with --partition")
    if arguments.follow and arguments.tail is None:
        raise WrongUsage("--follow goes with --tail: without it, consume follows anyway")
    if arguments.follow and (arguments.until_end or arguments.until is not None or arguments.to_offset is not None):
        raise WrongUsage("--follow has no end: leave it out, or --until-end, --until and --to-offset")


def parse_partitions(text: str | None) -> list[int] | None:
    if text is None:
        return None
    if not _NUMBERS.fullmatch(text):
        raise WrongUsage(f"--partition {text} is no number, nor several such as 0,3-5")
    found: set[int] = set()
    for part in text.split(","):
        first, _, last = part.partition("-")
        if int(last or first) - int(first) > 1_000_000:
            raise WrongUsage(f"--partition {text} names too many")
        if int(last or first) < int(first):
            raise WrongUsage(f"--partition {text} names none: write the smaller number first")
        found.update(range(int(first), int(last or first) + 1))
    return sorted(found)


def _group(arguments: argparse.Namespace, properties: dict[str, str]) -> str | None:
    """Whoever names it twice has to mean the same."""
    names = {name for name in (arguments.group, properties.get("group.id")) if name}
    if len(names) > 1:
        raise WrongUsage(f"the group is {' in one place and '.join(sorted(names))} in another: name it once")
    return names.pop() if names else None


def _start(arguments: argparse.Namespace) -> Start:
    if arguments.since is not None:
        return Start(moment_ms(arguments.since, "--since"))
    given = (arguments.offset or "").lower()
    if given == "earliest" or arguments.from_beginning:
        return Start(EARLIEST)
    if given in ("", "latest"):
        # Who asks for a range up to an end means what is there, and not what comes between now and now.
        return Start(EARLIEST if _has_end(arguments) and not given else LATEST)
    if not given.isascii() or not given.isdigit():
        raise WrongUsage(f"--offset {arguments.offset} is none of earliest, latest, or a number from 0 on")
    return Start(offset=int(given))


def _has_end(arguments: argparse.Namespace) -> bool:
    return bool(arguments.until_end) or arguments.until is not None or arguments.to_offset is not None


def _ends(arguments: argparse.Namespace) -> Ends:
    timestamp = None if arguments.until is None else moment_ms(arguments.until, "--until")
    if timestamp is not None and timestamp > time.time() * 1000:
        raise WrongUsage("--until lies ahead: leave it out to follow, and end it with Ctrl-C or --timeout-ms")
    at_now = arguments.until_end or (arguments.tail is not None and not arguments.follow)
    return Ends(at_now, timestamp, arguments.to_offset)


def _positive(value: int | None, flag: str) -> int | None:
    if value is not None and value < 1:
        raise WrongUsage(f"{flag} {value} is no number above 0")
    if value is not None and value > _MOST:
        raise WrongUsage(f"{flag} {value} is more than there can be: leave it out")
    return value


def _consumer_properties(
    arguments: argparse.Namespace, properties: dict[str, str], group: str | None
) -> dict[str, str]:
    found = dict(properties)
    reset = found.setdefault("auto.offset.reset", "earliest" if arguments.from_beginning else "latest")
    if reset not in _RESETS:
        raise WrongUsage(f"auto.offset.reset={reset} is none of {', '.join(_RESETS)}")
    if arguments.from_beginning and reset != "earliest":
        raise WrongUsage(f"--from-beginning and auto.offset.reset={reset} cannot be given together")
    if arguments.isolation_level is not None:
        found["isolation.level"] = arguments.isolation_level
    found.setdefault("isolation.level", "read_uncommitted")
    if found["isolation.level"] not in ("read_committed", "read_uncommitted"):
        raise WrongUsage(f"isolation.level={found['isolation.level']} is neither read_committed nor read_uncommitted")
    if found.get("group.protocol", "classic").lower() != "classic":
        raise WrongUsage("group.protocol=consumer is not spoken by kafka-python: leave it out")
    found.pop("group.protocol", None)
    found.setdefault("client.id", "console-consumer")
    if group is None:
        found.pop("group.id", None)
        found["enable.auto.commit"] = "false"
    else:
        found["group.id"] = group
    # Whoever waits for a topic that is not there asked for it by a property.
    found.setdefault("allow.auto.create.topics", "false")
    return found
