"""`barnabas pipeline mirror`."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument("--catch-up", action="store_true", help="end when all is copied that was there at the start")
    parser.add_argument(
        "--groups",
        metavar="PATTERN",
        nargs="?",
        const=".*",
        help="copy committed offsets too: of all groups, or of those whose whole name matches",
    )
    add_job_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.pipeline.jobs import run_job

    run_job(
        "mirror",
        arguments,
        lambda module, spark, settings, say: module.mirror(
            spark, settings, catch_up=arguments.catch_up, groups=arguments.groups, say=say
        ),
    )
