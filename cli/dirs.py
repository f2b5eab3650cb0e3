"""`barnabas dirs`: what kafka-log-dirs.sh does: the log directories of each broker, and what lies in them."""

from __future__ import annotations

import argparse
import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments, add_watch_argument, watch
from barnabas.cli.refusals import words_for
from barnabas.cli.units import size_text
from barnabas.client.cluster import Cluster, check
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
)

__all__ = ["add_arguments", "run"]

_MOST_IN_JAVA = 2**63 - 1


class Directory(NamedTuple):
    broker: int
    found: DescribeLogDirsResult

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(self.found.error_code)

    @property
    def size(self) -> int:
        return sum(replica.partition_size for topic in self.found.topics for replica in topic.partitions)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="describe TOPIC", help="show only these topics")
    parser.add_argument("--describe", action="store_true", help="as kafka-log-dirs.sh prints it: one line of JSON")
    parser.add_argument("--topic-list", metavar="TOPIC,...", default="", help="only these topics")
    parser.add_argument("--broker-list", metavar="ID,...", default="", help="only these brokers")
    parser.add_argument("--partitions", action="store_true", help="each replica, and not only each directory")
    add_connection_arguments(parser)
    add_output_arguments(parser)
    add_watch_argument(parser)


def run(arguments: argparse.Namespace) -> None:
    words = [word for place, word in enumerate(arguments.words) if place or word != "describe"]
    topics = sorted({*words, *filter(None, arguments.topic_list.split(","))})
    wanted = _numbers(arguments.broker_list)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        brokers = _brokers(cluster, wanted)
        if arguments.describe and not arguments.json:
            _as_kafka_does(cluster, brokers, topics, output)
            return

        def show() -> None:
            directories = _ask(cluster, brokers, topics)
            _must_be_there(directories, topics)
            if output.as_json:
                output.json([_as_json(each) for each in directories])
            elif arguments.partitions or topics:
                _show_replicas(directories, output)
            else:
                _show_directories(directories, output)

        watch(arguments, output, show)


def _must_be_there(directories: Sequence[Directory], topics: Sequence[str]) -> None:
    """A broker tells of a topic that is nowhere as of one that has no replica on it: not at all."""
    there = {topic.name for directory in directories for topic in directory.found.topics}
    if missing := [topic for topic in topics if topic not in there]:
        raise CommandFailed(f"No directory has a replica of {', '.join(missing)}; see barnabas topics --list.")


def _numbers(text: str) -> list[int]:
    try:
        return sorted({int(each) for each in text.split(",") if each})
    except ValueError:
        raise WrongUsage(f"--broker-list {text} is no list of numbers such as 1,2") from None


def _brokers(cluster: Cluster, wanted: Sequence[int]) -> list[int]:
    there = [node.node_id for node in cluster.nodes]
    missing = [broker for broker in wanted if broker not in there]
    if missing:
        raise CommandFailed(
            f"There is no broker {_listed(missing)}, which --broker-list names: the cluster has {_listed(there)}."
        )
    return list(wanted) or there


def _ask(cluster: Cluster, brokers: Sequence[int], topics: Sequence[str]) -> list[Directory]:
    """Every replica is asked for, and what is not wanted left out: who asks for a topic has to know its partitions."""
    found = []
    for broker in brokers:
        answer = cluster.ask_node(broker, DescribeLogDirsRequest(topics=None), DescribeLogDirsResponse)
        check(answer.error_code, f"broker {broker}")
        if not answer.results:
            # So an old broker refuses those who may not describe the cluster.
            check(ErrorCode.CLUSTER_AUTHORIZATION_FAILED, f"broker {broker}")
        for directory in sorted(answer.results, key=lambda each: each.log_dir):
            if topics:
                directory.topics = [topic for topic in directory.topics if topic.name in topics]
            directory.topics.sort(key=lambda topic: topic.name)
            for topic in directory.topics:
                topic.partitions.sort(key=lambda replica: (replica.partition_index, replica.is_future_key))
            found.append(Directory(broker, directory))
    return found


