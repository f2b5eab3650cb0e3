"""For pytest, `-p own_suite` with this directory on the path: each test of a client's own suite says TAP."""

from __future__ import annotations

import os
import sys
from typing import Any


def pytest_runtest_logreport(report: Any) -> None:
    """A test that passes is told by its call; one that fails or is skipped, wherever that happens."""
    if report.passed and report.when != "call":
        return
    name = report.nodeid.rpartition("/")[2].replace("#", "")
    if report.skipped:
        reason = report.longrepr[2] if isinstance(report.longrepr, tuple) else "an expected failure"
        _say(f"ok - own suite: {name} # SKIP {_on_one_line(reason)}")
    elif report.failed:
        crash = getattr(report.longrepr, "reprcrash", None)
        _say(f"not ok - own suite: {name} # {_on_one_line(crash.message if crash else str(report.longrepr))}")
    else:
        _say(f"ok - own suite: {name}")


def _on_one_line(text: str) -> str:
    return " ".join(text.replace("#", "").split())[:300]


def _say(line: str) -> None:
    # Not through pytest, which keeps what is printed while a test runs.
    sys.stdout.flush()
    os.write(_STDOUT, f"\n{line}\n".encode())


_STDOUT = os.dup(1)
