"""What a command with several actions is to do: a flag, as Kafka's tools have it, or a word, as people like it.

`topics --create --topic orders` and `topics create orders` are the same.
"""

from __future__ import annotations

import argparse
import difflib
from collections.abc import Mapping

from barnabas.cli.failures import WrongUsage

__all__ = ["Actions"]


class Actions:
    def __init__(self, helps: Mapping[str, str], *, operand: str = "NAME", default: str | None = None) -> None:
        """The names are Kafka's flags without dashes; `operand` is what a word behind the action names."""
        self.helps = helps
        self._operand = operand
        self._default = default

    def add_to(self, parser: argparse.ArgumentParser) -> None:
        group = parser.add_mutually_exclusive_group()
        for name, text in self.helps.items():
            group.add_argument(f"--{name}", dest="action", action="store_const", const=name, help=text)
        parser.add_argument(
            "words",
            nargs="*",
            metavar=f"ACTION {self._operand}",
            help=f"the action as a word ({', '.join(self.helps)}), and each {self._operand} it is for",
        )

    def chosen(self, arguments: argparse.Namespace) -> tuple[str, list[str]]:
        """The action, and the words behind it."""
        words: list[str] = list(arguments.words)
        action: str | None = arguments.action
        if action is None and words:
            action = words.pop(0)
        action = action or self._default
        if action is None:
            raise WrongUsage(f"name an action: {', '.join(self.helps)}")
        if action not in self.helps:
            near = difflib.get_close_matches(action, self.helps, 1)
            raise WrongUsage(
                f"there is no action {action}"
                + (f", is {near[0]} meant?" if near else f": there are {', '.join(self.helps)}")
            )
        return action, words
