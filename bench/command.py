"""The command line of a suite of families: which of them, how much of each, on what, and where it is written."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import partial
from pathlib import Path
from typing import Any

from bench.document import Circumstances, as_json, summary, write
from bench.family import Families, Start, kept
from bench.machine import load_average, machine, versions
from bench.plan import FULL, QUICK, SMOKE
from bench.run import Run
from bench.side import Side
from compat.brokers import BARNABAS, KAFKA
from tests.kafka.broker import KafkaBrokerError
from tests.kafka.classpath import KafkaMissingError

__all__ = ["Suite", "main"]


@dataclass(frozen=True, slots=True)
class Suite:
    program: str
    """As `python -m` is told it."""
    about: str
    families: Families[Any]
    start: Start[Side]
    """What is started once before anything is measured."""
    durability: str
    document: Path
    """Between its markers `--write` writes."""
    keeps: bool = False
    """Where nobody looks at figures, all families have what was started for the first."""


def main(suite: Suite, arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog=f"python -m {suite.program}", description=suite.about)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="families by name, as `*produce*`")
    parser.add_argument("--rounds", type=int, help="how often each is measured; medians count")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a tenth of everything, once: where to look, in minutes")
    size.add_argument("--smoke", action="store_true", help="the least of everything, once: to see that it works")
    parser.add_argument("--broker", default=BARNABAS, help="what is measured: NAME=COMMAND")
    parser.add_argument("--reference", default=KAFKA, help="what it is held against")
    parser.add_argument("--json", action="store_true", help="one object with all that came out")
    parser.add_argument(
        "--write", action="store_true", help=f"into docs/{suite.document.name}; it takes all families, whole"
    )
    parser.add_argument("--list", action="store_true", help="the families, and what they measure")
    options = parser.parse_args(arguments)
    # Whoever ends it wants the brokers ended, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    plan = SMOKE if options.smoke else QUICK if options.quick else FULL
    families = suite.families.all()
    chosen = [each for each in families if fnmatchcase(each.name, options.only)]
    rounds = options.rounds if options.rounds is not None else plan.rounds
    if not chosen:
        parser.error(f"no family is called so; there are {', '.join(each.name for each in families)}")
    if rounds < 1:
        parser.error("--rounds wants 1 at least")
    if options.write and (plan is not FULL or len(chosen) < len(families) or rounds < FULL.rounds):
        parser.error(f"--write wants all families, whole, and {FULL.rounds} rounds at least")
    if options.list:
        for each in chosen:
            print(f"{each.name}\n    {each.about}")
        return 0
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    began, load_before = time.perf_counter(), load_average()
    say(f"{machine()}; load {load_before:.1f}\n{versions()}\nDurability: {suite.durability}")
    if suite.keeps:
        plan = replace(plan, at_once=1)
    run = Run(plan, rounds, (options.broker, options.reference), say)
    try:
        run.start_each_once(suite.start)
    except (RuntimeError, ValueError, KafkaBrokerError, KafkaMissingError) as error:
        say(f"a broker does not start: {error}")
        return 1
    if suite.keeps and options.smoke:
        with kept(suite.start) as start:
            run.measure([replace(each, start=start) for each in chosen])
    else:
        run.measure(chosen)
    say(f"\n{summary(run.measured)}")
    for trouble in run.troubles:
        say(f"failed: {trouble}")
    say(f"{len(chosen)} families in {time.perf_counter() - began:.0f} s, {len(run.troubles)} failed")
    command = shlex.join(["python", "-m", suite.program, *(sys.argv[1:] if arguments is None else arguments)])
    load = load_before, load_average()
    circumstances = Circumstances(command, machine(), versions(), load, rounds, run.names, suite.durability)
    if options.json:
        print(json.dumps(as_json(run.measured, circumstances)))
    if options.write and not run.troubles:
        write(suite.document, run.measured, circumstances)
    return 1 if run.troubles else 0
