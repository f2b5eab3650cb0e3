"""Moments as people write them: 2026-11-18T12:00:00, 2026-11-18, 12:30, 10m (ago), now, or milliseconds since 1970."""

from __future__ import annotations

import re
import time
from datetime import UTC, datetime, timedelta

from barnabas.cli.failures import WrongUsage

__all__ = ["moment_ms", "parse_moment", "written"]

_UNITS_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}
_DURATION = re.compile(r"(?:\d+(?:\.\d+)?(?:ms|[smhdw]))+")
_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|[smhdw])")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_CLOCK = re.compile(r"\d{1,2}:\d{2}(:\d{2}(\.\d+)?)?")


def moment_ms(text: str, flag: str) -> int:
    """WrongUsage unless it is a moment."""
    found = parse_moment(text, int(time.time() * 1000))
    if found is None:
        raise WrongUsage(
            f"{flag} {text} is no time: write 2026-11-18T12:00:00 (with Z or +01:00 behind it, or else in local time), "
            "12:30, or 90s, 10m, 2h, 1d for so long ago"
        )
    return found


def parse_moment(text: str, now_ms: int) -> int | None:
    """A time without a zone is local; a duration is before now."""
    text = text.strip()
    if text == "now":
        return now_ms
    if re.fullmatch(r"\d+", text):
        return int(text)
    if _DURATION.fullmatch(text):
        return now_ms - int(sum(float(number) * _UNITS_MS[unit] for number, unit in _PART.findall(text)))
    try:
        return _date_and_time(text, now_ms)
    except (ValueError, OverflowError, OSError):
        return None


def _date_and_time(text: str, now_ms: int) -> int:
    if _CLOCK.fullmatch(text):
        hour, _, rest = text.partition(":")
        text = f"{datetime.fromtimestamp(now_ms / 1000):%Y-%m-%d}T{hour:0>2}:{rest}"
    # timedelta divides exactly, where a timestamp as a float would be off by a millisecond.
    return (datetime.fromisoformat(text).astimezone() - _EPOCH) // timedelta(milliseconds=1)


def written(timestamp_ms: int) -> str:
    """Local time, to the millisecond."""
    try:
        return f"{datetime.fromtimestamp(timestamp_ms / 1000):%Y-%m-%d %H:%M:%S}.{timestamp_ms % 1000:03}"
    except (ValueError, OverflowError, OSError):
        return str(timestamp_ms)
