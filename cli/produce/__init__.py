"""`barnabas produce`: what kafka-console-producer.sh does, and files, JSON with keys and headers, single records."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments

if TYPE_CHECKING:
    from barnabas.cli.clients.producing import Outgoing
    from barnabas.cli.produce.lines import LineFormat
    from barnabas.cli.produce.sending import Tally

__all__ = ["add_arguments", "run"]

_LINE_READER = "org.apache.kafka.tools.LineMessageReader"
_CODECS = ("none", "gzip", "snappy", "lz4", "zstd")

_TUNING: tuple[tuple[tuple[str, ...], str, str, str], ...] = (
    (("--timeout",), "linger.ms", "20", "how long a record waits for others to go with it"),
    (("--request-required-acks",), "acks", "-1", "0, 1, or all, which is -1"),
    (("--request-timeout-ms",), "request.timeout.ms", "1500", "how long a broker may take to answer"),
    (("--message-send-max-retries",), "retries", "3", "how often a record is sent again"),
    (("--retry-backoff-ms",), "retry.backoff.ms", "100", "how long to wait before that"),
    (("--socket-buffer-size",), "send.buffer.bytes", "102400", "of the connection"),
    (("--max-memory-bytes",), "buffer.memory", "33554432", "how much may wait to be sent"),
    (("--batch-size", "--max-partition-memory-bytes"), "batch.size", "16384", "of the records that go together"),
    (("--metadata-expiry-ms",), "metadata.max.age.ms", "300000", "after which it is asked again who leads what"),
    (("--max-block-ms",), "max.block.ms", "60000", "how long to wait for the topic, or for room to send"),
)
"""Kafka's flags that stand for a property of the producer, with their defaults."""


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.arguments import add_client_arguments
    from barnabas.cli.clients.choosing import add_client_argument

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the topic, instead of --topic")
    parser.add_argument("--topic", metavar="TOPIC", help="where the records go")
    _add_input_arguments(parser)
    _add_reader_arguments(parser)
    add_client_arguments(parser, "producer", "--producer-property", timeout=False)
    tuning = parser.add_argument_group("how it is sent")
    tuning.add_argument("--sync", action="store_true", help="one record at a time, each when the last is there")
    tuning.add_argument(
        "--compression-codec", metavar="CODEC", nargs="?", const="gzip", help=f"of {', '.join(_CODECS)}; alone gzip"
    )
    for flags, key, default, text in _TUNING:
        what = "N" if key == "retries" else "BYTES" if "bytes" in text or "size" in key else key.rpartition(".")[2]
        tuning.add_argument(*flags, dest=key, metavar=what.upper(), help=f"{text}: {key} ({default})")
    add_client_argument(tuning)  # type: ignore[arg-type]
    add_output_arguments(parser)


def _add_input_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("records")
    group.add_argument("--file", action="append", default=[], metavar="FILE", help="instead of standard input, or -")
    group.add_argument(
        "--format",
        choices=["lines", "json", "raw"],
        default="lines",
        help="a line is a value, as in Kafka (lines); a line is a JSON object with key, value, headers, partition, "
        "timestamp, as consume --json writes it (json); all of a file is one value (raw)",
    )
    group.add_argument("--value", action="append", default=[], metavar="TEXT", help="a record, without any input")
    group.add_argument("--key", metavar="TEXT", help="the key of all records that bring none")
    group.add_argument("--header", action="append", default=[], metavar="NAME=TEXT", help="a header of all records")
    group.add_argument("--partition", type=int, metavar="N", help="of all records that name none")
    group.add_argument("--timestamp", metavar="TIME", help="of all records that have none: a time, or milliseconds")


def _add_reader_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how a line is read")
    text = (
        "parse.key, key.separator, parse.headers, headers.delimiter, headers.separator, headers.key.separator, "
        "null.marker, ignore.error"
    )
    group.add_argument("--reader-property", metavar="KEY=VALUE", action="append", default=[], help=text)
    group.add_argument("--property", metavar="KEY=VALUE", action="append", default=[], help="the old name of that")
    group.add_argument("--reader-config", metavar="FILE", type=Path, help="a file of those")
    group.add_argument("--line-reader", metavar="CLASS", default=_LINE_READER, help="Kafka's own alone")


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.clients.arguments import bootstrap_from, properties_from, reach, tell_of_ignored
    from barnabas.cli.clients.choosing import chosen_client
    from barnabas.cli.clients.producing import open_producer
    from barnabas.cli.clients.topics import made_by_itself
    from barnabas.cli.produce.sending import Tally, send_all

    output = Output(as_json=arguments.json)
    topic = _topic(arguments)
    line_format = _line_format(arguments)
    properties = _producer_properties(arguments, properties_from(arguments))
    bootstrap = bootstrap_from(arguments, properties)
    client = chosen_client(arguments)
    block_s = int(properties["max.block.ms"]) / 1000
    tally = Tally()
    records = _records(arguments, topic, line_format, tally)
    with reach(bootstrap, properties, min(block_s, arguments.timeout)) as cluster:
        partitions, is_new = made_by_itself(cluster, topic)
    if is_new:
        output.note(f"The topic {topic} was not there: the broker made it.")
    if arguments.partition is not None and arguments.partition not in partitions:
        raise WrongUsage(f"{topic} has no partition {arguments.partition}: they are 0 to {partitions[-1]}")
    producer = open_producer(client, bootstrap, properties)
    try:
        if note := tell_of_ignored(list(producer.ignored), client):
            output.note(note)
        send_all(records, producer, tally, one_by_one=arguments.sync)
    except BaseException:
        # Ctrl-C and a line that cannot be read do not hide what became of the records before.
        producer.close()
        _tell(output, topic, tally)
        if tally.trouble:
            output.note(tally.trouble)
        raise
    producer.close()
    _tell(output, topic, tally)
    if tally.trouble:
        raise CommandFailed(tally.trouble)