# As Kafka's tool prints it


def _as_kafka_does(cluster: Cluster, brokers: Sequence[int], topics: Sequence[str], output: Output) -> None:
    output.line("Querying brokers for log directories information")
    directories = _ask(cluster, brokers, topics)
    output.line(f"Received log directory information from brokers {','.join(map(str, brokers))}")
    told = {
        "brokers": [
            {
                "broker": broker,
                "logDirs": [_for_kafka(each) for each in directories if each.broker == broker],
            }
            for broker in brokers
        ],
        "version": 1,
    }
    output.line(json.dumps(told, ensure_ascii=False, separators=(",", ":")))


def _for_kafka(directory: Directory) -> dict[str, Any]:
    partitions = [
        {
            "partition": f"{topic.name}-{replica.partition_index}",
            "size": replica.partition_size,
            "offsetLag": replica.offset_lag,
            "isFuture": replica.is_future_key,
        }
        for topic in directory.found.topics
        for replica in topic.partitions
    ]
    return {"partitions": partitions, "error": _java_class(directory.error), "logDir": directory.found.log_dir}


def _java_class(error: ErrorCode) -> str | None:
    """Of the exception that Kafka's client makes of an error."""
    if error is ErrorCode.NONE:
        return None
    words = "".join(part.capitalize() for part in error.name.split("_"))
    return f"org.apache.kafka.common.errors.{words.removesuffix('Error')}Exception"


# For people, and programs of today


def _as_json(directory: Directory) -> dict[str, Any]:
    found = directory.found
    return {
        "broker": directory.broker,
        "directory": found.log_dir,
        "error": None if directory.error is ErrorCode.NONE else directory.error.name,
        "totalBytes": _known(found.total_bytes),
        "usableBytes": _known(found.usable_bytes),
        "cordoned": found.is_cordoned,
        "replicas": [
            {
                "topic": topic.name,
                "partition": replica.partition_index,
                "size": replica.partition_size,
                "offsetLag": replica.offset_lag,
                "future": replica.is_future_key,
            }
            for topic in found.topics
            for replica in topic.partitions
        ],
    }


def _show_directories(directories: Sequence[Directory], output: Output) -> None:
    rows = []
    for directory in directories:
        found = directory.found
        replicas = [replica for topic in found.topics for replica in topic.partitions]
        futures = sum(replica.is_future_key for replica in replicas)
        rows.append(
            (
                directory.broker,
                found.log_dir,
                len(replicas) - futures,
                futures,
                _size(directory.size),
                _size(_known(found.usable_bytes)),
                _size(_known(found.total_bytes)),
                _state(directory, output),
            )
        )
    headers = ("broker", "directory", "replicas", "moving in", "size", "volume free", "volume", "state")
    output.table(headers, rows)


def _show_replicas(directories: Sequence[Directory], output: Output) -> None:
    rows = [
        (
            topic.name,
            replica.partition_index,
            directory.broker,
            directory.found.log_dir,
            _size(replica.partition_size),
            replica.offset_lag,
            "moving in" if replica.is_future_key else _state(directory, output),
        )
        for directory in directories
        for topic in directory.found.topics
        for replica in topic.partitions
    ]
    output.table(("topic", "partition", "broker", "directory", "size", "lag", "state"), sorted(rows))


def _state(directory: Directory, output: Output) -> str:
    if directory.error is not ErrorCode.NONE:
        return output.bad(f"offline ({words_for(directory.error)})")
    return output.warn("cordoned") if directory.found.is_cordoned else "online"


def _known(size: int) -> int | None:
    """Kafka says -1 where it does not know, and its highest number of a volume that is larger."""
    return size if 0 <= size < _MOST_IN_JAVA else None


def _size(count: int | None) -> str:
    return "-" if count is None else size_text(count)


def _listed(numbers: Sequence[int]) -> str:
    return ", ".join(map(str, numbers)) or "none"
