"""What the pipeline's commands have in common: the settings, a Spark session, and how they end."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path
from typing import Any

from barnabas.cli.failures import CommandFailed

__all__ = ["add_job_arguments", "in_words", "run_job"]


def add_job_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", type=Path, default=Path("pipeline.toml"), help="the settings (pipeline.toml)"
    )
    parser.add_argument("--json", action="store_true", help="what is said as lines of JSON")


@contextmanager
def in_words() -> Iterator[None]:
    """What a job cannot do is said as any command says it."""
    from barnabas.pipeline.failures import PipelineFailed

    try:
        yield
    except PipelineFailed as error:
        raise CommandFailed(str(error)) from error


def run_job(name: str, arguments: argparse.Namespace, job: Callable[..., Any]) -> Any:
    """`job(module, spark, settings, say)`, where module is barnabas.pipeline.NAME."""
    from barnabas.pipeline.progress import printer
    from barnabas.pipeline.settings import read_settings

    with in_words():
        settings = read_settings(arguments.config)
        sessions = import_module("barnabas.pipeline.sessions")  # says so where PySpark is not installed
        module = import_module(f"barnabas.pipeline.{name}")
        spark = sessions.open_session(name, settings.spark_properties())
        try:
            return job(module, spark, settings, printer(as_json=arguments.json))
        finally:
            spark.stop()
