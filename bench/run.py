"""One run: each family on both brokers in turns, and its rows printed as they come."""

from __future__ import annotations

import time
from collections.abc import Callable

from bench.family import Family, started
from bench.machine import load_average
from bench.plan import Plan
from bench.report import Measured, growth_table, row_text, table_head

__all__ = ["Run"]

TROUBLE = (OSError, RuntimeError, ValueError, LookupError, AssertionError)
"""With which a family may end, and the next begins."""


class Run:
    def __init__(self, plan: Plan, rounds: int, brokers: tuple[str, str], say: Callable[[str], None]) -> None:
        self.measured: list[Measured] = []
        self.names = brokers[0].partition("=")[0], brokers[1].partition("=")[0]
        self._plan, self._rounds, self._brokers, self._say = plan, rounds, brokers, say

    @property
    def troubles(self) -> list[str]:
        return [f"{each.family.name}: {each.trouble}" for each in self.measured if each.trouble]

    def start_each_once(self) -> None:
        """Python compiles what it imports, and files are read from the disk: no family shall pay for that."""
        for which in self._brokers:
            with started(which):
                pass

    def measure(self, family: Family) -> None:
        measured = Measured(family)
        self.measured.append(measured)
        self._say(f"\n### {family.name}\n\n{family.about}\n\n{table_head(self.names)}")
        began = time.perf_counter()
        try:
            for number in range(1, self._rounds + 1):
                for which in self._brokers:
                    self._one_side(measured, which, is_last=number == self._rounds)
        except TROUBLE as error:
            measured.trouble = f"{type(error).__name__}: {error}"
            self._say(f"\n{family.name} ended with {measured.trouble}")
        if any(measured.curves):
            self._say(f"\n{growth_table([measured], self.names)}")
        self._say(f"\n{time.perf_counter() - began:.0f} s, load {load_average():.1f}")

    def _one_side(self, measured: Measured, which: str, *, is_last: bool) -> None:
        is_ours = which == self._brokers[0]
        with started(which) as side:
            for value in measured.family.values(side, self._plan):
                row = measured.note(value, is_ours=is_ours)
                if is_last and not is_ours:
                    self._say(row_text(row))
            measured.commands += [each for each in side.commands if each not in measured.commands]
