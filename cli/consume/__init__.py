"""`barnabas consume`: what kafka-console-consumer.sh does, and records shown readably, filters, ranges and ends."""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.output import add_output_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.arguments import add_client_arguments

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the topic, instead of --topic")
    parser.add_argument("--topic", metavar="TOPIC", help="what to read")
    parser.add_argument("--include", metavar="PATTERN", help="all topics whose whole name matches a regular expression")
    parser.add_argument("--group", metavar="GROUP", help="read as a member of this group, and commit what was read")
    _add_range_arguments(parser)
    _add_filter_arguments(parser)
    _add_display_arguments(parser)
    add_client_arguments(parser, "consumer", "--consumer-property")
    add_output_arguments(parser)


def _add_range_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which part")
    group.add_argument("--from-beginning", action="store_true", help="what is there already, too")
    group.add_argument("--partition", metavar="N", help="this one alone, or several: 0,3-5")
    group.add_argument("--offset", metavar="OFFSET", help="where to begin in it: a number, earliest, latest (latest)")
    group.add_argument("--to-offset", metavar="OFFSET", type=int, help="where to end in it: before this one")
    group.add_argument("--since", metavar="TIME", help="from the first record at that time on: a time, or 10m, 2h, 1d")
    group.add_argument("--until", metavar="TIME", help="up to the first record that is as late as that")
    group.add_argument("--tail", metavar="N", type=int, help="the last N records, in the order of their times")
    group.add_argument("--follow", action="store_true", help="with --tail: and then those that come")
    group.add_argument(
        "--until-end", "--exit", dest="until_end", action="store_true", help="end where the partitions end now"
    )
    group.add_argument("--max-messages", metavar="N", type=int, help="end after so many")
    group.add_argument("--timeout-ms", metavar="MS", type=int, help="end when none has come for so long")
    group.add_argument(
        "--isolation-level",
        choices=["read_committed", "read_uncommitted"],
        help="without the records of transactions that are open or aborted, or with them (read_uncommitted)",
    )


def _add_filter_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("which records of it")
    group.add_argument("--key", metavar="TEXT", action="append", default=[], help="with this key, or one of these")
    group.add_argument(
        "--header", metavar="NAME[=TEXT]", action="append", default=[], help="with this header, or all of these"
    )
    group.add_argument(
        "--where",
        metavar="CONDITION",
        action="append",
        default=[],
        help='of which this is true, such as \'value.user.id == 3 and headers.region in ["EU", "US"]\'; there are key, '
        "value, text, headers, topic, partition, offset, timestamp, size, and starts, ends, matches, len, lower",
    )


def _add_display_arguments(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how they are shown (to a person readably, into a pipe as Kafka does)")
    group.add_argument("--pretty", action="store_true", help="readably, also into a pipe")
    group.add_argument("--plain", action="store_true", help="as Kafka does, also to a person")
    group.add_argument("--formatter", metavar="CLASS", help="one of Kafka's own: DefaultMessageFormatter and others")
    text = "print.key, print.timestamp, print.headers, print.partition, print.offset, print.value, key.separator, ..."
    group.add_argument("--formatter-property", metavar="KEY=VALUE", action="append", default=[], help=text)
    group.add_argument("--property", metavar="KEY=VALUE", action="append", default=[], help="the old name of that")
    group.add_argument("--formatter-config", metavar="FILE", type=Path, help="a file of those")
    group.add_argument("--key-deserializer", metavar="CLASS", help="one of Kafka's own: StringDeserializer and others")
    group.add_argument("--value-deserializer", metavar="CLASS", help="the same for values")
    group.add_argument("--skip-message-on-error", action="store_true", help="pass over what cannot be shown")
    group.add_argument("--enable-systest-events", action="store_true", help="say shutdown_complete at the end")


def run(arguments: argparse.Namespace) -> int:
    from barnabas.cli.consume.running import consume

    return consume(arguments)
