"""What is to be replayed: from where to where, through which client, and which offsets of which partitions."""

from __future__ import annotations

import argparse
import re
from collections.abc import Mapping
from typing import NamedTuple

from barnabas.cli.clients.arguments import bootstrap_from, properties_from
from barnabas.cli.clients.choosing import chosen_client
from barnabas.cli.clients.settings import merged
from barnabas.cli.clients.topics import partitions_of
from barnabas.cli.consume.bounds import Ends, Start, ends_of, offsets_at, starts_of
from barnabas.cli.consume.options import parse_partitions
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.times import moment_ms
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import EARLIEST
from barnabas.client.properties import read_client_properties

__all__ = ["Plan", "plan_of", "range_of"]

_FROM_OFFSETS = re.compile(r"(?:[^:,]*:)?(\d+):(\d+)")


class Plan(NamedTuple):
    source: str
    target: str
    bootstrap: str
    to_bootstrap: str
    properties: dict[str, str]
    to_properties: dict[str, str]
    client: str

    @property
    def is_same_cluster(self) -> bool:
        return self.bootstrap == self.to_bootstrap


def plan_of(arguments: argparse.Namespace) -> Plan:
    names = [*([arguments.topic] if arguments.topic else []), *arguments.words]
    names += [arguments.to_topic] if arguments.to_topic else []
    elsewhere = arguments.to_bootstrap_server is not None
    if len(names) == 1 and elsewhere:
        names *= 2
    if len(names) != 2:
        raise WrongUsage("name two topics: records replay FROM TO")
    if arguments.rate is not None and not arguments.rate > 0:
        raise WrongUsage("--rate has to be above 0")
    properties = properties_from(arguments)
    bootstrap = bootstrap_from(arguments, properties)
    file = arguments.to_command_config
    to_properties = read_client_properties(file, "--to-command-config") if file is not None else {}
    if not elsewhere and file is None:
        # The same cluster: the same way to it.
        to_properties = {key: value for key, value in properties.items() if key.startswith(("security", "sasl", "ssl"))}
    properties["isolation.level"] = arguments.isolation_level
    return Plan(
        source=names[0],
        target=names[1],
        bootstrap=bootstrap,
        to_bootstrap=arguments.to_bootstrap_server or bootstrap,
        properties={"client.id": "barnabas-replay"} | properties,
        to_properties={"client.id": "barnabas-replay"} | merged(to_properties, arguments.producer_property),
        client=chosen_client(arguments),
    )


def range_of(
    cluster: Cluster, arguments: argparse.Namespace, topic: str
) -> tuple[dict[Partition, int], Mapping[Partition, int]]:
    numbers = partitions_of(cluster, topic)
    wanted = parse_partitions(arguments.partition)
    given = _from_offsets(arguments.from_offsets)
    if given and (arguments.since is not None or arguments.offset is not None or wanted is not None):
        raise WrongUsage("--from-offsets names the partitions and where they begin: leave the others out")
    if (arguments.offset is not None or arguments.to_offset is not None) and (wanted is None or len(wanted) > 1):
        raise WrongUsage("--offset and --to-offset are for one partition: name it with --partition")
    if arguments.offset is not None and arguments.since is not None:
        raise WrongUsage("--offset and --since cannot be given together")
    if arguments.offset is not None and not arguments.offset.isdigit():
        raise WrongUsage(f"--offset {arguments.offset} is no number from 0 on")
    if missing := sorted(set(wanted or given) - set(numbers)):
        raise CommandFailed(f"{topic} has no partition {missing[0]}: they are 0 to {numbers[-1]}.")
    partitions = [Partition(topic, number) for number in wanted or given or numbers]
    committed = arguments.isolation_level == "read_committed"
    start = Start(EARLIEST)
    if arguments.since is not None:
        start = Start(moment_ms(arguments.since, "--since"))
    elif arguments.offset is not None:
        start = Start(offset=int(arguments.offset))
    starts = starts_of(cluster, partitions, start, committed)
    if given:
        first = offsets_at(cluster, partitions, EARLIEST, committed)
        starts = {each: max(given[each.number], first[each]) for each in partitions}
    until = None if arguments.until is None else moment_ms(arguments.until, "--until")
    ends = ends_of(cluster, partitions, Ends(True, until, arguments.to_offset), committed)
    return starts, {each: max(end, starts[each]) for each, end in ends.items()}


def _from_offsets(text: str | None) -> dict[int, int]:
    """`0:120,1:99`, and with a topic before each, which the end of a replay writes."""
    found = {}
    for part in text.replace("\n", ",").split(",") if text else []:
        match = _FROM_OFFSETS.fullmatch(part.strip())
        if match is None:
            raise WrongUsage(f"--from-offsets {text} is not PARTITION:OFFSET,PARTITION:OFFSET")
        found[int(match[1])] = int(match[2])
    return found
