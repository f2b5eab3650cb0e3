"""`barnabas pipeline generate`: records of the last hours, or from now on."""

from __future__ import annotations

import argparse
import math
import time

__all__ = ["add_arguments", "run", "whole"]

_RATE = 100.0
_RECORDS = 100_000
_HOUR_MS = 3_600_000
_MOST_HOURS = 24 * 366


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.pipeline.jobs import add_job_arguments

    parser.add_argument(
        "--records", metavar="N", type=whole, help=f"how many ({_RECORDS:,}; from now on: until Ctrl-C)"
    )
    parser.add_argument("--rate", metavar="N", type=_amount, help=f"so many a second (from now on: {_RATE:g})")
    parser.add_argument("--hours", metavar="H", type=_amount, help="of the last H hours, as fast as it goes")
    parser.add_argument("--from", metavar="T", dest="begin", help="of the time from T on, as fast as it goes")
    parser.add_argument("--to", metavar="T", dest="end", help="with --from: until then (now)")
    parser.add_argument("--seed", metavar="N", type=int, default=1, help="the same seed, the same stream (1)")
    add_job_arguments(parser)


def whole(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is not 1 or more")
    return number


def _amount(text: str) -> float:
    number = float(text)
    if not (math.isfinite(number) and number > 0):
        raise argparse.ArgumentTypeError(f"{text} is not more than 0")
    return number


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.pipeline.jobs import in_words
    from barnabas.pipeline.generate import generate_live, generate_past
    from barnabas.pipeline.progress import printer
    from barnabas.pipeline.settings import read_settings

    between = _between(arguments)
    say = printer(as_json=arguments.json)
    with in_words():
        settings = read_settings(arguments.config)
        if between is None:
            rate = arguments.rate or _RATE
            generate_live(settings, count=arguments.records, rate=rate, seed=arguments.seed, say=say)
            return
        generate_past(
            settings,
            count=arguments.records or _RECORDS,
            begin_ms=between[0],
            end_ms=between[1],
            rate=arguments.rate,
            seed=arguments.seed,
            say=say,
        )


def _between(arguments: argparse.Namespace) -> tuple[int, int] | None:
    """None: from now on."""
    from barnabas.cli.failures import WrongUsage
    from barnabas.cli.times import moment_ms

    now_ms = time.time_ns() // 1_000_000
    if arguments.hours is not None:
        if arguments.begin is not None or arguments.end is not None:
            raise WrongUsage("Say either --hours, or --from and --to.")
        if arguments.hours > _MOST_HOURS:
            raise WrongUsage(f"--hours {arguments.hours:g} is more than a year: say less.")
        return now_ms - round(arguments.hours * _HOUR_MS), now_ms
    if arguments.begin is None:
        if arguments.end is not None:
            raise WrongUsage("--to goes with --from.")
        return None
    begin_ms = moment_ms(arguments.begin, "--from")
    end_ms = moment_ms(arguments.end, "--to") if arguments.end is not None else now_ms
    if begin_ms >= end_ms:
        raise WrongUsage("--from is not before --to.")
    if end_ms - begin_ms > _MOST_HOURS * _HOUR_MS:
        raise WrongUsage("From --from to --to is more than a year: say less.")
    return begin_ms, end_ms
