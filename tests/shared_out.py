"""How the workers of pytest-xdist (`pytest -n 2`, `make test`) share the tests.

By files, so that what a file sets up is set up once; those that take long come first, so that at the end nobody waits
for somebody else's last one.
"""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from xdist.scheduler import LoadScopeScheduling

__all__ = ["ByUnits", "in_order"]

ONE_BY_ONE = "tests/protocol/"
"""Thousands of tests that set up nothing: each goes to whoever is free."""


def unit_of(nodeid: str) -> str:
    return nodeid if nodeid.startswith(ONE_BY_ONE) else nodeid.partition("::")[0]


def in_order(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Units with a slow test, then the others, and those of one quick test fill what is left of the time.

    The slow ones go from the first and from the last in turns: clusters and tools, which wait, beside Spark, which does
    not.
    """
    items = list(items)
    slow = list(dict.fromkeys(unit_of(item.nodeid) for item in items if item.get_closest_marker("slow")))
    place = {unit: min(2 * at, 2 * (len(slow) - at) - 1) for at, unit in enumerate(slow)}

    def turn(item: pytest.Item) -> tuple[int, int]:
        unit = unit_of(item.nodeid)
        return (0, place[unit]) if unit in place else (1 if unit != item.nodeid else 2, 0)

    return sorted(items, key=turn)


class ByUnits(LoadScopeScheduling):  # type: ignore[misc] # it has no types
    """Hands out one unit after the other, in the order of the tests."""

    def __init__(self, config: pytest.Config, log: object) -> None:
        super().__init__(config, log)
        config.option.loadscopereorder = False

    def _split_scope(self, nodeid: str) -> str:
        return unit_of(nodeid)
