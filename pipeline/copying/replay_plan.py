"""What a replay has been asked for, and what it holds on to from its first start on, so that it can go on."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime
from typing import Literal

import msgspec

from barnabas.pipeline.failures import PipelineFailed
from barnabas.pipeline.files import Files

__all__ = ["Asked", "Plan", "Plans"]


class Asked(msgspec.Struct, frozen=True, kw_only=True):
    topic: str
    to_topic: str
    since_ms: int
    until_ms: int
    by: Literal["event", "record"] = "event"
    partitions: Literal["same", "by-key"] = "same"

    def check(self) -> None:
        if self.since_ms >= self.until_ms:
            raise PipelineFailed(
                f"--since {_moment(self.since_ms)} is not before --until {_moment(self.until_ms)}: no record can be of "
                "that range."
            )

    @property
    def name(self) -> str:
        return hashlib.sha256(msgspec.json.encode(self)).hexdigest()[:16]


class Plan(msgspec.Struct, frozen=True, kw_only=True):
    asked: Asked
    landed_us: int
    """What has landed since is not replayed: it would come between records that have been."""
    counts: dict[int, int]
    """Of each partition of the target how many records."""
    oldest_ms: int
    bases: dict[int, int]
    """Where each began, at the first start."""

    @property
    def total(self) -> int:
        return sum(self.counts.values())


class Plans:
    """Of the replays that have not ended."""

    def __init__(self, files: Files) -> None:
        self._files = files

    def find(self, asked: Asked) -> Plan | None:
        if not self._files.exists(self._file(asked)):
            return None
        try:
            return msgspec.json.decode(self._files.read(self._file(asked)), type=Plan)
        except msgspec.MsgspecError:
            # A plan is written before the first record is sent.
            self._files.delete(self._file(asked))
            return None

    def keep(self, plan: Plan) -> None:
        self._files.create(self._file(plan.asked), msgspec.json.encode(plan).decode())

    def end(self, plan: Plan) -> None:
        self._files.delete(self._file(plan.asked))

    def uri(self, asked: Asked) -> str:
        return self._files.uri(self._file(asked))

    def _file(self, asked: Asked) -> str:
        return f"{asked.topic}-{asked.name}.json"


def _moment(ms: int) -> str:
    try:
        return datetime.fromtimestamp(ms / 1000, UTC).isoformat(timespec="milliseconds")
    except (OverflowError, ValueError, OSError):
        return str(ms)
