"""`barnabas cluster elect`: what kafka-leader-election.sh does, with its lines."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.json_files import read_json
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.cli.refusals import words_for
from barnabas.client.cluster import Partition, check
from barnabas.client.errors import code_of, name_of
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse, TopicPartitions

__all__ = ["add_arguments", "run"]

_KINDS = {"preferred": 0, "unclean": 1}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="preferred|unclean", help="the type of election as a word")
    parser.add_argument(
        "--election-type",
        type=str.lower,
        choices=list(_KINDS),
        help="preferred: the first replica leads again; unclean: any replica, where there is no leader",
    )
    parser.add_argument("--topic", help="of this topic, with --partition")
    parser.add_argument("--partition", type=int, help="this one")
    parser.add_argument("--all-topic-partitions", action="store_true", help="of all partitions that need it")
    parser.add_argument(
        "--path-to-json-file", metavar="FILE", type=Path, help='{"partitions": [{"topic", "partition"}]}'
    )
    parser.add_argument("--yes", action="store_true", help="do not ask before an unclean election, which loses records")
    add_connection_arguments(parser, old_files=["--admin.config"])
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    kind = _kind(arguments)
    partitions = _partitions(arguments)
    if kind == "unclean":
        confirm("Let a replica lead that has missed records? They are lost then.", yes=arguments.yes)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        request = ElectLeadersRequest(
            election_type=_KINDS[kind],
            topic_partitions=None if partitions is None else _by_topic(partitions),
            timeout_ms=int(cluster.timeout_s * 1000),
        )
        answer = cluster.ask_controller(request, ElectLeadersResponse)
        check(answer.error_code)
    _tell(kind, answer, output)


def _kind(arguments: argparse.Namespace) -> str:
    words = [word.lower() for word in arguments.words]
    kinds = {*words, *([arguments.election_type] if arguments.election_type else [])}
    if len(kinds) != 1 or not kinds <= set(_KINDS):
        raise WrongUsage("name the type of election: --election-type preferred or unclean")
    return str(kinds.pop())


def _partitions(arguments: argparse.Namespace) -> list[Partition] | None:
    """None: all that need it."""
    ways = [arguments.topic is not None, arguments.all_topic_partitions, arguments.path_to_json_file is not None]
    if sum(ways) != 1:
        raise WrongUsage("name one of --topic, --all-topic-partitions and --path-to-json-file")
    if arguments.topic is not None and arguments.partition is None:
        raise WrongUsage(f"name the partition of {arguments.topic}: --partition")
    if arguments.topic is None and arguments.partition is not None:
        raise WrongUsage("--partition goes with --topic only")
    if arguments.path_to_json_file is not None:
        return _read(arguments.path_to_json_file)
    return None if arguments.topic is None else [Partition(arguments.topic, arguments.partition)]


def _read(path: Path) -> list[Partition]:
    data = read_json(path)
    rows: Any = data.get("partitions") if isinstance(data, dict) else None
    try:
        found = [_partition(row["topic"], row["partition"]) for row in rows]
    except (KeyError, TypeError):
        raise CommandFailed(
            f'{path} does not say which partitions: write {{"partitions": [{{"topic": "orders", "partition": 0}}]}}.'
        ) from None
    if twice := {str(each) for each in found if found.count(each) > 1}:
        raise CommandFailed(f"{path} names {', '.join(sorted(twice))} more than once.")
    return found


def _partition(topic: object, number: object) -> Partition:
    """No other type is taken for these: partition 0.5 would be another one than is meant."""
    if not isinstance(topic, str) or type(number) is not int:
        raise TypeError
    return Partition(topic, number)


def _by_topic(partitions: Iterable[Partition]) -> list[TopicPartitions]:
    topics: dict[str, list[int]] = {}
    for topic, number in partitions:
        topics.setdefault(topic, []).append(number)
    return [TopicPartitions(topic=topic, partitions=numbers) for topic, numbers in topics.items()]


def _tell(kind: str, answer: ElectLeadersResponse, output: Output) -> None:
    results = sorted(
        (Partition(topic.topic, each.partition_id), each.error_code, each.error_message)
        for topic in answer.replica_election_results
        for each in topic.partition_result
    )
    elected = [str(each) for each, code, _ in results if not code]
    needless = [str(each) for each, code, _ in results if code == ErrorCode.ELECTION_NOT_NEEDED]
    failed = [
        (each, code, message) for each, code, message in results if code not in (0, ErrorCode.ELECTION_NOT_NEEDED)
    ]
    if elected:
        names = ", ".join(elected)
        output.line(f"Successfully completed leader election ({kind.upper()}) for partitions {names}")
    if needless:
        output.line(f"Valid replica already elected for partitions {', '.join(needless)}")
    for each, code, message in failed:
        why = f"{name_of(code)}: {words_for(code_of(code), message)}"
        output.line(f"Error completing leader election ({kind.upper()}) for partition: {each}: {why}")
    if not results:
        output.note("No partition needed an election.")
    if output.as_json:
        errors = [{"partition": str(each), "error": name_of(code)} for each, code, _ in failed]
        output.json({"elected": elected, "already_led": needless, "failed": errors})
    if failed:
        raise CommandFailed(f"{len(failed)} replica(s) could not be elected.")
