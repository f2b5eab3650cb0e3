"""`barnabas offsets`: what kafka-get-offsets.sh does, on any Kafka cluster: `TOPIC:PARTITION:OFFSET` a line."""

from __future__ import annotations

import argparse
from typing import Any

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import FAILED, CommandFailed, WrongUsage
from barnabas.cli.moments import show_moment, timestamp_ms
from barnabas.cli.output import Output, add_output_arguments
from barnabas.cli.partition_words import PartitionFilter, read_rules, read_topic_and_numbers
from barnabas.cli.refusals import sentence_of
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import (
    EARLIEST,
    EARLIEST_LOCAL,
    EARLIEST_PENDING_UPLOAD,
    LATEST,
    LATEST_TIERED,
    MAX_TIMESTAMP,
    FoundOffset,
    list_offsets,
)
from barnabas.protocol.errors import KafkaError

__all__ = ["add_arguments", "run"]

_SPECIAL = {
    "latest": LATEST,
    "earliest": EARLIEST,
    "max-timestamp": MAX_TIMESTAMP,
    "earliest-local": EARLIEST_LOCAL,
    "latest-tiered": LATEST_TIERED,
    "earliest-pending-upload": EARLIEST_PENDING_UPLOAD,
}
_INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the same as --topic-partitions")
    parser.add_argument(
        "--topic-partitions",
        metavar="PATTERNS",
        help="regular expressions of topics, each with numbers if wanted: orders:1,pay.*:0-3,clicks:5-,:-3",
    )
    parser.add_argument("--topic", metavar="PATTERN", help="a regular expression of topics (all)")
    parser.add_argument("--partitions", metavar="NUMBERS", help="0,1,2 of each of these topics (all)")
    parser.add_argument(
        "--time",
        default="latest",
        metavar="WHEN",
        help="the first offset at a timestamp in milliseconds or behind it, or at 2026-01-31T18:30:00.000; or one of "
        + ", ".join(f"{name} ({number})" for name, number in _SPECIAL.items()),
    )
    parser.add_argument("--exclude-internal-topics", action="store_true", help="without Kafka's own topics")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted = _filter_of(arguments)
    timestamp = _timestamp_of(arguments.time)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        partitions = _partitions(cluster, wanted, without_internal=arguments.exclude_internal_topics)
        if not partitions:
            raise CommandFailed("There are no partitions of these topics and numbers; see barnabas topics --list.")
        found = list_offsets(cluster, dict.fromkeys(partitions, timestamp))
    return _show(output, found)


def _filter_of(arguments: argparse.Namespace) -> PartitionFilter:
    rules = ",".join([*arguments.words, *([arguments.topic_partitions] if arguments.topic_partitions else [])])
    if not rules:
        return read_topic_and_numbers(arguments.topic, arguments.partitions)
    if arguments.topic is not None or arguments.partitions is not None:
        raise WrongUsage("--topic-partitions, or the topics behind the command, go without --topic and --partitions")
    return read_rules(rules)


def _timestamp_of(text: str) -> int:
    if text in _SPECIAL:
        return _SPECIAL[text]
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return timestamp_ms(text)
    except WrongUsage:
        raise WrongUsage(
            f"--time {text} is neither a timestamp in milliseconds, nor a moment such as 2026-01-31T18:30:00.000, "
            f"nor one of {', '.join(_SPECIAL)}"
        ) from None


def _partitions(cluster: Cluster, wanted: PartitionFilter, *, without_internal: bool) -> list[Partition]:
    """In the order of Kafka's tool, which is that of their names: orders-10 comes before orders-2."""
    found = [
        Partition(name, each.partition_index)
        for name, topic in cluster.topics().items()
        if wanted.takes_topic(name) and not (without_internal and (topic.is_internal or name in _INTERNAL))
        for each in topic.partitions
    ]
    return sorted(filter(wanted.takes, found), key=str)


def _show(output: Output, found: dict[Partition, FoundOffset | KafkaError]) -> int:
    """A partition that has no such offset is left out, as by Kafka's tool."""
    rows: list[dict[str, Any]] = []
    failed = False
    for partition, result in found.items():
        if isinstance(result, KafkaError):
            failed = True
            output.note(f"{partition} is left out: {sentence_of(result)}")
        elif result.offset >= 0:
            output.line(f"{partition.topic}:{partition.number}:{result.offset}")
            moment = show_moment(result.timestamp) if result.timestamp >= 0 else None
            rows.append(
                {"topic": partition.topic, "partition": partition.number, "offset": result.offset, "time": moment}
            )
    if output.as_json:
        output.json(rows)
    return FAILED if failed else 0
