"""Percentiles, spreads, exponents: what is made of figures."""

from __future__ import annotations

import pytest

from bench.figures import exponent, percentile, spread


@pytest.mark.parametrize(("share", "expected"), [(0.0, 1), (0.01, 1), (0.5, 50), (0.505, 51), (0.99, 99), (1.0, 100)])
def test_percentile_is_one_of_the_figures(share: float, expected: int) -> None:
    assert percentile(list(range(100, 0, -1)), share) == expected


def test_the_last_percentile_of_few_is_the_most() -> None:
    assert percentile([3, 1, 2], 0.999) == 3


def test_spread_is_a_part_of_the_median() -> None:
    assert spread([90, 100, 120]) == pytest.approx(0.3)
    assert spread([7]) == 0


@pytest.mark.parametrize("power", [-0.5, 0, 1, 2])
def test_exponent_is_the_power_that_made_the_costs(power: float) -> None:
    assert exponent({scale: 3 * scale**power for scale in (10, 100, 1000)}) == pytest.approx(power)


def test_exponent_of_noise_around_a_constant_is_small() -> None:
    assert abs(exponent({10: 100, 100: 110, 1000: 95})) < 0.05
