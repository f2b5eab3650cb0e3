"""`pytest tests/simulation --seed 17` runs that seed alone; BARNABAS_SEED=17 says the same."""

from __future__ import annotations

import os

import pytest

CI_SEEDS, THOROUGH_SEEDS = 20, 1_000


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--seed", help="run the simulation with this seed alone")


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    if "seed" in metafunc.fixturenames:
        metafunc.parametrize("seed", _seeds(metafunc.config.getoption("--seed", default=None)))


def _seeds(wanted: str | None) -> list[int]:
    wanted = wanted or os.environ.get("BARNABAS_SEED")
    if wanted:
        return [int(wanted)]
    return list(range(1, 1 + (THOROUGH_SEEDS if os.environ.get("BARNABAS_THOROUGH") == "1" else CI_SEEDS)))
