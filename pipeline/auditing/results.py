"""What an audit comes to, as values that a command prints and a report draws."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any

from msgspec import to_builtins

from barnabas.pipeline.auditing.comparing import Minute, Total
from barnabas.pipeline.auditing.findings import Finding
from barnabas.pipeline.minutes import minute_shown, minute_text

__all__ = ["LATENESS_MS", "Audit", "Delays", "Feed", "Highlights", "percent"]

LATENESS_MS = (1_000, 10_000, 60_000, 600_000, 3_600_000, 21_600_000, 86_400_000)


def percent(share: float) -> str:
    """100 % only where it is all."""
    return "100 %" if share == 1 else f"{min(math.floor(share * 1e5) / 1e3, 99.999):.3f} %"


@dataclass(frozen=True, kw_only=True)
class Delays:
    """Of one topic, in milliseconds: half are no longer, 99 of 100 are no longer, and the longest."""

    topic: str
    late_ms: tuple[int, int, int]
    """From when it happened until it was written."""
    landing_ms: tuple[int, int, int]
    """From when it was written until it was in the lake."""
    lateness: list[int]
    """How many records were late by up to each of LATENESS_MS, and in the end by more."""


@dataclass(frozen=True, kw_only=True)
class Audit:
    since: int | None
    """The first minute that was asked for; None: from the beginning."""
    until: int
    """The minute after the last."""
    minutes: list[Minute]
    findings: list[Finding]
    totals: list[Total]
    delays: list[Delays]
    notes: list[str] = field(default_factory=list)

    @property
    def is_complete(self) -> bool:
        return not self.findings

    @property
    def sentence(self) -> str:
        landed, waiting = sum(one.landed for one in self.totals), sum(one.waiting for one in self.totals)
        until = f"until {minute_shown(self.until)}"
        later = f" {waiting:,} more are not landed yet." if waiting else ""
        if self.is_complete:
            return f"Complete {until}: {landed:,} records, none missing, none twice.{later}"
        missing = sum(one.count for one in self.findings if one.kind == "missing")
        twice = sum(one.count for one in self.findings if one.kind == "duplicate")
        parts = [f"{count:,} {what}" for count, what in ((missing, "missing"), (twice, "once too often")) if count]
        if any(one.kind == "deleted" for one in self.findings):
            parts.append("offsets deleted before they were landed")
        return f"Incomplete {until}: {', '.join(parts)}.{later}"

    @property
    def remarks(self) -> list[str]:
        """What is no fault, and explains a figure."""
        said = [*self.notes]
        for one in self.totals:
            if one.uncounted:
                said.append(f"{one.topic}: {one.uncounted:,} records were counted by no producer.")
            if one.uncertain:
                said.append(
                    f"{one.topic}: {one.uncertain:,} records were sent and not acknowledged; they may be there."
                )
            if one.forgotten:
                said.append(
                    f"{one.topic}: {one.forgotten:,} counted records were deleted or compacted before they were landed."
                )
        return said

    def as_json(self) -> dict[str, Any]:
        minutes = [{**to_builtins(one), "minute": minute_text(one.minute)} for one in self.minutes]
        findings = [
            {
                **to_builtins(one),
                "minute": None if one.minute is None else minute_text(one.minute),
                "sentence": one.sentence,
            }
            for one in self.findings
        ]
        shares = ("in_broker", "in_lake", "in_tables")
        return {
            "event": "audit",
            "complete": self.is_complete,
            "sentence": self.sentence,
            "since": None if self.since is None else minute_text(self.since),
            "until": minute_text(self.until),
            "totals": [{**to_builtins(one), **{name: getattr(one, name) for name in shares}} for one in self.totals],
            "findings": findings,
            "delays": to_builtins(self.delays),
            "minutes": minutes,
            "remarks": self.remarks,
        }


@dataclass(frozen=True, kw_only=True)
class Feed:
    """One of [derive], over the whole time that was audited."""

    name: str
    source: str
    by: str
    top: list[tuple[str, int]] = field(default_factory=list)
    """The most frequent values."""
    rates: dict[str, dict[int, tuple[int, int]]] = field(default_factory=dict)
    """Of each value, by minute: how many, and how many failed."""


@dataclass(frozen=True)
class Highlights:
    lag: dict[int, tuple[int, int]]
    """By minute: how many milliseconds half of its records took into the lake, and the last of them."""
    feeds: list[Feed]
