"""What checks of programs in Python say, and that a check which fails or hangs on to its threads ends them all."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from compat.tap import Result, checks_in

REPOSITORY = Path(__file__).resolve().parents[2]
PROGRAM = """
import sys, threading
from compat.checks import Cannot, check, equal, main

@check("codecs: passes")
def passes(what, stage):
    equal((what, stage.bootstrap, stage.directory.is_dir()), ("given", "HOST:1", True))

@check("codecs: fails")
def fails(what, stage):
    threading.Thread(target=threading.Event().wait).start()
    equal("one # line\\nand another", 2)

@check("codecs: cannot")
def cannot(what, stage):
    raise Cannot("it has no call")

@check("codecs: takes long", quick=False)
def long(what, stage):
    stage.until_the_end.callback(print, f"{stage.name} ends")

main("given", arguments=sys.argv[1:])
"""


def said(*arguments: str) -> tuple[int, str]:
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, "HOST:1", *arguments],
        check=False,
        capture_output=True,
        text=True,
        cwd=REPOSITORY,
        timeout=60,
    )
    return done.returncode, done.stdout


def test_results_and_reasons() -> None:
    code, out = said()
    found = {check.what: check for check in checks_in(out.splitlines())}
    assert code == 1
    assert {name: check.result for name, check in found.items()} == {
        "passes": Result.PASSED,
        "fails": Result.FAILED,
        "cannot": Result.SKIPPED,
        "takes long": Result.PASSED,
    }
    assert found["fails"].why == r"AssertionError: 'one  line\nand another' is not 2"
    assert found["cannot"].why == "it has no call"
    assert "codecs-takes-long-3 ends" in out


def test_the_quick_part() -> None:
    _, out = said("--quick")
    (check,) = (check for check in checks_in(out.splitlines()) if check.what == "takes long")
    assert (check.result, check.why) == (Result.SKIPPED, "not in the quick part")
