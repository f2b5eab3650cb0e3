"""Which client library carries the records."""

from __future__ import annotations

import argparse
from importlib.util import find_spec

from barnabas.cli.failures import CommandFailed

__all__ = ["CONFLUENT_KAFKA", "FASTEST", "KAFKA_PYTHON", "add_client_argument", "chosen_client"]

KAFKA_PYTHON, CONFLUENT_KAFKA = "kafka-python", "confluent-kafka"
FASTEST = "fastest"


def add_client_argument(parser: argparse.ArgumentParser, default: str = KAFKA_PYTHON) -> None:
    which = default if default != FASTEST else "the fastest that is installed"
    parser.add_argument(
        "--client",
        choices=[KAFKA_PYTHON, CONFLUENT_KAFKA],
        default=None if default == FASTEST else default,
        help=f"the library that carries the records ({which})",
    )


def chosen_client(arguments: argparse.Namespace) -> str:
    """The one that was asked for, or the fastest."""
    is_there = find_spec("confluent_kafka") is not None
    if arguments.client == CONFLUENT_KAFKA and not is_there:
        raise CommandFailed("confluent-kafka is not installed: pip install 'barnabas[fast]', or leave --client out.")
    return arguments.client or (CONFLUENT_KAFKA if is_there else KAFKA_PYTHON)
