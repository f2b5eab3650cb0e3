"""What was looked at, how it is, and what to do about it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from barnabas.cli.output import Output

__all__ = ["Check", "State", "fail", "good", "show", "unknown", "warn"]

State = str
GOOD, WARN, FAIL, UNKNOWN = "ok", "warn", "fail", "unknown"


class Check(NamedTuple):
    state: State
    what: str
    where: str
    found: str
    advice: str | None = None
    """What to change; None where nothing has to be."""


def good(what: str, where: str, found: str) -> Check:
    return Check(GOOD, what, where, found)


def unknown(what: str, where: str, found: str) -> Check:
    """It could not be looked at, which by itself is nothing bad."""
    return Check(UNKNOWN, what, where, found)


def warn(what: str, where: str, found: str, advice: str) -> Check:
    return Check(WARN, what, where, found, advice)


def fail(what: str, where: str, found: str, advice: str | None = None) -> Check:
    """Without advice where what was found says itself what to do."""
    return Check(FAIL, what, where, found, advice)


def show(checks: Sequence[Check], output: Output) -> bool:
    """Whether all is well, warnings aside."""
    failures = [check for check in checks if check.state == FAIL]
    warnings = [check for check in checks if check.state == WARN]
    if output.as_json:
        output.json({"ok": not failures, "checks": [check._asdict() for check in checks]})
        return not failures
    colours = {GOOD: output.good, WARN: output.warn, FAIL: output.bad, UNKNOWN: output.dim}
    widths = [
        max(map(len, column), default=0)
        for column in ([check.what for check in checks], [check.where for check in checks])
    ]
    for check in checks:
        state = colours[check.state](f"{check.state:<7}")
        output.line(f"{state}  {check.what:<{widths[0]}}  {check.where:<{widths[1]}}  {check.found}".rstrip())
        if check.advice is not None:
            output.line(f"{'':<7}  -> {check.advice}")
    output.line()
    output.line(_verdict(len(checks), len(failures), len(warnings)))
    return not failures


def _verdict(checks: int, failures: int, warnings: int) -> str:
    if failures:
        return f"{failures} of {checks} checks failed: begin with the first of them."
    if warnings:
        return f"It works; {warnings} of {checks} checks have something to say."
    return f"All is well: {checks} checks."
