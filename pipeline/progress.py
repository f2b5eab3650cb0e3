"""What a job says while it runs: a line for a person, or one of JSON for a program."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable

__all__ = ["Say", "printer"]

Say = Callable[..., None]
"""say("a sentence", key=value): the keys are what the line of JSON has."""


def printer(*, as_json: bool) -> Say:
    def say(sentence: str, **facts: object) -> None:
        line = json.dumps(facts) if as_json else sentence
        sys.stdout.write(f"{line}\n")
        sys.stdout.flush()

    return say
