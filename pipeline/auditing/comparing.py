"""What the tiers have counted, held against each other: what is missing, what is there twice, and what only waits.

Pure. The tiers are producers (what brokers have acknowledged to them), the broker, the lake's raw records, and those of
them that are decoded or quarantined.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from barnabas.pipeline.auditing.findings import Finding, Kind, Tier

__all__ = ["Minute", "Total", "compare", "totals"]


@dataclass(frozen=True, kw_only=True)
class Minute:
    """What is known of the records of one topic with timestamps of one minute."""

    topic: str
    minute: int
    produced: int | None = None
    """What producers have counted; None where none of them counts."""
    uncertain: int = 0
    """What they sent, and was not acknowledged: it may or may not be there."""
    broker: int = 0
    """What it has today."""
    known: int = 0
    """What it has today, or had when it was landed."""
    landed: int = 0
    """What the lake has, each record once."""
    waiting: int = 0
    """What is in the broker alone, behind the lake's end."""
    before: int = 0
    """What is in the broker alone, from before the lake's beginning."""
    duplicates: int = 0
    quarantined: int = 0
    undecoded: int = 0
    """What of the lake should be decoded or quarantined, and is neither."""
    decoded_twice: int = 0

    @property
    def missing(self) -> int:
        return self.known - self.landed - self.waiting - self.before

    @property
    def short(self) -> int:
        """What was acknowledged, and is nowhere."""
        return max(0, (self.produced or 0) - self.known)


@dataclass(frozen=True, kw_only=True)
class Total:
    """All minutes of a topic."""

    topic: str
    produced: int | None
    uncertain: int
    uncounted: int
    broker: int
    landed: int
    waiting: int
    quarantined: int
    short: int
    missing: int
    duplicates: int
    undecoded: int
    forgotten: int
    """What producers counted, and the broker had deleted before the lake began, or compacted."""

    @property
    def expected(self) -> int:
        """What there should be in the lake by now."""
        return self.landed + self.missing + self.short

    @property
    def in_broker(self) -> float:
        """The share of what was acknowledged that the broker has, or had when it was landed."""
        return _share(self.expected + self.waiting - self.short, self.expected + self.waiting)

    @property
    def in_lake(self) -> float:
        return _share(self.landed, self.expected)

    @property
    def in_tables(self) -> float:
        """The share of the lake that is decoded, or quarantined."""
        return _share(self.landed - self.undecoded, self.landed)


def compare(minutes: Iterable[Minute], deleted_until: Mapping[str, float]) -> list[Finding]:
    """`deleted_until`: of topics of which the broker has deleted records, the last minute that these may have been."""
    found: list[Finding] = []
    for one in sorted(minutes, key=lambda each: (each.topic, each.minute)):
        short = 0 if _is_forgotten(one, deleted_until) else one.short
        counts: tuple[tuple[Tier, Kind, int], ...] = (
            ("broker", "missing", short),
            ("lake", "missing", one.missing),
            ("lake", "duplicate", one.duplicates),
            ("decoded", "missing", one.undecoded),
            ("decoded", "duplicate", one.decoded_twice),
        )
        found += [Finding(tier, kind, one.topic, one.minute, count) for tier, kind, count in counts if count > 0]
    return found


def totals(minutes: Iterable[Minute], deleted_until: Mapping[str, float]) -> list[Total]:
    by_topic: dict[str, list[Minute]] = {}
    for one in minutes:
        by_topic.setdefault(one.topic, []).append(one)
    return [_total(topic, each, deleted_until) for topic, each in sorted(by_topic.items())]


def _total(topic: str, minutes: list[Minute], deleted_until: Mapping[str, float]) -> Total:
    counted = [one for one in minutes if one.produced is not None]
    forgotten = sum(one.short for one in minutes if _is_forgotten(one, deleted_until))
    return Total(
        topic=topic,
        produced=sum(one.produced or 0 for one in counted) if counted else None,
        uncertain=sum(one.uncertain for one in minutes),
        uncounted=sum(max(0, one.known - (one.produced or 0) - one.uncertain) for one in minutes) if counted else 0,
        broker=sum(one.broker for one in minutes),
        landed=sum(one.landed for one in minutes),
        waiting=sum(one.waiting for one in minutes),
        quarantined=sum(one.quarantined for one in minutes),
        short=sum(one.short for one in minutes) - forgotten,
        missing=sum(one.missing for one in minutes),
        duplicates=sum(one.duplicates for one in minutes),
        undecoded=sum(one.undecoded for one in minutes),
        forgotten=forgotten,
    )


def _is_forgotten(one: Minute, deleted_until: Mapping[str, float]) -> bool:
    return one.minute <= deleted_until.get(one.topic, float("-inf"))


def _share(part: int, whole: int) -> float:
    return part / whole if whole else 1.0
