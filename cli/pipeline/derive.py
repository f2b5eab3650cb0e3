"""`barnabas pipeline derive`."""

from __future__ import annotations

import argparse
from datetime import UTC, datetime

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument("feeds", nargs="*", metavar="FEED", help="[derive.FEED] of the settings (all)")
    parser.add_argument("--catch-up", action="store_true", help="end when all is read that was there at the start")
    parser.add_argument("--from-lake", action="store_true", help="what has landed of a time, and not the topics")
    parser.add_argument("--since", metavar="TIME", help="with --from-lake: from then on")
    parser.add_argument("--until", metavar="TIME", help="with --from-lake: before then (now)")
    add_job_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.failures import WrongUsage
    from barnabas.cli.pipeline.jobs import run_job
    from barnabas.cli.times import moment_ms

    if not arguments.from_lake:
        if arguments.since or arguments.until:
            raise WrongUsage("--since and --until belong to --from-lake: a topic is read on from where it was.")
        run_job(
            "derive",
            arguments,
            lambda module, spark, settings, say: module.derive(
                spark, settings, arguments.feeds, catch_up=arguments.catch_up, say=say
            ),
        )
        return
    if not arguments.since:
        raise WrongUsage("--from-lake wants to know since when: --since TIME.")
    since, until = moment_ms(arguments.since, "--since"), moment_ms(arguments.until or "now", "--until")
    if since >= until:
        raise WrongUsage("--since is not before --until.")
    run_job(
        "derive",
        arguments,
        lambda module, spark, settings, say: module.derive_from_lake(
            spark, settings, arguments.feeds, _moment(since), _moment(until), say
        ),
    )


def _moment(milliseconds: int) -> datetime:
    return datetime.fromtimestamp(milliseconds / 1000, UTC)