def _tell(output: Output, topic: str, tally: Tally) -> None:
    if tally.skipped:
        output.note(f"{tally.skipped:,} lines were skipped; the first: {tally.first_skipped}")
    if output.as_json:
        figures = {"topic": topic, "sent": tally.sent, "bytes": tally.bytes}
        output.json(figures | {"failed": tally.failed, "unknown": tally.lost, "skipped": tally.skipped})
    else:
        output.remark(f"{tally.sent:,} records are in {topic}.")


def _topic(arguments: argparse.Namespace) -> str:
    names = [*([arguments.topic] if arguments.topic else []), *arguments.words]
    if len(names) != 1:
        raise WrongUsage("name one topic: produce TOPIC" if not names else f"name one topic, and not {len(names)}")
    return str(names[0])


def _line_format(arguments: argparse.Namespace) -> LineFormat:
    from barnabas.cli.clients.arguments import not_together
    from barnabas.cli.clients.settings import merged
    from barnabas.cli.produce.lines import KNOWN_PROPERTIES, LineFormat
    from barnabas.client.properties import read_client_properties

    not_together(arguments, reader_property="--reader-property", property="--property")
    if arguments.line_reader.rpartition(".")[2] != _LINE_READER.rpartition(".")[2]:
        raise WrongUsage(
            f"{arguments.line_reader} is a class of Java's, which cannot run here: make JSON lines of the input, "
            "and use --format json"
        )
    file = arguments.reader_config
    given = read_client_properties(file, "--reader-config") if file is not None else {}
    properties = merged(given, arguments.reader_property or arguments.property)
    unknown = sorted(set(properties) - set(KNOWN_PROPERTIES) - {"topic"})
    if unknown:
        raise WrongUsage(f"there is no reader property {unknown[0]}: there are {', '.join(KNOWN_PROPERTIES)}")
    return LineFormat(properties)


def _producer_properties(arguments: argparse.Namespace, properties: dict[str, str]) -> dict[str, str]:
    """A flag is before a property, and a property before the flag's default."""
    found = dict(properties)
    for _, key, default, _ in _TUNING:
        given = getattr(arguments, key)
        if given is not None:
            found[key] = given
        found.setdefault(key, default)
    if arguments.compression_codec is not None:
        found["compression.type"] = arguments.compression_codec or "gzip"
    if found.get("compression.type", "none") not in _CODECS:
        raise WrongUsage(f"there is no compression {found['compression.type']}: there are {', '.join(_CODECS)}")
    if found["acks"] not in ("0", "1", "-1", "all"):
        raise WrongUsage(f"acks={found['acks']} is none of 0, 1, -1, all")
    for key in ("max.block.ms", "linger.ms", "buffer.memory", "batch.size", "request.timeout.ms"):
        if not found[key].isdigit():
            raise WrongUsage(f"{key}={found[key]} has to be a number from 0 on")
    if not int(found["request.timeout.ms"]):
        raise WrongUsage("request.timeout.ms=0 leaves a broker no time to answer: it has to be above 0")
    found.setdefault("client.id", "console-producer")
    return found


def _records(arguments: argparse.Namespace, topic: str, line_format: LineFormat, tally: Tally) -> Iterator[Outgoing]:
    """The flags are looked at now, the input when records are wanted."""
    from barnabas.cli.clients.producing import Outgoing
    from barnabas.cli.produce.lines import Parsed
    from barnabas.cli.produce.sources import records
    from barnabas.cli.times import moment_ms

    if arguments.value and arguments.file:
        raise WrongUsage("--value and --file cannot be given together")
    timestamp = None if arguments.timestamp is None else moment_ms(arguments.timestamp, "--timestamp")
    headers = [_header(text) for text in arguments.header]
    key = None if arguments.key is None else arguments.key.encode("utf-8", "surrogateescape")
    if arguments.value:
        found = iter([Parsed(None, text.encode("utf-8", "surrogateescape"), []) for text in arguments.value])
    else:
        skipped = tally.skip if line_format.ignore_error else None
        found = records(arguments.file, arguments.format, line_format, skipped)
    return (
        Outgoing(
            topic,
            key if each.key is None else each.key,
            each.value,
            [*each.headers, *headers],
            arguments.partition if each.partition is None else each.partition,
            timestamp if each.timestamp is None else each.timestamp,
        )
        for each in found
    )


def _header(text: str) -> tuple[str, bytes]:
    name, separator, value = text.partition("=")
    if not separator:
        raise WrongUsage(f"--header {text} is not NAME=TEXT")
    return name, value.encode("utf-8", "surrogateescape")
