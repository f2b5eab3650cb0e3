"""Whole clusters under faults, one for each seed: nothing that clients were told turns out wrong."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Callable, Iterator
from typing import NamedTuple

import pytest

from tests.simulation.story import story
from tests.simulation.world import Outcome, simulate

pytestmark = pytest.mark.slow

TOLD_LINES = 400


class Sums(NamedTuple):
    outcomes: list[Outcome]
    spent_s: list[float]


@pytest.fixture(scope="module")
def sums() -> Iterator[Sums]:
    yield Sums([], [])


def check(outcome: Outcome) -> None:
    if outcome.failure is not None:
        history = "\n".join(outcome.lines[-TOLD_LINES:])
        pytest.fail(
            f"{history}\n\nseed {outcome.seed}: {outcome.failure}\n\n"
            f"again: pytest tests/simulation -k test_nothing_goes_wrong --seed {outcome.seed}",
            pytrace=False,
        )


def test_nothing_goes_wrong(seed: int, sums: Sums, figure: Callable[[str], None]) -> None:
    began_s = time.process_time()
    outcome = simulate(seed, story)
    sums.outcomes.append(outcome)
    sums.spent_s.append(time.process_time() - began_s)
    check(outcome)
    assert outcome.counts["records acknowledged"]
    if len(sums.outcomes) % 20 == 0:
        spent_s, count = sum(sums.spent_s), len(sums.outcomes)
        told: Counter[str] = Counter()
        for each in sums.outcomes:
            told.update(each.counts)
        figure(
            f"{count} seeds in {spent_s:.0f} s of the processor, {count / spent_s:.2f} a second; in each "
            f"{sum(each.simulated_s for each in sums.outcomes) / count:.0f} s of simulated time, "
            f"{told['faults'] / count:.1f} faults, {told['records acknowledged'] / count:.0f} batches acknowledged, "
            f"{told['leaders'] / count:.0f} elections"
        )


def test_a_seed_decides_everything() -> None:
    """What is in memory, and what ran before, makes no difference."""
    first, other, again = simulate(7, story), simulate(8, story), simulate(7, story)
    assert first.digest == again.digest != other.digest
    assert first.lines == again.lines
