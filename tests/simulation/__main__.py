"""Runs of the simulation, to look at what happens: `python -m tests.simulation 17 --about topic0-1`, or `1-1000`."""

from __future__ import annotations

import argparse
import dataclasses
import random
import sys
import time

from tests.simulation.settings import Scenario
from tests.simulation.story import story
from tests.simulation.world import simulate


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.simulation", description=__doc__)
    parser.add_argument("seeds", help="one, or the first and the last with a dash between")
    parser.add_argument("--set", action="append", default=[], metavar="NAME=VALUE", help="of the scenario")
    parser.add_argument("--lines", type=int, default=60, help="of the history, where something goes wrong")
    parser.add_argument("--about", default="", help="only those with this in them")
    given = parser.parse_args()
    first, _, last = given.seeds.partition("-")
    failures = 0
    for seed in range(int(first), int(last or first) + 1):
        began_s = time.process_time()
        outcome = simulate(seed, story, _scenario(seed, given.set))
        spent_s = time.process_time() - began_s
        print(f"seed {seed}: {spent_s:.1f} s for {outcome.simulated_s:.0f} s, {outcome.digest} {outcome.counts}")
        if outcome.failure is not None:
            failures += 1
            lines = [line for line in outcome.lines if given.about in line]
            print("\n".join(lines[-given.lines :]))
            print(f"seed {seed} FAILED: {outcome.failure}", flush=True)
    return 1 if failures else 0


def _scenario(seed: int, settings: list[str]) -> Scenario:
    scenario = Scenario.drawn(random.Random(f"scenario {seed}"))
    for text in settings:
        name, _, value = text.partition("=")
        scenario = dataclasses.replace(scenario, **{name: type(getattr(scenario, name))(value)})
    return scenario


if __name__ == "__main__":
    sys.exit(main())
