"""`barnabas COMMAND ...`: finds the file of the command and hands it the rest.

Exit codes: 0 it is done, 1 it could not be done, 2 it was asked for in a way that cannot be understood.
"""

from __future__ import annotations

import argparse
import gc
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module
from typing import NamedTuple, NoReturn

from barnabas.cli.version import KAFKA_VERSION, VERSION

__all__ = ["COMMANDS", "FAILED", "WRONG_USAGE", "main", "no_garbage_collection"]

FAILED = 1
WRONG_USAGE = 2


class Command(NamedTuple):
    module: str
    """It has `add_arguments(parser)` and `run(arguments)`, which returns the exit code."""
    help: str


COMMANDS = {"start": Command("barnabas.cli.start", "start a broker, ready in a moment, on ./barnabas-data")}


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, and where to read on."""
        self.exit(WRONG_USAGE, f"{self.prog}: {message}. See {self.prog} --help.\n")


@contextmanager
def no_garbage_collection() -> Iterator[None]:
    """What is made in here stays: to look for garbage in it again and again only takes time."""
    gc.disable()
    try:
        yield
    finally:
        gc.enable()


def main(arguments: Sequence[str] | None = None) -> int:
    given = list(sys.argv[1:] if arguments is None else arguments)
    parser = _Parser(
        prog="barnabas",
        description=f"A Kafka node in Python: Apache Kafka {KAFKA_VERSION}'s wire protocol and files, without a JVM.",
    )
    parser.add_argument("--version", action="version", version=f"barnabas {VERSION} (Apache Kafka {KAFKA_VERSION})")
    commands = parser.add_subparsers(dest="command", metavar="COMMAND", required=True, parser_class=_Parser)
    asked = next((each for each in given if not each.startswith("-")), None)
    for name, command in COMMANDS.items():
        sub = commands.add_parser(name, help=command.help, description=f"{command.help.capitalize()}.")
        if name == asked:
            with no_garbage_collection():
                import_module(command.module).add_arguments(sub)
    parsed = parser.parse_args(given)
    code: int = import_module(COMMANDS[parsed.command].module).run(parsed)
    return code
