"""For the programs in Python: checks that say TAP."""

from __future__ import annotations

import sys
import time
import traceback
from collections.abc import Callable
from typing import Any

_checks: list[tuple[str, Callable[[], None], bool]] = []
PATIENCE_S = 20.0


class Cannot(Exception):  # noqa: N818
    """The client has nothing for it."""


def check(name: str, *, quick: bool = True) -> Callable[[Callable[[], None]], Callable[[], None]]:
    """`feature: what`. One that is not quick is left out where the quick part is wanted."""

    def register(function: Callable[[], None]) -> Callable[[], None]:
        _checks.append((name, function, quick))
        return function

    return register


def until(condition: Callable[[], Any], what: str) -> Any:
    """The first true value."""
    deadline = time.monotonic() + PATIENCE_S
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"waited for {what}")
        time.sleep(0.02)
    return value


def equal(found: Any, wanted: Any) -> None:
    if found != wanted:
        raise AssertionError(f"{found!r} is not {wanted!r}")


def main() -> int:
    """Runs all that are registered; 1 if one failed."""
    quick = "--quick" in sys.argv
    failed = False
    print(f"1..{len(_checks)}")
    for name, function, is_quick in _checks:
        if quick and not is_quick:
            print(f"ok - {name} # SKIP not in the quick part", flush=True)
            continue
        try:
            function()
            print(f"ok - {name}", flush=True)
        except Cannot as reason:
            print(f"ok - {name} # SKIP {reason}", flush=True)
        except Exception as error:  # noqa: BLE001 - whatever a client raises is what it has to say
            failed = True
            traceback.print_exc()
            print(f"not ok - {name} # {type(error).__name__}: {' '.join(str(error).split())}"[:400], flush=True)
    return int(failed)


def bootstrap() -> str:
    return sys.argv[1]
