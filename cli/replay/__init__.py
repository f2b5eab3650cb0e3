"""`barnabas records replay`: a range of one topic into another, of this cluster or of a second one, at a rate.

Keys, values, headers, timestamps and partitions stay as they are, unless it is said otherwise. At the end, however it
comes, stands for each partition from where to go on: what is before that offset is in the other topic.
"""

from __future__ import annotations

import argparse
from pathlib import Path

from barnabas.cli.output import add_output_arguments

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.arguments import add_client_arguments
    from barnabas.cli.clients.choosing import FASTEST, add_client_argument

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="from which topic, and to which")
    parser.add_argument("--topic", metavar="TOPIC", help="from which")
    parser.add_argument("--to-topic", metavar="TOPIC", help="to which (one of the same name, in another cluster)")
    parser.add_argument("--to-bootstrap-server", metavar="HOST:PORT", help="another cluster for that topic (the same)")
    parser.add_argument("--to-command-config", metavar="FILE", type=Path, help="properties of that cluster's clients")
    which = parser.add_argument_group("which part")
    which.add_argument("--partition", metavar="N", help="this one alone, or several: 0,3-5 (all)")
    which.add_argument("--offset", metavar="OFFSET", help="where to begin in it")
    which.add_argument("--to-offset", metavar="OFFSET", type=int, help="where to end in it: before this one")
    which.add_argument("--from-offsets", metavar="N:OFFSET,...", help="where to go on, as the end of a replay says")
    which.add_argument("--since", metavar="TIME", help="from the first record at that time on: a time, or 10m, 2h, 1d")
    which.add_argument("--until", metavar="TIME", help="up to the first record that is as late as that")
    which.add_argument("--max-messages", metavar="N", type=int, help="end after so many")
    which.add_argument(
        "--isolation-level",
        choices=["read_committed", "read_uncommitted"],
        default="read_committed",
        help="without the records of aborted transactions, or with them (read_committed)",
    )
    which.add_argument("--key", metavar="TEXT", action="append", default=[], help="with this key, or one of these")
    which.add_argument("--header", metavar="NAME[=TEXT]", action="append", default=[], help="with this header")
    which.add_argument("--where", metavar="CONDITION", action="append", default=[], help="as consume --where has it")
    how = parser.add_argument_group("how")
    how.add_argument("--rate", metavar="N", type=float, help="at most so many records a second (all it can)")
    how.add_argument("--repartition", action="store_true", help="by their keys, and not into the same partitions")
    how.add_argument("--new-timestamps", action="store_true", help="the time at which they are written anew")
    how.add_argument("--dry-run", action="store_true", help="say what would be done")
    how.add_argument("--yes", action="store_true", help="do not ask before a topic is replayed into itself")
    add_client_arguments(parser, "consumer", "--consumer-property")
    how.add_argument("--producer-property", metavar="KEY=VALUE", action="append", default=[], help="of the producer")
    add_client_argument(parser, FASTEST)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from barnabas.cli.replay.running import replay

    return replay(arguments)
