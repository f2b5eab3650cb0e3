"""For the programs in Python: checks that say TAP."""

from __future__ import annotations

import os
import re
import sys
import tempfile
import threading
import traceback
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

__all__ = ["Cannot", "Stage", "check", "equal", "main"]

Function = Callable[..., None]

_checks: list[tuple[str, Function, bool]] = []
_one_at_a_time = threading.Lock()


class Cannot(Exception):  # noqa: N818
    """The client has nothing for it."""


@dataclass(frozen=True, slots=True)
class Stage:
    """What a check plays on. Others play on the same broker at the same time."""

    bootstrap: str
    name: str
    """For a topic or a group: no other check has it."""
    directory: Path
    until_the_end: ExitStack
    """What a check starts ends with it."""


def check(name: str, *, quick: bool = True) -> Callable[[Function], Function]:
    """`feature: what`. One that is not quick is left out where the quick part is wanted."""

    def register(function: Function) -> Function:
        _checks.append((name, function, quick))
        return function

    return register


def equal(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def main(*given: Any, arguments: list[str], at_once: int = 4) -> None:
    """Runs all that are registered with what is given and a stage, and ends the process: 1 if one failed."""
    bootstrap, *options = arguments
    quick = "--quick" in options
    print(f"1..{len(_checks)}")
    with tempfile.TemporaryDirectory(prefix="compat-checks-") as directory:

        def run(number: int) -> bool:
            name, function, is_quick = _checks[number]
            if quick and not is_quick:
                return _say(f"ok - {name} # SKIP not in the quick part")
            own = f"{re.sub('[^a-z0-9]+', '-', name.lower())[:80]}-{number}"
            (Path(directory) / own).mkdir()
            try:
                with ExitStack() as stack:
                    function(*given, Stage(bootstrap, own, Path(directory) / own, stack))
            except Cannot as reason:
                return _say(f"ok - {name} # SKIP {reason}")
            except BaseException as error:  # noqa: BLE001 - whatever a client raises is what it has to say
                said = " ".join(str(error).split()).replace("#", "")
                return _say(f"not ok - {name} # {type(error).__name__}: {said}"[:400], traceback.format_exc())
            return _say(f"ok - {name}")

        with ThreadPoolExecutor(at_once) as several:
            passed = list(several.map(run, range(len(_checks))))
    sys.stdout.flush()
    # Not by the interpreter's end: a client of a check that failed may have left threads that never do.
    os._exit(0 if all(passed) else 1)


def _say(line: str, more: str = "") -> bool:
    with _one_at_a_time:
        # On a line of its own, whatever others are about to print.
        sys.stdout.write(f"\n{more}{line}\n")
        sys.stdout.flush()
    return not line.startswith("not ok")
