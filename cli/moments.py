"""Moments and durations as people and Kafka's tools write them."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta

from barnabas.cli.failures import WrongUsage

__all__ = ["duration_ms", "show_duration", "show_moment", "timestamp_ms"]

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MOMENT = re.compile(
    r"(?P<date>\d{4}-\d{2}-\d{2})"
    r"(?:[T ](?P<time>\d{2}:\d{2}(?::\d{2})?)(?:\.(?P<fraction>\d+))?(?P<zone>Z|[+-]\d{2}(?::?\d{2})?)?)?"
)
_ISO_DURATION = re.compile(
    r"(?P<sign>[+-])?P(?:(?P<days>[+-]?\d+)D)?"
    r"(?:T(?=.)(?:(?P<hours>[+-]?\d+)H)?(?:(?P<minutes>[+-]?\d+)M)?(?:(?P<seconds>[+-]?\d+(?:\.\d{0,9})?)S)?)?",
    re.IGNORECASE,
)
_SHORT_PART = re.compile(r"(\d+(?:\.\d+)?)(ms|s|m|h|d|w)")
_MS = {"ms": 1, "s": 1000, "m": 60_000, "h": 3_600_000, "d": 86_400_000, "w": 7 * 86_400_000}


def timestamp_ms(text: str) -> int:
    """`YYYY-MM-DDThh:mm:ss.sss`, in UTC unless it says `Z` or `+02:00`. Kafka wants all of it; a day, or a time without
    milliseconds, is understood here too."""
    match = _MOMENT.fullmatch(text.strip())
    if match is None:
        raise WrongUsage(f"{text} is no moment: write it as 2026-01-31T18:30:00.000, which is UTC, or with +02:00")
    fraction = match["fraction"] or "000"
    if len(fraction) != len("sss"):
        # Kafka takes .5 for five milliseconds.
        raise WrongUsage(f"{text} has no milliseconds of three digits, such as .500")
    zone = (match["zone"] or "Z").replace("Z", "+00:00")
    try:
        moment = datetime.fromisoformat(f"{match['date']}T{match['time'] or '00:00'}{zone}")
    except ValueError as error:
        raise WrongUsage(f"{text} is no moment: {error}") from None
    return (moment - _EPOCH) // timedelta(milliseconds=1) + int(fraction)


def duration_ms(text: str) -> int:
    """`PnDTnHnMn.nS`, as Java reads it, or `90m`, `1h30m`, `2d`."""
    iso = _ISO_DURATION.fullmatch(text.strip())
    if iso is not None and any(iso[unit] for unit in ("days", "hours", "minutes", "seconds")):
        whole = sum(int(iso[unit] or 0) * _MS[unit[0]] for unit in ("days", "hours", "minutes"))
        total = whole + round(float(iso["seconds"] or 0) * 1000)
        return -total if iso["sign"] == "-" else total
    parts = _SHORT_PART.findall(text.strip().lower())
    if parts and "".join(map("".join, parts)) == text.strip().lower():
        return round(sum(float(number) * _MS[unit] for number, unit in parts))
    raise WrongUsage(f"{text} is no duration: write it as P1DT2H30M, or as 1d, 2h30m, 90s")


def show_moment(timestamp: int) -> str:
    """In UTC, as timestamp_ms reads it."""
    if not -(2**46) < timestamp < 2**46:
        return str(timestamp)
    moment = _EPOCH + timedelta(milliseconds=timestamp)
    return f"{moment:%Y-%m-%dT%H:%M:%S}.{moment.microsecond // 1000:03}Z"


def show_duration(ms: float) -> str:
    """Its two largest parts."""
    seconds = round(ms / 1000)
    if abs(ms) < 10_000:
        return f"{ms / 1000:.1f}s"
    for unit, size, smaller, part in (("d", 86400, "h", 3600), ("h", 3600, "m", 60), ("m", 60, "s", 1)):
        if seconds >= size:
            rest = seconds % size // part
            return f"{seconds // size}{unit}{rest}{smaller}" if rest else f"{seconds // size}{unit}"
    return f"{seconds}s"
