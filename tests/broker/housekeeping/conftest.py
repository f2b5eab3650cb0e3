"""A node whose clock moves when the test says so."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.broker.moved_clock import MovedClock
from tests.broker.running import RunningNode


class Clocked(RunningNode):
    """Its time stands still until it is moved."""

    clock: MovedClock

    def __init__(self, directory: Path, **settings: Any) -> None:
        super().__init__(directory, clock=MovedClock(), **settings)

    def pass_ms(self, duration_ms: int) -> None:
        self.do(lambda _node: self.clock.advance(duration_ms))

    def names(self, partition: str = "orders-0") -> list[str]:
        """The files of a partition."""
        return sorted(path.name for path in (self.directory / partition).iterdir())


@pytest.fixture
def clocked(tmp_path: Path) -> Iterator[Clocked]:
    with Clocked(tmp_path / "data") as running:
        yield running
