"""`barnabas COMMAND ...`: finds the file of the command, hands it the rest, and says how it ended.

Exit codes: 0 it is done, 1 it could not be done, 2 it was asked for in a way that cannot be understood, 130 Ctrl-C.
"""

from __future__ import annotations

import argparse
import difflib
import gc
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import NoReturn

from barnabas.cli.commands import COMMANDS, KAFKA_TOOLS, SHORT_NAMES, Command, Group, find
from barnabas.cli.failures import FAILED, INTERRUPTED, WRONG_USAGE, CommandFailed, WrongUsage
from barnabas.cli.hints import about_tool, about_usage
from barnabas.cli.streams import flush_output, give_up_output, prepare_streams
from barnabas.cli.version import KAFKA_VERSION, VERSION

__all__ = ["main", "no_garbage_collection", "parser_of"]

VERSION_LINE = f"barnabas {VERSION} (Apache Kafka {KAFKA_VERSION})"
_ALIKE = 0.7


class _Parser(argparse.ArgumentParser):
    def error(self, message: str) -> NoReturn:
        """One sentence, and where to read on."""
        sentence = _as_sentence(about_usage(message, self._option_string_actions))
        self.exit(WRONG_USAGE, f"{self.prog}: {sentence} See {self.prog} --help.\n")


def _as_sentence(text: str) -> str:
    return text if text.endswith((".", "?")) else f"{text}."


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
    prepare_streams()
    try:
        return _find_and_run(given)
    finally:
        flush_output()


def _find_and_run(given: Sequence[str]) -> int:
    if not given or given[0].startswith("-"):
        _options_alone(given)
    name, command, rest = find(given)
    if command is None:
        return _complain(_no_command(name, list(COMMANDS)))
    if isinstance(command, Group):
        if rest and not rest[0].startswith("-"):
            return _complain(_no_command(rest[0], list(command.commands)), name)
        _tell_of_group(name, command, rest)
    return _run(name, command, rest)


def parser_of(name: str, command: Command) -> argparse.ArgumentParser:
    description = f"{command.help[0].upper()}{command.help[1:]}."
    parser = _Parser(prog=f"barnabas {name}", description=description)
    import_module(command.module).add_arguments(parser)
    # All of Kafka's tools have it; a command that means something else by it keeps its own.
    with suppress(argparse.ArgumentError):
        parser.add_argument("--version", action="version", version=VERSION_LINE, help=argparse.SUPPRESS)
    return parser


def _run(name: str, command: Command, rest: Sequence[str]) -> int:
    try:
        with no_garbage_collection():
            parser = parser_of(name, command)
        # Intermixed: `topics create orders --partitions 3` and `topics create --partitions 3 orders` are the same.
        parsed = parser.parse_intermixed_args(rest)
        code: int | None = import_module(command.module).run(parsed)
        # What is still to be written may fail, too, and shall do so where it is told.
        sys.stdout.flush()
    except WrongUsage as error:
        parser.error(str(error))
    except BrokenPipeError:
        # Who read our output has seen enough, as `head` does.
        give_up_output()
        return FAILED
    except KeyboardInterrupt:
        return INTERRUPTED
    except Exception as error:
        sentence = _sentence_of(error)
        if sentence is None:
            raise
        if isinstance(error, OSError):
            give_up_output()
        print(f"barnabas {name}: {sentence}", file=sys.stderr)  # noqa: T201 - what a command is for
        return FAILED
    return code or 0


def _sentence_of(error: Exception) -> str | None:
    """What is to be said of an error that is not ours; None for one that is."""
    if isinstance(error, CommandFailed):
        return str(error)
    # Only then: `barnabas start` shall not wait for a client to be imported.
    from barnabas.cli.refusals import sentence_of

    return sentence_of(error)


def _options_alone(given: Sequence[str]) -> NoReturn:
    parser = _Parser(
        prog="barnabas",
        usage="barnabas COMMAND ...",
        description=f"A Kafka node in Python: Apache Kafka {KAFKA_VERSION}'s wire protocol and files, without a JVM.",
        epilog="\n".join(
            [
                "commands:",
                *_list_of(COMMANDS),
                "",
                "barnabas COMMAND --help tells more. Kafka's own names do, too: barnabas kafka-topics.sh --list.",
            ]
        ),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--version", action="version", version=VERSION_LINE)
    parser.parse_args(given)
    _tell_what_there_is(parser)


def _tell_of_group(name: str, group: Group, rest: Sequence[str]) -> NoReturn:
    parser = _Parser(
        prog=f"barnabas {name}",
        usage=f"barnabas {name} COMMAND ...",
        description=f"{group.help[0].upper()}{group.help[1:]}.",
        epilog="\n".join(["commands:", *_list_of(group.commands)]),
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.parse_args(rest)
    _tell_what_there_is(parser)


def _tell_what_there_is(parser: argparse.ArgumentParser) -> NoReturn:
    parser.print_help(sys.stderr)
    parser.exit(WRONG_USAGE, f"\n{parser.prog}: name a COMMAND.\n")


def _list_of(commands: Mapping[str, Command | Group]) -> list[str]:
    width = max(map(len, commands)) + 2
    return [f"  {name:<{width}}{command.help}" for name, command in commands.items()]


def _no_command(word: str, names: Sequence[str]) -> str:
    if (told := about_tool(word)) is not None:
        return told
    near = difflib.get_close_matches(word, [*names, *SHORT_NAMES, *KAFKA_TOOLS], 1, _ALIKE)
    return f"there is no command {word}" + (f"; is {near[0]} meant?" if near else f": there are {', '.join(names)}.")


def _complain(sentence: str, *names: str) -> int:
    prefix = " ".join(["barnabas", *names])
    print(f"{prefix}: {sentence} See {prefix} --help.", file=sys.stderr)  # noqa: T201
    return WRONG_USAGE
