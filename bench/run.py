"""One run: each family on both brokers in turns, and its rows printed as they come."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from subprocess import SubprocessError
from typing import Any

from bench.family import Family, Start
from bench.machine import load_average
from bench.plan import Plan
from bench.report import Measured, Row, growth_table, row_text, table_head
from bench.side import Side
from tests.kafka.broker import KafkaBrokerError

__all__ = ["Run"]

TROUBLE = (OSError, RuntimeError, ValueError, LookupError, AssertionError, SubprocessError, KafkaBrokerError)
"""With which a family may end, and the next begins."""


class Run:
    def __init__(self, plan: Plan, rounds: int, brokers: tuple[str, str], say: Callable[[str], None]) -> None:
        self.measured: list[Measured] = []
        self.names = brokers[0].partition("=")[0], brokers[1].partition("=")[0]
        self._plan, self._rounds, self._brokers, self._say = plan, rounds, brokers, say

    @property
    def troubles(self) -> list[str]:
        return [f"{each.family.name}: {each.trouble}" for each in self.measured if each.trouble]

    def measure(self, families: Sequence[Family[Any]]) -> None:
        """One after the other; or several at once, where nobody looks at the figures."""
        if self._plan.at_once == 1:
            for family in families:
                self._measure(family, self._say)
            return
        with ThreadPoolExecutor(self._plan.at_once) as pool:
            for said in pool.map(self._measure_quietly, families):
                self._say("\n".join(said))

    def start_each_once(self, start: Start[Side]) -> None:
        """Python compiles what it imports, and files are read from the disk: no family shall pay for that. And that a
        broker cannot be measured is known before hours have gone by."""
        for which in self._brokers:
            with start(which, as_shipped=self._plan.as_shipped) as side:
                side.cpu_s()

    def _measure_quietly(self, family: Family[Any]) -> list[str]:
        said: list[str] = []
        self._measure(family, said.append)
        return said

    def _measure(self, family: Family[Any], say: Callable[[str], None]) -> None:
        measured = Measured(family)
        self.measured.append(measured)
        say(f"\n### {family.name}\n\n{family.about}\n\n{table_head(self.names)}")
        began = time.perf_counter()
        try:
            for number in range(1, self._rounds + 1):
                for is_ours in (True, False):
                    for row in self._one_side(measured, is_ours=is_ours):
                        if number == self._rounds and not is_ours:
                            say(row_text(row))
        except TROUBLE as error:
            measured.trouble = f"{type(error).__name__}: {error}"
            say(f"\n{family.name} ended with {measured.trouble}")
        if any(measured.curves):
            say(f"\n{growth_table([measured], self.names)}")
        say(f"\n{time.perf_counter() - began:.0f} s, load {load_average():.1f}")

    def _one_side(self, measured: Measured, *, is_ours: bool) -> Iterator[Row]:
        which = self._brokers[0 if is_ours else 1]
        with measured.family.start(which, as_shipped=self._plan.as_shipped) as side:
            for value in measured.family.values(side, self._plan):
                yield measured.note(value, is_ours=is_ours)
            measured.commands += [each for each in side.commands if each not in measured.commands]
