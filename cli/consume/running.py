"""Consumes: finds the topic, shows record after record, and ends as Kafka's tool does."""

from __future__ import annotations

import argparse
import re
import sys
from collections import deque
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

from barnabas.cli.clients.alive import Vigil
from barnabas.cli.clients.arguments import not_together, reach, tell_of_ignored
from barnabas.cli.clients.choosing import KAFKA_PYTHON
from barnabas.cli.clients.interruption import Interruption
from barnabas.cli.clients.quiet import quiet_logger
from barnabas.cli.clients.settings import kafka_python_settings, merged
from barnabas.cli.clients.topics import partitions_of
from barnabas.cli.clients.words import failed
from barnabas.cli.consume.bounds import Ends, ends_of, offsets_at, starts_of
from barnabas.cli.consume.coordinator_records import FORMATTERS, coordinator_formatter
from barnabas.cli.consume.display import Pretty, json_line
from barnabas.cli.consume.formatter import DefaultFormatter, Formatter, Record, nothing
from barnabas.cli.consume.options import Wanted, wanted
from barnabas.cli.consume.reading import Reader
from barnabas.cli.consume.where import condition
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError
from barnabas.client.offsets import EARLIEST
from barnabas.client.properties import read_client_properties

__all__ = ["consume", "record_filter"]

_DEFAULT_FORMATTERS = ("DefaultMessageFormatter", "LoggingMessageFormatter")
_QUIET_FORMATTER = "NoOpMessageFormatter"


def consume(arguments: argparse.Namespace) -> int:
    output = Output(as_json=arguments.json)
    want = wanted(arguments)
    formatter = _formatter(arguments, output)
    keep = record_filter(arguments)
    shown = 0
    with Interruption() as interruption, reach(want.bootstrap, want.properties, arguments.timeout) as cluster:
        partitions = _partitions(cluster, want)
        sink = Sink(sys.stdout)
        try:
            for record in _records(cluster, want, partitions, keep, interruption, output, sink.flush):
                try:
                    data = formatter(record)
                except ValueError as error:
                    if not arguments.skip_message_on_error:
                        place = f"{record.topic}-{record.partition} at offset {record.offset}"
                        raise CommandFailed(
                            f"The record of {place} cannot be shown: {error}. --skip-message-on-error passes over it."
                        ) from None
                    output.note(f"Passed over offset {record.offset} of {record.topic}-{record.partition}: {error}.")
                    data = b""
                shown += 1
                sink.write(data)
        except BrokenPipeError:
            # Whoever read it has gone, and is not told how much there was.
            raise
        except BaseException:
            sink.flush()
            output.note(f"Processed a total of {shown} messages")
            raise
        output.note(f"Processed a total of {shown} messages")
        if arguments.enable_systest_events:
            sink.write(b"shutdown_complete\n")
        sink.flush()
        return interruption.exit_code


class Sink:
    """Standard output for bytes; for a person who waits, each record at once."""

    def __init__(self, stream: Any) -> None:
        self._stream = stream
        self._buffer = getattr(stream, "buffer", None)

    def write(self, data: bytes) -> None:
        if self._buffer is None:
            self._stream.write(data.decode("utf-8", "replace"))
        else:
            self._buffer.write(data)

    def flush(self) -> None:
        (self._stream if self._buffer is None else self._buffer).flush()


def _partitions(cluster: Cluster, want: Wanted) -> list[Partition]:
    """Of the topic; none where topics are found by a pattern, or may still come."""
    if want.topic is None or want.properties["allow.auto.create.topics"] == "true":
        cluster.metadata(topics=[])
        return []
    numbers = partitions_of(cluster, want.topic)
    missing = sorted(set(want.partitions or []) - set(numbers))
    if missing:
        raise CommandFailed(
            f"{want.topic} has no partition {missing[0]}: they are 0 to {numbers[-1]} (barnabas topics --describe)."
        )
    return [Partition(want.topic, number) for number in want.partitions or numbers]


# What is read


def _records(
    cluster: Cluster,
    want: Wanted,
    partitions: list[Partition],
    keep: Callable[[Record], bool],
    interruption: Interruption,
    output: Output,
    flush: Callable[[], None],
) -> Iterator[Record]:
    """Those that are wanted, as many as are wanted."""
    vigil = Vigil(cluster, [want.topic] if partitions and want.topic else [], cluster.timeout_s, output.note)

    def open_reader(starts: Mapping[Partition, int] | None, ends: Ends, fixed: Mapping[Partition, int]) -> Reader:
        consumer = _consumer(want, output, starts)

        def find_ends(new: list[Partition]) -> Mapping[Partition, int]:
            return {each: fixed[each] for each in new} if fixed else ends_of(cluster, new, ends, want.reads_committed)

        return Reader(consumer, vigil, interruption, find_ends, flush, must_end=ends.are_there)

    left = want.most
    if left == 0:
        return
    starts: Mapping[Partition, int] | None = None
    if want.tail is not None:
        last, starts = _tail(cluster, want, partitions, keep, interruption, open_reader)
        for record in last[: want.most]:
            yield record
            left = None if left is None else left - 1
        if want.ends.are_there or left == 0:
            return
    fixed: Mapping[Partition, int] = {}
    if starts is None and want.is_assigned:
        starts = starts_of(cluster, partitions, want.start, want.reads_committed)
        fixed = ends_of(cluster, partitions, want.ends, want.reads_committed)
        if fixed:
            # kafka-python takes its time for each partition that it has, be it empty.
            starts = {each: start for each, start in starts.items() if start < fixed[each]}
            if not starts:
                return
    reader = open_reader(starts, want.ends, fixed)
    try:
        for record in reader.records(idle_s=want.idle_s):
            if not keep(record):
                continue
            yield record
            left = None if left is None else left - 1
            if left == 0:
                return
    except ClientError:
        reader.broken()
        raise
    finally:
        reader.close()


