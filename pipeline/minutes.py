"""Minutes, by which every tier counts: numbers since 1970, in UTC."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

__all__ = ["MINUTE_MS", "minute_of", "minute_shown", "minute_text"]

MINUTE_MS = 60_000
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def minute_of(timestamp_ms: int) -> int:
    return timestamp_ms // MINUTE_MS


def minute_text(minute: int) -> str:
    """As 2026-11-19T11:48:00Z."""
    try:
        return f"{_EPOCH + timedelta(minutes=minute):%Y-%m-%dT%H:%M}:00Z"
    except OverflowError:
        return f"minute {minute}"


def minute_shown(minute: int) -> str:
    """As 2026-11-19 11:48, which is UTC."""
    return minute_text(minute).replace("T", " ").removesuffix(":00Z")
