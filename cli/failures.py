"""How a command ends that could not do what it was asked for."""

from __future__ import annotations

__all__ = ["FAILED", "INTERRUPTED", "WRONG_USAGE", "CommandFailed", "WrongUsage"]

FAILED = 1
WRONG_USAGE = 2
INTERRUPTED = 130
"""As a shell says of a program that Ctrl-C has ended."""


class CommandFailed(Exception):  # noqa: N818 - named for what happened to the command
    """The message is a whole sentence, with the next step."""

    exit_code = FAILED


class WrongUsage(CommandFailed):
    """It was asked for in a way that cannot be understood; main adds where to read on."""

    exit_code = WRONG_USAGE
