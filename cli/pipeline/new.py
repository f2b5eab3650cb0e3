"""`barnabas pipeline new DIR`: the settings of a pipeline that runs as they are."""

from __future__ import annotations

import argparse
from pathlib import Path

__all__ = ["add_arguments", "run"]


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("directory", metavar="DIR", type=Path, help="where to write pipeline.toml and its schemas")
    parser.add_argument(
        "--bootstrap-server", metavar="HOST:PORT", default="127.0.0.1:9092", help="the cluster (127.0.0.1:9092)"
    )


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.pipeline.jobs import in_words
    from barnabas.pipeline.generating.starter import write_starter

    with in_words():
        file = write_starter(arguments.directory, arguments.bootstrap_server)
    print(f"{file} is written: barnabas pipeline generate --config {file} fills its topics.")  # noqa: T201
