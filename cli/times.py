"""A moment after --since, --until or --timestamp: a date and time, so long ago, now, or milliseconds since 1970."""

from __future__ import annotations

import re
import time

from barnabas.cli.failures import WrongUsage
from barnabas.cli.moments import duration_ms, timestamp_ms

__all__ = ["moment_ms", "parse_moment"]

_MILLISECONDS = re.compile(r"[0-9]{1,18}")
_DURATION = re.compile(r"[0-9.]+[a-z].*|P.*", re.IGNORECASE)


def moment_ms(text: str, flag: str) -> int:
    """WrongUsage unless it is a moment."""
    try:
        return parse_moment(text, time.time_ns() // 1_000_000)
    except WrongUsage:
        raise WrongUsage(
            f"{flag} {text} is no time: write 2026-01-31T18:30:00.000, which is UTC, or with +02:00 behind it; "
            "90s, 10m, 2h or 1d for so long ago; or milliseconds since 1970"
        ) from None


def parse_moment(text: str, now_ms: int) -> int:
    """WrongUsage unless it is a moment."""
    text = text.strip()
    if text == "now":
        return now_ms
    if _MILLISECONDS.fullmatch(text):
        return int(text)
    if _DURATION.fullmatch(text):
        return max(0, now_ms - duration_ms(text))
    return timestamp_ms(text)