def _tail(
    cluster: Cluster,
    want: Wanted,
    partitions: list[Partition],
    keep: Callable[[Record], bool],
    interruption: Interruption,
    open_reader: Callable[..., Reader],
) -> tuple[list[Record], dict[Partition, int]]:
    """The last that are wanted, and where they end. Offsets have holes: where too few are found in the last ones, it is
    looked further back."""
    assert want.tail is not None
    ends = dict(ends_of(cluster, partitions, Ends(True, want.ends.timestamp, want.ends.offset), want.reads_committed))
    begins = offsets_at(cluster, partitions, EARLIEST, want.reads_committed)
    window = want.tail
    while True:
        starts = {each: max(begins[each], ends[each] - window) for each in partitions if begins[each] < ends[each]}
        if not starts:
            return [], ends
        found: dict[Partition, deque[Record]] = {each: deque(maxlen=want.tail) for each in starts}
        reader = open_reader(starts, Ends(), ends)
        try:
            for record in reader.records():
                if keep(record):
                    found[Partition(record.topic, record.partition)].append(record)
        finally:
            reader.close()
        short = [each for each in starts if len(found[each]) < want.tail and starts[each] > begins[each]]
        if not short or interruption:
            break
        window *= 8
    records = [record for each in found.values() for record in each]
    records.sort(key=lambda record: (record.timestamp, record.partition, record.offset))
    return records[-want.tail :], ends


def _consumer(want: Wanted, output: Output, starts: Mapping[Partition, int] | None) -> Any:
    quiet_logger()
    from kafka import KafkaConsumer, TopicPartition
    from kafka.errors import KafkaError

    settings, ignored = kafka_python_settings(want.properties, KafkaConsumer.DEFAULT_CONFIG)
    if note := tell_of_ignored(ignored, KAFKA_PYTHON):
        output.note(note)
    try:
        consumer = KafkaConsumer(bootstrap_servers=want.bootstrap.split(","), **settings)
        if starts is not None:
            consumer.assign([TopicPartition(*each) for each in starts])
            for each, offset in starts.items():
                consumer.seek(TopicPartition(*each), offset)
        elif want.include is not None:
            # Java looks at the whole name, kafka-python at its beginning.
            consumer.subscribe(pattern=f"(?:{want.include})$")
        else:
            # A leader whose metadata changes while it assigns waits for ever in 3.0.12: one in ten on a busy machine.
            consumer.partitions_for_topic(want.topic)
            consumer.subscribe([want.topic])
    except (KafkaError, ValueError, AssertionError) as error:
        raise failed("The consumer could not be made", error) from None
    return consumer


# What is shown


def record_filter(arguments: argparse.Namespace) -> Callable[[Record], bool]:
    keys = {key.encode("utf-8", "surrogateescape") for key in arguments.key}
    headers = [text.partition("=") for text in arguments.header]
    tests: list[Callable[[Record], bool]] = [condition(text) for text in arguments.where]
    if keys:
        tests.insert(0, lambda record: record.key in keys)
    for name, has_value, text in headers:
        tests.insert(0, _header_test(name, text.encode("utf-8", "surrogateescape") if has_value else None))
    if not tests:
        return lambda _: True
    return lambda record: all(test(record) for test in tests)


def _header_test(name: str, value: bytes | None) -> Callable[[Record], bool]:
    if value is None:
        return lambda record: any(each == name for each, _ in record.headers)
    return lambda record: (name, value) in record.headers


def _formatter(arguments: argparse.Namespace, output: Output) -> Formatter:
    not_together(arguments, formatter_property="--formatter-property", property="--property")
    if arguments.json:
        return json_line
    properties = _formatter_properties(arguments)
    name = re.split(r"[.$]", arguments.formatter or "")[-1]
    is_for_people = arguments.pretty or (not arguments.plain and not name and not properties and sys.stdout.isatty())
    if is_for_people:
        return Pretty(sys.stdout)
    if name in FORMATTERS:
        return coordinator_formatter(name, b"\n" if sys.stdout.isatty() else b"")
    if name == _QUIET_FORMATTER:
        return nothing
    if name and name not in _DEFAULT_FORMATTERS:
        names = ", ".join([*_DEFAULT_FORMATTERS, _QUIET_FORMATTER, *FORMATTERS])
        raise WrongUsage(
            f"{arguments.formatter} is a class of Java's that cannot run here: there are {names}, and --json"
        )
    if unknown := DefaultFormatter.unknown(properties):
        output.note(f"The formatter has no property {', '.join(unknown)}: ignored.")
    return DefaultFormatter(properties)


def _formatter_properties(arguments: argparse.Namespace) -> dict[str, str]:
    file: Path | None = arguments.formatter_config
    found = read_client_properties(file, "--formatter-config") if file is not None else {}
    if arguments.key_deserializer:
        found["key.deserializer"] = arguments.key_deserializer
    if arguments.value_deserializer:
        found["value.deserializer"] = arguments.value_deserializer
    return merged(found, arguments.formatter_property or arguments.property)
