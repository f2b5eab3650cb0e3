"""What a mirror was asked for."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from barnabas.cli.failures import WrongUsage
from barnabas.client.topics import INTERNAL_TOPICS

__all__ = ["Settings", "pattern_of"]

_OTHERS_OWN = ("__", "mirror.offsets")
"""Beginnings of names of topics that are a cluster's own, or the map of a mirror into it."""


@dataclass(frozen=True, slots=True)
class Settings:
    topics: re.Pattern[str]
    exclude: re.Pattern[str] | None
    prefix: str
    start_latest: bool
    groups: re.Pattern[str] | None
    configs: str
    replication_factor: int
    allow_loss: bool
    catch_up: bool
    offsets_topic: str
    fetch_bytes: int
    batch_bytes: int
    refresh_s: float
    groups_s: float
    heartbeat_s: float
    report_s: float
    patience_s: float

    def takes(self, topic: str) -> bool:
        if topic in INTERNAL_TOPICS or topic == self.offsets_topic or topic.startswith(_OTHERS_OWN):
            return False
        if self.exclude is not None and self.exclude.fullmatch(topic):
            return False
        return self.topics.fullmatch(topic) is not None

    def takes_group(self, group: str) -> bool:
        return self.groups is not None and self.groups.fullmatch(group) is not None


def pattern_of(words: Iterable[str], what: str) -> re.Pattern[str] | None:
    """One that fits is enough. None if there are none."""
    parts = [f"(?:{word})" for word in words]
    for part in parts:
        try:
            re.compile(part)
        except re.error as error:
            raise WrongUsage(f"{what} {part[3:-1]} is no regular expression ({error})") from None
    return re.compile("|".join(parts)) if parts else None
