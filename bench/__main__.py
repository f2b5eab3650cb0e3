"""The same work on Barnabas and on Apache Kafka, in turns, each on a fresh directory: `make bench`."""

from __future__ import annotations

import argparse
import json
import shlex
import signal
import sys
import time
from collections.abc import Sequence
from fnmatch import fnmatchcase
from functools import partial

from bench.document import Circumstances, as_json, summary, write
from bench.family import all_families
from bench.machine import DURABILITY, load_average, machine, versions
from bench.plan import FULL, QUICK, SMOKE
from bench.run import Run
from compat.brokers import BARNABAS, KAFKA
from tests.kafka.broker import KafkaBrokerError
from tests.kafka.classpath import KafkaMissingError


def main(arguments: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--only", metavar="PATTERN", default="*", help="families by name, as `produce.*`")
    parser.add_argument("--rounds", type=int, help="how often each is measured; medians count")
    size = parser.add_mutually_exclusive_group()
    size.add_argument("--quick", action="store_true", help="a tenth of everything, once: where to look, in minutes")
    size.add_argument("--smoke", action="store_true", help="the least of everything, once: to see that it works")
    parser.add_argument("--broker", default=BARNABAS, help="what is measured: NAME=COMMAND")
    parser.add_argument("--reference", default=KAFKA, help="what it is held against")
    parser.add_argument("--json", action="store_true", help="one object with all that came out")
    parser.add_argument("--write", action="store_true", help="into docs/PERFORMANCE.md; it takes all families, whole")
    parser.add_argument("--list", action="store_true", help="the families, and what they measure")
    options = parser.parse_args(arguments)
    # Whoever ends it wants the brokers ended, too.
    signal.signal(signal.SIGTERM, lambda number, _: sys.exit(128 + number))
    plan = SMOKE if options.smoke else QUICK if options.quick else FULL
    chosen = [each for each in all_families() if fnmatchcase(each.name, options.only)]
    rounds = options.rounds if options.rounds is not None else plan.rounds
    if not chosen:
        parser.error(f"no family is called so; there are {', '.join(each.name for each in all_families())}")
    if rounds < 1:
        parser.error("--rounds wants 1 at least")
    if options.write and (plan is not FULL or len(chosen) < len(all_families()) or rounds < FULL.rounds):
        parser.error(f"--write wants all families, whole, and {FULL.rounds} rounds at least")
    if options.list:
        for each in chosen:
            print(f"{each.name}\n    {each.about}")
        return 0
    say = partial(print, file=sys.stderr if options.json else sys.stdout, flush=True)
    began, load_before = time.perf_counter(), load_average()
    say(f"{machine()}; load {load_before:.1f}\n{versions()}\nDurability: {DURABILITY}")
    run = Run(plan, rounds, (options.broker, options.reference), say)
    try:
        run.start_each_once()
    except (RuntimeError, ValueError, KafkaBrokerError, KafkaMissingError) as error:
        say(f"a broker does not start: {error}")
        return 1
    run.measure(chosen)
    say(f"\n{summary(run.measured)}")
    for trouble in run.troubles:
        say(f"failed: {trouble}")
    say(f"{len(chosen)} families in {time.perf_counter() - began:.0f} s, {len(run.troubles)} failed")
    command = shlex.join(["python", "-m", "bench", *(sys.argv[1:] if arguments is None else arguments)])
    circumstances = Circumstances(command, machine(), versions(), (load_before, load_average()), rounds, run.names)
    if options.json:
        print(json.dumps(as_json(run.measured, circumstances)))
    if options.write and not run.troubles:
        write(run.measured, circumstances)
    return 1 if run.troubles else 0


if __name__ == "__main__":
    sys.exit(main())
