"""Which commands there are, under which names, and which file does each."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import PurePath
from typing import NamedTuple

__all__ = ["COMMANDS", "KAFKA_TOOLS", "SHORT_NAMES", "Command", "Group", "find"]


class Command(NamedTuple):
    module: str
    """It has `add_arguments(parser)` and `run(arguments)`, which returns the exit code, or None for 0."""
    help: str


class Group(NamedTuple):
    help: str
    commands: Mapping[str, Command]
    default: str | None = None
    """What the group alone means."""
    aliases: Mapping[str, str] = {}
    """Kafka's own words for some of the commands."""


COMMANDS: dict[str, Command | Group] = {
    "start": Command("barnabas.cli.start", "start a broker, ready in a moment, on ./barnabas-data"),
    "topics": Command("barnabas.cli.topics", "list, create, describe, alter and delete topics"),
    "produce": Command("barnabas.cli.produce", "write records: lines, files, JSON with keys and headers"),
    "consume": Command("barnabas.cli.consume", "read records: follow, filter, a range, the last ones"),
    "groups": Command("barnabas.cli.groups", "list, describe, reset and delete groups, and watch their lag"),
    "configs": Command("barnabas.cli.configs", "describe and alter what topics, brokers, users and others are set to"),
    "quotas": Command("barnabas.cli.quotas", "list, set and remove what users, clients and addresses may do"),
    "offsets": Command("barnabas.cli.offsets", "where partitions begin and end, and which offset a moment has"),
    "records": Group(
        "delete and replay records",
        {
            "delete": Command("barnabas.cli.delete_records", "delete the oldest records of partitions"),
            "replay": Command("barnabas.cli.replay", "a range of one topic into another, at a rate"),
        },
    ),
    "log": Group(
        "what lies in a log directory, with or without a broker on it",
        {
            "dump": Command("barnabas.cli.log.dump", "print batches, records, indexes and snapshots of files"),
            "verify": Command("barnabas.cli.log.verify", "check all files, and say what a start would mend or cut"),
            "explain": Command("barnabas.cli.log.explain", "why each segment is kept, and what a log waits for"),
            "state": Command(
                "barnabas.cli.log.state", "who has led each partition when, by the metadata logs of nodes"
            ),
        },
    ),
    "storage": Group(
        "format log directories, and look at whose they are",
        {
            "info": Command("barnabas.cli.storage.info", "whose the directories of a server.properties are"),
            "format": Command(
                "barnabas.cli.storage.format", "make directories a node's; barnabas start does it by itself"
            ),
            "random-uuid": Command("barnabas.cli.storage.random_uuid", "draw an id for a new cluster"),
            "version-mapping": Command("barnabas.cli.storage.version_mapping", "the features of a release"),
            "feature-dependencies": Command(
                "barnabas.cli.storage.feature_dependencies", "what levels of features need of others"
            ),
        },
    ),
    "dirs": Command("barnabas.cli.dirs", "the log directories of brokers: replicas, sizes, what is left of the volume"),
    "cluster": Group(
        "look at the cluster, and change what is the whole cluster's",
        {
            "info": Command("barnabas.cli.cluster.info", "brokers, versions, features, listeners and partitions"),
            "brokers": Command("barnabas.cli.cluster.brokers", "each broker: what it leads and has, what is in sync"),
            "id": Command("barnabas.cli.cluster.identity", "the cluster's id"),
            "endpoints": Command("barnabas.cli.cluster.endpoints", "where each broker or controller listens"),
            "unregister": Command("barnabas.cli.cluster.unregister", "forget a broker that will not come back"),
            "api-versions": Command("barnabas.cli.cluster.api_versions", "the APIs that each broker offers"),
            "features": Command("barnabas.cli.cluster.features", "describe, upgrade and downgrade feature levels"),
            "quorum": Command("barnabas.cli.cluster.quorum", "describe the controllers' quorum, and change it"),
            "elect": Command("barnabas.cli.cluster.elect", "let preferred leaders lead again, or any replica at all"),
            "reassign": Command(
                "barnabas.cli.cluster.reassign.command", "move replicas between brokers or directories"
            ),
            "tokens": Command("barnabas.cli.cluster.tokens", "describe, create, renew and end delegation tokens"),
        },
        default="info",
        aliases={"cluster-id": "id", "list-endpoints": "endpoints"},
    ),
    "acls": Command("barnabas.cli.acls.command", "list, add and remove who may do what"),
    "transactions": Command(
        "barnabas.cli.transactions.command", "list and describe transactions, and end hanging ones"
    ),
    "client-metrics": Command("barnabas.cli.client_metrics", "which metrics clients shall push, how often"),
    "mirror": Command("barnabas.cli.mirror.command", "topics of one cluster in another, kept so, each record once"),
    "perf": Group(
        "measure how fast records go in and out",
        {
            "consume": Command("barnabas.cli.perf.consume", "read records as fast as it can"),
            "latency": Command("barnabas.cli.perf.latency", "how long a record takes from end to end"),
            "produce": Command("barnabas.cli.perf.produce", "write records as fast as it can, or at a rate"),
        },
    ),
    "pipeline": Group(
        "topics into a lake of Parquet files, with Spark",
        {
            "new": Command("barnabas.cli.pipeline.new", "write a pipeline.toml to begin with"),
            "generate": Command("barnabas.cli.pipeline.generate", "make up a stream of activity, for trying"),
            "land": Command("barnabas.cli.pipeline.land", "topics into the lake, each record once"),
            "derive": Command("barnabas.cli.pipeline.derive", "feeds out of topics, by windows of the events' time"),
            "audit": Command("barnabas.cli.pipeline.audit", "say whether all that was sent is in the lake, once"),
            "demo": Command("barnabas.cli.pipeline.demo", "all of it once, with a broker of its own, and a report"),
            "mirror": Command("barnabas.cli.pipeline.mirror", "topics into another cluster, each record once"),
            "replay": Command("barnabas.cli.pipeline.replay", "a time range of the lake into a topic, at a rate"),
        },
    ),
    "verify-replicas": Command(
        "barnabas.cli.replicas.command", "say whether all replicas have the same, over the network or on disks"
    ),
    "doctor": Command(
        "barnabas.cli.doctor.command", "say what is wrong with a cluster, the way to it, or this machine"
    ),
    "completion": Command("barnabas.cli.completion", "let bash, zsh or fish complete what is typed"),
}

