"""Differences on purpose: known.toml, as narrowly as each can be said."""

from __future__ import annotations

import tomllib
from dataclasses import dataclass
from fnmatch import fnmatchcase
from pathlib import Path

from compat.twin.twins import Difference

__all__ = ["Known", "read_known"]

FILE = Path(__file__).with_name("known.toml")


@dataclass(frozen=True, slots=True)
class Known:
    scenario: str
    api: str
    place: str
    why: str
    reference: str = "*"
    """A pattern of what Kafka says, as Python would print it."""
    other: str = "*"

    def fits(self, difference: Difference) -> bool:
        pairs = (
            (difference.scenario, self.scenario),
            (difference.api, self.api),
            (difference.place, self.place.replace("[]", "[[]]")),
            (repr(difference.reference), self.reference),
            (repr(difference.other), self.other),
        )
        return all(fnmatchcase(text, pattern) for text, pattern in pairs)


def read_known() -> list[Known]:
    return [Known(**entry) for entry in tomllib.loads(FILE.read_text()).get("difference", [])]
