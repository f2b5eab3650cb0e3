"""A client of clients/: what it is called, its program, and which of its checks have to pass."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from compat.tap import Check, Result, checks_in

__all__ = ["TOO_MUCH", "Client", "ClientRun", "clients"]

CLIENTS = Path(__file__).with_name("clients")
CACHE = Path(__file__).resolve().parents[1] / ".cache" / "compat"
TOO_MUCH = 77


@dataclass(frozen=True, slots=True)
class ClientRun:
    checks: dict[str, Check]
    trouble: str = ""
    """Why the program did not come to its end."""
    apis: frozenset[str] = frozenset()
    """What its broker advertises."""

    def result(self, name: str) -> Result | None:
        check = self.checks.get(name)
        return None if check is None else check.result

    def count(self, feature: str, result: Result) -> int:
        return sum(each.feature == feature and each.result is result for each in self.checks.values())


@dataclass(frozen=True, slots=True)
class Client:
    directory: Path
    title: str
    language: str
    version: str
    quick: bool
    """Whether its quick part is one of CI's."""
    seconds: int
    """How long its program may take; that is far more than it needs."""
    config: Mapping[str, str] = field(default_factory=dict, hash=False)
    """What its broker has to be told, over what is told all of them."""

    @property
    def name(self) -> str:
        return self.directory.name

    @property
    def allowed(self) -> list[str]:
        """The checks that have to pass. The list only grows."""
        file = self.directory / "tests.allow"
        return [line for line in file.read_text().splitlines() if line] if file.exists() else []

    def allow(self, more: list[str]) -> None:
        names = sorted({*self.allowed, *more})
        (self.directory / "tests.allow").write_text("".join(f"{name}\n" for name in names))

    def install(self) -> bool:
        """What it needs, once: `run --install` goes to the registries and to no broker. False where that is too much to
        be fetched without being asked for, as it then has said."""
        CACHE.mkdir(parents=True, exist_ok=True)
        done = subprocess.run([self.directory / "run", "--install"], env=self._environment(), check=False)
        if done.returncode not in (0, TOO_MUCH):
            raise RuntimeError(f"{self.name}: `run --install` ended with {done.returncode}")
        return done.returncode == 0

    def run(self, bootstrap: str, log: Path, *, quick: bool) -> ClientRun:
        command = [str(self.directory / "run"), bootstrap, *(["--quick"] if quick else [])]
        with log.open("wb") as output:
            process = subprocess.Popen(
                command,
                env=self._environment(),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )
            trouble = self._wait(process)
        lines = log.read_text(errors="replace").splitlines()
        checks: dict[str, Check] = {}
        try:
            checks.update((check.name, check) for check in checks_in(lines))
        except ValueError as unknown:
            trouble = trouble or str(unknown)
        if not checks and not trouble:
            trouble = "it checked nothing"
        return ClientRun(checks, trouble)

    def _wait(self, process: subprocess.Popen[bytes]) -> str:
        try:
            code = process.wait(self.seconds)
        except subprocess.TimeoutExpired:
            return f"it was not done after {self.seconds} s"
        finally:
            # And whatever it has left behind.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)
            process.wait()
        # 1 says that a check failed, as is usual; anything else, that the program itself did.
        return "" if code in (0, 1) else f"it ended with {code}"

    def _environment(self) -> dict[str, str]:
        """`COMPAT_PYTHON` has what `make` installs, for programs that drive those of another language."""
        return {**os.environ, "COMPAT_CACHE": str(CACHE / self.name), "COMPAT_PYTHON": sys.executable}


def clients() -> Iterator[Client]:
    for file in sorted(CLIENTS.glob("*/client.toml")):
        yield Client(file.parent, **tomllib.loads(file.read_text()))
