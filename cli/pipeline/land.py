"""`barnabas pipeline land`."""

from __future__ import annotations

import argparse

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument("--catch-up", action="store_true", help="end when all is landed that was there at the start")
    add_job_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.pipeline.jobs import run_job

    run_job(
        "land",
        arguments,
        lambda module, spark, settings, say: module.land(spark, settings, catch_up=arguments.catch_up, say=say),
    )
