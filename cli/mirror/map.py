"""What the map of a mirror says: the records of its topic at the target, as JSON; pure.

A process that takes over writes who it is. What another one wrote behind that counts for nothing.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from barnabas.cli.mirror.runs import Runs
from barnabas.client.cluster import Partition
from barnabas.protocol.record import Record

__all__ = ["Heartbeat", "Map", "MapError", "Mirror", "Position", "forgotten_runs", "record_of", "runs_record"]


class MapError(ValueError):
    """The topic holds something else than a mirror's map."""


class Mirror(NamedTuple):
    """Whose map it is, and which process writes it."""

    source: str
    prefix: str
    session: str


class Position(NamedTuple):
    """By the partition at the source."""

    id: str
    target_id: str
    next: int
    """All before it is at the target."""
    target: int
    """Where the last of it ends there."""
    producer: tuple[int, int]
    """Id and epoch."""
    sequence: int
    """Of the first record that is not there."""
    plan: tuple[tuple[int, int], ...]
    """What is being sent with these sequence numbers: offsets, and how many records from there on."""
    end: int
    """What is next when all of that is there."""
    epoch: int
    """The leader epoch at the source of what is before it."""


class Heartbeat(NamedTuple):
    time_ms: int
    lag: int
    partitions: int
    records: int
    bytes: int


@dataclass(slots=True)
class Map:
    mirror: Mirror | None = None
    positions: dict[Partition, Position] = field(default_factory=dict)
    pairs: dict[tuple[Partition, str], dict[int, list[tuple[int, int]]]] = field(default_factory=dict)
    """Of a partition of a topic with that id: runs, by the offset that names their record."""
    heartbeat: Heartbeat | None = None

    def read(self, record: Record) -> None:
        key = _parsed(record.key)
        value = _parsed(record.value) if record.value is not None else None
        try:
            self._read(key, value)
        except (KeyError, TypeError, ValueError):
            raise MapError(f"the record at offset {record.offset} is none of a mirror's map") from None

    def _read(self, key: Mapping[str, Any], value: Mapping[str, Any] | None) -> None:
        kind = key["kind"]
        if kind == "mirror":
            self.mirror = None if value is None else Mirror(value["source"], value["prefix"], value["session"])
            return
        if kind == "heartbeat":
            self.heartbeat = None if value is None else Heartbeat(*(value[name] for name in Heartbeat._fields))
            return
        partition = Partition(str(key["topic"]), int(key["partition"]))
        if kind == "position":
            if value is None:
                self.positions.pop(partition, None)
            elif not self._is_late(value["session"]) or partition not in self.positions:
                self.positions[partition] = _position(value)
        elif kind == "runs":
            own = self.pairs.setdefault((partition, key["id"]), {})
            if value is None:
                own.pop(key["from"], None)
            else:
                own[key["from"]] = [(int(source), int(target)) for source, target in value["runs"]]

    def runs(self, partition: Partition, topic_id: str) -> Runs:
        found = self.pairs.get((partition, topic_id), {})
        return Runs(pair for _, pairs in sorted(found.items()) for pair in pairs)

    def written(self, partition: Partition, topic_id: str) -> dict[int, int]:
        """The records of runs: by their names the last offset in each."""
        found = self.pairs.get((partition, topic_id), {})
        return {name: pairs[-1][0] for name, pairs in found.items() if pairs}

    def _is_late(self, session: str) -> bool:
        """Whether its writer had been succeeded, and did not know yet: it has not sent what it planned there."""
        return self.mirror is not None and session != self.mirror.session


def _parsed(data: bytes | None) -> Any:
    try:
        return json.loads(data or b"")
    except ValueError:
        return {}


def _position(value: Mapping[str, Any]) -> Position:
    producer_id, epoch = value["producer"]
    return Position(
        str(value["id"]),
        str(value["target_id"]),
        int(value["next"]),
        int(value["target"]),
        (int(producer_id), int(epoch)),
        int(value["sequence"]),
        tuple((int(offset), int(count)) for offset, count in value["plan"]),
        int(value["end"]),
        int(value["epoch"]),
    )


def record_of(what: Mirror | Position | Heartbeat, now_ms: int, *, at: Partition | None = None, session: str) -> Record:
    value = what._asdict() | {"session": session}
    if isinstance(what, Mirror):
        return _record({"kind": "mirror"}, value, now_ms)
    if isinstance(what, Heartbeat):
        return _record({"kind": "heartbeat"}, value, now_ms)
    assert at is not None
    return _record({"kind": "position", "topic": at.topic, "partition": at.number}, value, now_ms)


def runs_record(at: Partition, topic_id: str, pairs: Iterable[tuple[int, int]], now_ms: int) -> Record:
    """Called by the first of them."""
    found = list(pairs)
    return _record(_runs_key(at, topic_id, found[0][0]), {"runs": found}, now_ms)


def forgotten_runs(at: Partition, topic_id: str, first: int, now_ms: int) -> Record:
    return _record(_runs_key(at, topic_id, first), None, now_ms)


def _runs_key(at: Partition, topic_id: str, first: int) -> dict[str, Any]:
    return {"kind": "runs", "topic": at.topic, "partition": at.number, "id": topic_id, "from": first}


def _record(key: Mapping[str, Any], value: Mapping[str, Any] | None, now_ms: int) -> Record:
    return Record(_json(key), None if value is None else _json(value), timestamp=now_ms)


def _json(value: Mapping[str, Any]) -> bytes:
    return json.dumps(value, separators=(",", ":"), ensure_ascii=False).encode()
