"""Numbers as Java writes them, for output that scripts cut up."""

from __future__ import annotations

import math
from decimal import Decimal

__all__ = ["java_double"]

_PLAIN_FROM, _PLAIN_BELOW = 1e-3, 1e7


def java_double(value: float) -> str:
    """Double.toString: `1024.0`, `1.048576E7`, with as many digits as tell it from its neighbours."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or _PLAIN_FROM <= abs(value) < _PLAIN_BELOW:
        return repr(value)
    shortest = Decimal(repr(value))
    digits = "".join(map(str, shortest.as_tuple().digits)).rstrip("0")
    sign = "-" if value < 0 else ""
    return f"{sign}{digits[0]}.{digits[1:] or '0'}E{shortest.adjusted()}"
