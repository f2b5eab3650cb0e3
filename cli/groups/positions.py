"""Where a group stands in each partition: what it has committed, where the partition ends, who reads it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from typing import Any

from barnabas.client.cluster import Partition
from barnabas.client.committed import Offsets
from barnabas.client.groups import Group, Member

__all__ = ["Position", "positions_of"]


@dataclass(frozen=True, slots=True)
class Position:
    topic: str
    partition: int
    offset: int | None
    leader_epoch: int | None
    end: int | None
    """None: it has no leader now, or is no more."""
    lag: int | None
    consumer_id: str | None
    host: str | None
    client_id: str | None

    def as_json(self) -> dict[str, Any]:
        told = asdict(self)
        told["log_end_offset"] = told.pop("end")
        return told


def positions_of(group: Group, committed: Offsets, ends: Mapping[Partition, int | None]) -> list[Position]:
    """As Kafka's tool orders them: by member, those with the most partitions first, then what nobody has."""
    members = sorted((member for member in group.members if member.assigned), key=lambda each: -len(each.assigned))
    assigned = {partition for member in members for partition in member.assigned}
    rows: list[Position] = []
    for member in members:
        rows += _of(member.assigned, committed, ends, member)
    return rows + _of([partition for partition in committed if partition not in assigned], committed, ends, None)


def _of(
    partitions: Iterable[Partition],
    committed: Offsets,
    ends: Mapping[Partition, int | None],
    member: Member | None,
) -> list[Position]:
    rows = []
    for partition in sorted(partitions):
        known = committed.get(partition)
        end = ends.get(partition)
        rows.append(
            Position(
                partition.topic,
                partition.number,
                known.offset if known else None,
                known.leader_epoch if known else None,
                end,
                end - known.offset if known and end is not None else None,
                member.member_id if member else None,
                member.host if member else None,
                member.client_id if member else None,
            )
        )
    return rows
