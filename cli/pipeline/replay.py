"""`barnabas pipeline replay TOPIC`."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]

_DIGITS = 15


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument("topic", metavar="TOPIC", help="as the lake has it")
    when = "2026-01-31T18:30:00.000, which is UTC, or milliseconds since 1970"
    parser.add_argument("--since", metavar="T", required=True, help=f"the first moment: {when}")
    parser.add_argument("--until", metavar="T", required=True, help="the first moment that is not replayed")
    parser.add_argument(
        "--by", choices=("event", "record"), default="event", help="whose time: the event's, or the record's (event)"
    )
    parser.add_argument("--to-topic", metavar="NAME", help="which is there (TOPIC.replay)")
    parser.add_argument("--rate", metavar="N", type=float, help="records a second, in all")
    parser.add_argument(
        "--partitions",
        choices=("same", "by-key"),
        default="same",
        help="each record into the partition that it was in, or into its key's (same)",
    )
    parser.add_argument("--dry-run", action="store_true", help="say what would be written, and end")
    add_job_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.failures import WrongUsage
    from barnabas.cli.pipeline.jobs import run_job

    if arguments.rate is not None and not 0 < arguments.rate < float("inf"):
        raise WrongUsage(f"--rate {arguments.rate:g} is no number of records a second, such as 1000")
    asked = {
        "topic": arguments.topic,
        "to_topic": arguments.to_topic or f"{arguments.topic}.replay",
        "since_ms": _moment_ms(arguments.since, "--since"),
        "until_ms": _moment_ms(arguments.until, "--until"),
        "by": arguments.by,
        "partitions": arguments.partitions,
    }
    run_job(
        "replay",
        arguments,
        lambda module, spark, settings, say: module.replay(
            spark, settings, module.Asked(**asked), rate=arguments.rate, dry_run=arguments.dry_run, say=say
        ),
    )


def _moment_ms(text: str, flag: str) -> int:
    """A fixed one: a replay that is started again has to be the same."""
    from barnabas.cli.failures import WrongUsage
    from barnabas.cli.moments import timestamp_ms

    if text.isascii() and text.isdigit() and len(text) <= _DIGITS:
        return int(text)
    try:
        return timestamp_ms(text)
    except WrongUsage:
        raise WrongUsage(
            f"{flag} {text} is no fixed moment: write 2026-01-31T18:30:00.000, which is UTC, or with +02:00 behind it; "
            "or milliseconds since 1970"
        ) from None
