"""`barnabas records delete`: what kafka-delete-records.sh does, from its file or from words. The oldest records of a
partition go, up to an offset; what is not the oldest cannot be deleted."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import FAILED, CommandFailed, WrongUsage
from barnabas.cli.moments import timestamp_ms
from barnabas.cli.output import Output, add_output_arguments, confirm
from barnabas.cli.partition_words import check_there, partitions_named
from barnabas.cli.refusals import sentence_of
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import EARLIEST, LATEST, FoundOffset, delete_records, list_offsets
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["add_arguments", "read_offsets_file", "run"]

_HIGH_WATERMARK = -1
_FORM = '{"version": 1, "partitions": [{"topic": "orders", "partition": 0, "offset": 42}]}'


class _Going(NamedTuple):
    """What of one partition goes."""

    before: int
    start: int | None
    end: int | None

    @property
    def records(self) -> int | None:
        """At most: offsets may be free, where a log was compacted or a transaction ended."""
        if self.start is None or self.end is None:
            return None
        upper = self.end if self.before == _HIGH_WATERMARK else min(self.before, self.end)
        return max(0, upper - self.start)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TOPIC", help="orders, or orders:0,1")
    parser.add_argument("--topic", action="append", default=[], metavar="TOPIC", help="the same")
    parser.add_argument(
        "--partition", action="append", default=[], type=int, metavar="NUMBER", help="of each TOPIC (all)"
    )
    upto = parser.add_mutually_exclusive_group(required=True)
    upto.add_argument("--offset-json-file", type=Path, metavar="FILE", help=f"as Kafka's tool reads it: {_FORM}")
    upto.add_argument("--before-offset", type=int, metavar="OFFSET", help="this one stays, older ones go")
    upto.add_argument(
        "--before-time",
        metavar="WHEN",
        help="2026-01-31T18:30:00.000 or milliseconds; older ones go, if all before are",
    )
    upto.add_argument("--all", action="store_true", help="all that there are now")
    parser.add_argument("--yes", "--force", action="store_true", help="do not ask before it is done")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    _check(arguments)
    given = read_offsets_file(arguments.offset_json_file) if arguments.offset_json_file else None
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        before = given if given is not None else _offsets_wanted(cluster, arguments)
        going = _what_goes(cluster, before)
        confirm(_question(going), yes=arguments.yes)
        output.line("Executing records delete operation")
        results = delete_records(cluster, before)
        output.line("Records delete operation completed:")
    return _show(output, going, results)


def _check(arguments: argparse.Namespace) -> None:
    named = arguments.words or arguments.topic
    if arguments.offset_json_file is not None and (named or arguments.partition):
        raise WrongUsage("--offset-json-file names the partitions: leave TOPIC and --partition out")
    if arguments.offset_json_file is None and not named:
        raise WrongUsage("name a TOPIC")
    if arguments.before_offset is not None and arguments.before_offset < _HIGH_WATERMARK:
        raise WrongUsage(f"{arguments.before_offset} is no offset; -1 is for all that there are now")


def _offsets_wanted(cluster: Cluster, arguments: argparse.Namespace) -> dict[Partition, int]:
    topics = [*arguments.words, *arguments.topic]
    if arguments.partition:
        if any(":" in topic for topic in topics):
            raise WrongUsage("name the partitions with --partition, or behind the TOPIC as in orders:0,1")
        topics = [f"{topic}:{number}" for topic in topics for number in arguments.partition]
    partitions = partitions_named(cluster, topics)
    check_there(cluster, partitions)
    if arguments.all:
        return dict.fromkeys(partitions, _HIGH_WATERMARK)
    if arguments.before_offset is not None:
        return dict.fromkeys(partitions, arguments.before_offset)
    return _offsets_at(cluster, partitions, _timestamp_of(arguments.before_time))


def _timestamp_of(text: str) -> int:
    return int(text) if text.isdecimal() else timestamp_ms(text)


def _offsets_at(cluster: Cluster, partitions: list[Partition], timestamp: int) -> dict[Partition, int]:
    """Where no record is that young, all go."""
    found = list_offsets(cluster, dict.fromkeys(partitions, timestamp))
    return {partition: _offset_or_end(result) for partition, result in found.items()}


def _offset_or_end(result: FoundOffset | KafkaError) -> int:
    if isinstance(result, KafkaError):
        raise result
    return result.offset if result.offset >= 0 else _HIGH_WATERMARK


def read_offsets_file(path: Path) -> dict[Partition, int]:
    """As Kafka's tool reads it. CommandFailed if it is anything else."""
    try:
        told = json.loads(path.read_bytes())
    except (ValueError, RecursionError) as error:
        raise CommandFailed(f"{path} is no JSON: {error}. Write it as {_FORM}.") from None
    try:
        version, rows = told.get("version", 1), [_row(each) for each in told["partitions"]]
    except (AttributeError, KeyError, TypeError):
        raise CommandFailed(f"{path} does not say which records go: write it as {_FORM}.") from None
    if version != 1:
        raise CommandFailed(f"{path} is of version {version}, and only 1 is known.")
    partitions = [partition for partition, _ in rows]
    twice = sorted({str(each) for each in partitions if partitions.count(each) > 1})
    if twice:
        raise CommandFailed(f"{path} names {', '.join(twice)} more than once.")
    return dict(rows)


def _row(told: Mapping[str, Any]) -> tuple[Partition, int]:
    topic, number, offset = told["topic"], told["partition"], told["offset"]
    if not isinstance(topic, str) or type(number) is not int or type(offset) is not int:
        raise TypeError
    return Partition(topic, number), offset


def _what_goes(cluster: Cluster, before: Mapping[Partition, int]) -> dict[Partition, _Going]:
    starts = list_offsets(cluster, dict.fromkeys(before, EARLIEST))
    ends = list_offsets(cluster, dict.fromkeys(before, LATEST))
    return {
        partition: _Going(offset, _known(starts[partition]), _known(ends[partition]))
        for partition, offset in before.items()
    }


def _known(result: FoundOffset | KafkaError) -> int | None:
    return None if isinstance(result, KafkaError) else result.offset


def _question(going: Mapping[Partition, _Going]) -> str:
    count = sum(each.records or 0 for each in going.values())
    names = [
        f"{partition} ({each.records:,})" if each.records is not None else str(partition)
        for partition, each in going.items()
    ]
    shown = ", ".join(names[:5]) + (f" and {len(names) - 5} more" if len(names) > 5 else "")
    return f"Delete up to {count:,} records, for good: {shown}?"


def _show(output: Output, going: Mapping[Partition, _Going], results: Mapping[Partition, int | KafkaError]) -> int:
    rows: list[dict[str, Any]] = []
    for partition, result in results.items():
        row: dict[str, Any] = {"topic": partition.topic, "partition": partition.number}
        if isinstance(result, KafkaError):
            output.line(f"partition: {partition}\terror: {_why(result, going[partition])}")
            row |= {"low_watermark": None, "deleted": 0, "error": result.code.name}
        else:
            output.line(f"partition: {partition}\tlow_watermark: {result}")
            start = going[partition].start
            row |= {"low_watermark": result, "deleted": None if start is None else max(0, result - start)}
        rows.append(row)
    if output.as_json:
        output.json(rows)
    return FAILED if any(isinstance(result, KafkaError) for result in results.values()) else 0


def _why(error: KafkaError, going: _Going) -> str | None:
    if error.code is ErrorCode.OFFSET_OUT_OF_RANGE and going.end is not None:
        return f"There is no offset {going.before}: the partition ends at {going.end}. [{error.code.name}]"
    return sentence_of(error)
