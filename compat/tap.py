"""What a client's program says of its checks, in the Test Anything Protocol, which every language can print.

    ok - codecs: zstd
    not ok - groups: a member leaves # expected 2 partitions, had 1
    ok - topics: partitions are added # SKIP this client has no call for it

The word before the colon is the feature; a number behind `ok` may be there or not. What else is printed is the client's
own talk, and is kept in the log.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from enum import Enum

__all__ = ["FEATURES", "Check", "Result", "checks_in"]

FEATURES = {
    "connect": "versions, brokers, errors at the door",
    "topics": "created, described, given partitions, deleted",
    "configs": "described and altered",
    "produce": "records as they went in, keys, headers, times, large ones, idempotence",
    "codecs": "each compression",
    "consume": "from the beginning, by offset, by time, paused",
    "groups": "members that join, leave, die, static ones, each assignor",
    "offsets": "committed by hand and by itself, read, reset",
    "records": "deleted",
    "next groups": "the protocol of KIP-848",
    "share groups": "records that are shared out one by one (KIP-932)",
    "transactions": "committed and aborted",
    "own suite": "what the client's authors test it with",
}
"""And what a column of the card is about."""

LINE = re.compile(r"^(not )?ok\b(?: \d+)?(?: -)? ([^:#]+): ([^#]*?)\s*(?:# ?(.*))?$")


class Result(Enum):
    PASSED = "passed"
    FAILED = "failed"
    SKIPPED = "skipped"
    UNADVERTISED = "not advertised"
    """Which no program says itself: advertised.py tells it from what failed."""


@dataclass(frozen=True, slots=True)
class Check:
    feature: str
    what: str
    result: Result
    why: str = ""

    @property
    def name(self) -> str:
        return f"{self.feature}: {self.what}"


def checks_in(lines: Iterable[str]) -> Iterator[Check]:
    for line in lines:
        found = LINE.match(line.rstrip())
        if found is None:
            continue
        failed, feature, what, why = found.groups(default="")
        if feature not in FEATURES:
            raise ValueError(f"{feature!r} is no feature of the card: {', '.join(FEATURES)}")
        result = Result.FAILED if failed else Result.PASSED
        if why.startswith("SKIP"):
            result, why = Result.SKIPPED, why.removeprefix("SKIP").strip()
        yield Check(feature, what.strip(), result, why)
