"""What an audit finds, in sentences: which tier, which topic, which minute, and where it is known which offsets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from barnabas.pipeline.minutes import minute_shown

__all__ = ["Finding", "Kind", "Span", "Tier"]

Tier = Literal["broker", "lake", "decoded"]
Kind = Literal["missing", "duplicate", "deleted"]
_NAMED = 8


@dataclass(frozen=True)
class Span:
    """Offsets of one partition and minute, one after the other, with which the same is wrong."""

    partition: int
    first: int
    last: int

    def __str__(self) -> str:
        if self.first == self.last:
            return f"partition {self.partition} offset {self.first}"
        return f"partition {self.partition} offsets {self.first} to {self.last}"


@dataclass(frozen=True)
class Finding:
    tier: Tier
    kind: Kind
    topic: str
    minute: int | None
    """None of offsets whose records nobody has seen."""
    count: int
    spans: tuple[Span, ...] = ()
    more_spans: bool = False
    """Whether there are more than were looked at."""

    @property
    def sentence(self) -> str:
        when = "" if self.minute is None else f" {minute_shown(self.minute)}"
        return f"{self.topic}{when}: {self.what}."

    @property
    def what(self) -> str:
        offsets = ", ".join(map(str, self.spans[:_NAMED]))
        if len(self.spans) > _NAMED or self.more_spans:
            offsets += " and more"
        return f"{self._wrong()}: {offsets}" if offsets else self._wrong()

    def _wrong(self) -> str:
        one = self.count == 1
        records = "1 record" if one else f"{self.count:,} records"
        is_or_are = "is" if one else "are"
        if self.kind == "deleted":
            return "deleted by the broker before it was in the lake"
        if self.kind == "duplicate":
            return f"{records} {is_or_are} in the {self.tier} once too often"
        if self.tier == "broker":
            return f"{records} that producers counted {is_or_are} missing in the broker and in the lake"
        if self.tier == "decoded":
            return f"{records} of the lake {is_or_are} neither decoded nor quarantined"
        return f"{records} of the broker {is_or_are} missing in the lake"