KAFKA_TOOLS: dict[str, tuple[str, ...]] = {
    "kafka-acls": ("acls",),
    "kafka-broker-api-versions": ("cluster", "api-versions"),
    "kafka-client-metrics": ("client-metrics",),
    "kafka-cluster": ("cluster",),
    "kafka-configs": ("configs",),
    "kafka-console-consumer": ("consume",),
    "kafka-console-producer": ("produce",),
    "kafka-consumer-groups": ("groups",),
    "kafka-consumer-perf-test": ("perf", "consume"),
    "kafka-delegation-tokens": ("cluster", "tokens"),
    "kafka-delete-records": ("records", "delete"),
    "kafka-dump-log": ("log", "dump"),
    "kafka-e2e-latency": ("perf", "latency"),
    "kafka-features": ("cluster", "features"),
    "kafka-get-offsets": ("offsets",),
    "kafka-groups": ("groups", "--all-types"),
    "kafka-leader-election": ("cluster", "elect"),
    "kafka-log-dirs": ("dirs",),
    "kafka-metadata-quorum": ("cluster", "quorum"),
    "kafka-producer-perf-test": ("perf", "produce"),
    "kafka-reassign-partitions": ("cluster", "reassign"),
    "kafka-replica-verification": ("verify-replicas", "--continuous"),
    "kafka-server-start": ("start", "--config"),
    "kafka-share-groups": ("groups", "--share"),
    "kafka-storage": ("storage",),
    "kafka-streams-groups": ("groups", "--streams"),
    "kafka-topics": ("topics",),
    "kafka-transactions": ("transactions",),
}
"""The name of Kafka's own tool to ours: a line that was copied from a tutorial works behind `barnabas`."""


SHORT_NAMES: dict[str, tuple[str, ...]] = {
    "elect-leaders": ("cluster", "elect"),
    "reassign": ("cluster", "reassign"),
    "state-log": ("log", "state"),
}
"""Of commands within groups, which people look for at the top."""


def find(words: Sequence[str]) -> tuple[str, Command | Group | None, list[str]]:
    """The name of the command, the command (None: there is none of that name), and what is left for it."""
    rest = list(words)
    name = rest.pop(0)
    tool = KAFKA_TOOLS.get(PurePath(name).name.removesuffix(".sh").removesuffix(".bat"))
    if tool is not None:
        name, *inner = tool
        if inner == ["--config"] and rest[:1] and rest[0].startswith("-"):
            inner = []  # kafka-server-start.sh --help, or -daemon: no file
        rest = [*inner, *rest]
    elif name in SHORT_NAMES:
        name, *inner = SHORT_NAMES[name]
        rest = [*inner, *rest]
    found = COMMANDS.get(name)
    if isinstance(found, Group):
        word = found.aliases.get(rest[0], rest[0]) if rest else ""
        if word in found.commands:
            return f"{name} {word}", found.commands[word], rest[1:]
        if found.default is not None and _means_the_default(rest):
            return f"{name} {found.default}", found.commands[found.default], rest
    return name, found, rest


def _means_the_default(rest: Sequence[str]) -> bool:
    """Options, and none of them asks what there is."""
    return not rest or (rest[0].startswith("-") and not {"-h", "--help"} & set(rest))
