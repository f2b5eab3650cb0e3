"""Figures out of figures: percentiles, medians with their spread, exponents, means."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from statistics import geometric_mean, linear_regression, median

__all__ = ["exponent", "geometric_mean", "median", "percentile", "spread"]


def percentile(figures: Sequence[float], share: float) -> float:
    """The smallest that at least this share does not exceed."""
    return sorted(figures)[max(0, math.ceil(len(figures) * share) - 1)]


def spread(figures: Iterable[float]) -> float:
    """How far the least and the most are apart, as a part of the median."""
    known = list(figures)
    return (max(known) - min(known)) / median(known)


def exponent(costs: Mapping[float, float]) -> float:
    """Of the power of the scale with which cost grows: 0 where it does not, 1 where it is in proportion."""
    scales = [math.log(scale) for scale in costs]
    return linear_regression(scales, [math.log(cost) for cost in costs.values()]).slope
