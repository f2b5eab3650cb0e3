"""`barnabas pipeline demo`: a broker, a day of made-up activity, the jobs one after the other, and the report."""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.pipeline.auditing.results import Audit
    from barnabas.pipeline.settings import Settings

__all__ = ["add_arguments", "run"]

_DIRECTORY = Path("barnabas-pipeline")
_MARK = ".made-by-barnabas-pipeline-demo"
_RECORDS = 100_000
_HOURS = 12
_HOUR_MS = 3_600_000
_READY_S = 30.0
_LOOK_S = 0.05
_STEPS = 6


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.generate import whole

    parser.add_argument(
        "--directory", metavar="DIR", type=Path, default=_DIRECTORY, help=f"for the lake and the report ({_DIRECTORY})"
    )
    parser.add_argument("--records", metavar="N", type=whole, default=_RECORDS, help=f"how many ({_RECORDS:,})")


def run(arguments: argparse.Namespace) -> int:
    from barnabas.cli.pipeline.audit import show
    from barnabas.cli.pipeline.jobs import in_words

    began = time.monotonic()
    directory = _empty(arguments.directory)
    with in_words():
        from barnabas.pipeline import sessions

        sessions.check_java()
        with _broker(directory) as bootstrap:
            found = _jobs(directory, bootstrap, arguments.records)
    _line("")
    code = show(found, as_json=False)
    report = directory / "report.html"
    _line(f"\nThe report, after {time.monotonic() - began:.0f} s: {report.absolute().as_uri()}")
    return code


def _jobs(directory: Path, bootstrap: str, records: int) -> Audit:
    from barnabas.cli.pipeline.audit import write_report
    from barnabas.pipeline import sessions
    from barnabas.pipeline.generate import generate_past
    from barnabas.pipeline.generating.starter import write_starter
    from barnabas.pipeline.minutes import MINUTE_MS, minute_of
    from barnabas.pipeline.settings import read_settings

    settings = read_settings(write_starter(directory, bootstrap))
    end_ms = minute_of(time.time_ns() // 1_000_000) * MINUTE_MS  # the audit ends with the last whole minute
    with _step(2, f"generate: {records:,} records of the last {_HOURS} hours"):
        generate_past(
            settings, count=records, begin_ms=end_ms - _HOURS * _HOUR_MS, end_ms=end_ms, rate=None, seed=1, say=_say
        )
    with _step(3, "Spark starts"):
        spark = sessions.open_session("demo", settings.spark_properties())
    try:
        return _spark_jobs(spark, settings, directory / "report.html", write_report)
    finally:
        spark.stop()


def _spark_jobs(spark: Any, settings: Settings, report: Path, write_report: Any) -> Audit:
    from barnabas.pipeline.audit import audit
    from barnabas.pipeline.derive import derive
    from barnabas.pipeline.land import land

    with _step(4, f"land: into {settings.place(settings.lake.path)}"):
        land(spark, settings, catch_up=True, say=_say)
    with _step(5, f"derive: {', '.join(settings.derive)}, into topics"):
        derive(spark, settings, [], catch_up=True, say=_say)
    with _step(6, "audit: producers, broker and lake"):
        found = audit(spark, settings, since=None, until=None, say=_say)
        write_report(spark, settings, found, report)
    return found


def _empty(directory: Path) -> Path:
    """A directory of which no file is anybody else's."""
    from barnabas.cli.failures import CommandFailed

    try:
        if directory.exists() and any(directory.iterdir()):
            if not (directory / _MARK).exists():
                raise CommandFailed(f"{directory} has files that are not the demo's: name another one by --directory.")
            shutil.rmtree(directory)
        directory.mkdir(parents=True, exist_ok=True)
        (directory / _MARK).touch()
    except OSError as error:
        raise CommandFailed(
            f"{directory} cannot be written to: {error.strerror}. Name another one by --directory."
        ) from None
    return directory.absolute()


@contextmanager
def _broker(directory: Path) -> Iterator[str]:
    """One in memory, as anybody would start it; it ends with us, however we end."""
    from barnabas.cli.failures import CommandFailed

    ready, log = directory / "broker.json", directory / "broker.log"
    command = [sys.executable, "-m", "barnabas.cli", "start", "--ephemeral", "--ready-file", str(ready)]
    with log.open("wb") as output:
        process = subprocess.Popen(command, stdout=output, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL)  # noqa: S603
    try:
        with _step(1, "a broker, in memory"):
            give_up = time.monotonic() + _READY_S
            while not ready.exists():
                if process.poll() is not None or time.monotonic() > give_up:
                    raise CommandFailed(f"The broker did not start: {log} says why.")
                time.sleep(_LOOK_S)
        yield str(json.loads(ready.read_text())["bootstrap_servers"])
    finally:
        process.terminate()
        process.wait()


@contextmanager
def _step(number: int, what: str) -> Iterator[None]:
    """On a terminal the seconds go on while it works."""
    _line(f"[{number}/{_STEPS}] {what}")
    began, done = time.monotonic(), threading.Event()

    def count() -> None:
        while not done.wait(1):
            sys.stdout.write(f"\r      {time.monotonic() - began:.0f} s ")
            sys.stdout.flush()

    counting = threading.Thread(target=count, daemon=True)
    if sys.stdout.isatty():
        counting.start()
    try:
        yield
    finally:
        done.set()
        if counting.is_alive():
            counting.join()
    _line(f"      {time.monotonic() - began:.1f} s")


def _say(sentence: str, **_facts: object) -> None:
    _line(f"      {sentence}")


def _line(text: str) -> None:
    if sys.stdout.isatty():
        sys.stdout.write("\r\x1b[K")  # over the seconds
    print(text, flush=True)  # noqa: T201 - progress is what a demo is for
