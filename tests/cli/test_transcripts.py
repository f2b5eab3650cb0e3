"""The sessions in docs/transcripts/ are what a terminal shows: each is run again on a broker of its own.

BARNABAS_REWRITE_TRANSCRIPTS=1 writes what came into the pages, for whoever changes a command or writes a page: look at
the difference before it is committed.
"""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from io import StringIO
from pathlib import Path
from typing import Any

import pytest

from barnabas.cli.main import main
from tests.broker.running import RunningNode
from tests.cli.transcripts import Page, differs, parse, rewritten

PAGES = sorted((Path(__file__).resolve().parents[2] / "docs/transcripts").glob("*.md"))
AS_IN_THE_DOCUMENTATION = "localhost:9092"
_QUOTED = re.compile(r"""'[^']*'|"[^"$`\\]*\"""")
_SHELL = set("|&;<>$`*?(){}\"'\\~#")
"""Outside of quotes, what only a shell understands. In this process a command costs a tenth of what it costs there."""
_PATIENCE_S = 60


class Terminal:
    """Commands of ours run in this process, anything that needs a shell in one."""

    def __init__(self, directory: Path, bootstrap: str | None) -> None:
        self.directory = directory
        self._bootstrap = bootstrap
        self._code = 0

    def run(self, command: str) -> list[str]:
        if command.strip() == "echo $?":
            return [str(self._code)]
        if command.startswith("barnabas ") and not _SHELL & set(_QUOTED.sub("", command)):
            told = self._in_this_process(shlex.split(command)[1:])
        else:
            told = self._in_a_shell(command)
        return [line.rstrip() for line in self._as_documented(told).splitlines()]

    def _in_this_process(self, arguments: list[str]) -> str:
        told = StringIO()
        with redirect_stdout(told), redirect_stderr(told):
            try:
                self._code = main(arguments)
            except SystemExit as ended:
                assert isinstance(ended.code, int)
                self._code = ended.code
        return told.getvalue()

    def _in_a_shell(self, command: str) -> str:
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-c", command],
            check=False,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=_PATIENCE_S,
            env=os.environ | {"PATH": path},
        )
        self._code = done.returncode
        return done.stdout

    def _as_documented(self, told: str) -> str:
        if self._bootstrap is not None:
            host, _, port = self._bootstrap.rpartition(":")
            told = told.replace(self._bootstrap, AS_IN_THE_DOCUMENTATION).replace(f"{host}, port {port}", "localhost")
        return told.replace(f"{self.directory}/", "")


@contextmanager
def terminal(page: Page, directory: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Terminal]:
    monkeypatch.chdir(directory)
    monkeypatch.setenv("COLUMNS", "100")
    monkeypatch.setenv("TZ", "UTC")
    if page.settings is None:
        yield Terminal(directory, None)
        return
    settings: dict[str, Any] = {name.replace(".", "_"): value for name, value in page.settings.items()}
    with RunningNode(directory / "barnabas-data", **settings) as node:
        monkeypatch.setenv("BARNABAS_BOOTSTRAP_SERVER", node.bootstrap)
        yield Terminal(directory, node.bootstrap)


@pytest.mark.slow
@pytest.mark.parametrize("path", PAGES, ids=lambda path: path.stem)
def test_what_the_page_says_is_what_comes(path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    text = path.read_text()
    page = parse(text)
    assert page.steps, "the page has no ```console block"
    with terminal(page, tmp_path, monkeypatch) as screen:
        if os.environ.get("BARNABAS_REWRITE_TRANSCRIPTS") == "1":
            path.write_text(rewritten(text, screen.run))
            return
        for step in page.steps:
            came = screen.run(step.command)
            difference = differs(step.expected, came)
            assert difference is None, f"$ {shlex.join(step.command.split())}\n{difference}"


PAGE = """\
# A page
<!-- broker: num.partitions=3 auto.create.topics.enable=false -->
```console
$ barnabas topics create orders \\
>   --partitions 3
Created topic orders.

$ barnabas topics
orders
```
"""


def test_a_page_is_commands_and_what_came() -> None:
    page = parse(PAGE)
    assert page.settings == {"num.partitions": "3", "auto.create.topics.enable": "false"}
    assert page.steps == [
        ("barnabas topics create orders --partitions 3", ["Created topic orders."]),
        ("barnabas topics", ["orders"]),
    ]
    assert parse("<!-- broker: none -->").settings is None


@pytest.mark.parametrize(
    ("expected", "actual", "same"),
    [
        (["a"], ["a"], True),
        (["a"], ["b"], False),
        (["a"], ["a", "b"], False),
        ([], ["a"], False),
        (["a ... c"], ["a b c"], True),
        (["a", "...", "z"], ["a", "b", "c", "z"], True),
        (["a", "...", "z"], ["a", "z"], True),
        (["a", "...", "z"], ["a", "b"], False),
        (["x  3kdb1lmqTkCYxJNVOrbFDw  y"], ["x   5L6g3nShT-eMCtK--X86sw y".replace(" y", "     y")], True),
        (["at 2026-01-02 03:04:05"], ["at 2027-11-12 13:14:15"], True),
        (["took 12.5 ms"], ["took 3 ms"], True),
        (["12 records"], ["13 records"], False),
    ],
)
def test_what_varies_is_not_compared_and_the_rest_is(expected: list[str], actual: list[str], same: bool) -> None:
    assert (differs(expected, actual) is None) is same


def test_a_page_is_written_anew_where_something_else_came() -> None:
    came = {
        "barnabas topics create orders --partitions 3": ["Created topic orders."],
        "barnabas topics": ["orders", "x"],
    }
    assert parse(rewritten(PAGE, came.__getitem__)).steps[1].expected == ["orders", "x"]
    assert "Created topic orders." in rewritten(PAGE, came.__getitem__)
