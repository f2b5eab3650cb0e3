"""`barnabas pipeline audit`: exit code 0 if all tiers add up, 1 if not."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from barnabas.cli.output import Output
    from barnabas.pipeline.auditing.comparing import Total
    from barnabas.pipeline.auditing.results import Audit
    from barnabas.pipeline.settings import Settings

__all__ = ["add_arguments", "run"]

_SENTENCES = 50


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument("--since", metavar="T", help="records written from then on (all): 2026-01-31T18:30 or 6h")
    parser.add_argument("--until", metavar="T", help="records written before then (all minutes that are over)")
    parser.add_argument("--html", metavar="FILE", type=Path, help="write a report with pictures, too")
    add_job_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    from barnabas.cli.failures import WrongUsage
    from barnabas.cli.pipeline.jobs import run_job

    since, until = _minute(arguments.since, "--since"), _minute(arguments.until, "--until")
    if since is not None and until is not None and since >= until:
        raise WrongUsage("--since is not before --until.")
    if arguments.html is not None and not arguments.html.absolute().parent.is_dir():
        raise WrongUsage(f"--html {arguments.html}: there is no such directory.")

    def job(module: Any, spark: Any, settings: Any, say: Any) -> Audit:
        found: Audit = module.audit(spark, settings, since=since, until=until, say=say)
        if arguments.html is not None:
            write_report(spark, settings, found, arguments.html)
        return found

    found: Audit = run_job("audit", arguments, job)
    code = show(found, as_json=arguments.json)
    if arguments.html is not None and not arguments.json:
        print(f"The report is {arguments.html}.")  # noqa: T201
    return code


def write_report(spark: Any, settings: Settings, found: Audit, file: Path) -> None:
    from barnabas.pipeline.auditing.highlights import highlights
    from barnabas.pipeline.auditing.report import page
    from barnabas.pipeline.failures import PipelineFailed

    topics = [one.topic for one in found.totals]
    text = page(found, highlights(spark, settings, found.since, found.until, topics))
    try:
        file.write_text(text)
    except OSError as error:
        raise PipelineFailed(f"{file} cannot be written: {error.strerror}. Name another file.") from None


def _minute(text: str | None, flag: str) -> int | None:
    from barnabas.cli.times import moment_ms
    from barnabas.pipeline.minutes import minute_of

    return None if text is None else minute_of(moment_ms(text, flag))


def show(found: Audit, *, as_json: bool) -> int:
    from barnabas.cli.output import Output

    output = Output(as_json=as_json)
    if as_json:
        output.json(found.as_json())
    else:
        _tell(found, output)
    return 0 if found.is_complete else 1


def _tell(found: Audit, output: Output) -> None:
    headers = ["topic", "producers", "broker", "lake", "quarantined", "missing", "duplicates", "waiting", "complete"]
    output.table(headers, [_row(one) for one in found.totals])
    for remark in found.remarks:
        output.line(output.dim(remark))
    for finding in found.findings[:_SENTENCES]:
        output.line(output.bad(finding.sentence))
    if len(found.findings) > _SENTENCES:
        output.line(f"and {len(found.findings) - _SENTENCES:,} more: --json has them all.")
    output.line((output.good if found.is_complete else output.bad)(found.sentence))


def _row(one: Total) -> list[object]:
    from barnabas.pipeline.auditing.results import percent

    missing = one.short + one.missing + one.undecoded
    share = min(one.in_broker, one.in_lake, one.in_tables)
    counts = [one.produced, one.broker, one.landed, one.quarantined, missing, one.duplicates, one.waiting]
    return [one.topic, *counts, percent(share)]
