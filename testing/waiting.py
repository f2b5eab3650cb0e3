"""Waiting until the broker has what a test expects; if it does not come, the error says what there is instead."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

import trio

from barnabas.broker.auto_creation import OFFSETS_TOPIC
from barnabas.testing.errors import NotInTime, UnknownTopic
from barnabas.testing.groups import Group, describe_groups, fetch_group_offsets
from barnabas.testing.reading import Reader
from barnabas.testing.record import Record

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.replication.watermark import Watermark
    from barnabas.testing.host import Host

__all__ = [
    "PATIENCE_S",
    "check_waiting",
    "counted",
    "group_is_not_settled",
    "is_settled",
    "offset_is_not_committed",
    "shown",
    "wait_for_group",
    "wait_for_offset",
    "wait_for_records",
]

T = TypeVar("T")

PATIENCE_S = 5.0
"""If nothing else is said."""
_LOOK_S = 1.0
"""Who began to look in time may finish."""
_SHOWN = 10


async def wait_for_records(
    host: Host, reader: Reader, count: int, timeout_s: float, matching: Callable[[Record], object] | None
) -> list[Record]:
    check_waiting(count, timeout_s)
    found: list[Record] = []
    everything: list[Record] = []

    async def look(node: Node) -> list[Record] | None:
        nonlocal found, everything
        everything = await reader.read(node)
        found = everything if matching is None else [one for one in everything if matching(one)]
        return found if len(found) >= count else None

    if (enough := await _until(host, reader.bounds, look, timeout_s)) is not None:
        return enough
    wanted = "record" if matching is None else "matching record"
    problem = f"{reader.topic} has {counted(len(found), wanted)} after {timeout_s:g} s, not {count}"
    raise NotInTime(f"{problem}: {_told(host, reader, everything)}")


async def wait_for_group(host: Host, group_id: str, members: int, timeout_s: float) -> Group:
    """Until it is stable with so many: each has been given its partitions."""
    check_waiting(1, timeout_s)
    groups: dict[str, Group] = {}

    async def look(node: Node) -> Group | None:
        nonlocal groups
        groups = await describe_groups(node)
        group = groups.get(group_id)
        return group if group is not None and is_settled(group, members) else None

    if (settled := await _until(host, _offsets_ends, look, timeout_s)) is not None:
        return settled
    raise NotInTime(group_is_not_settled(groups, group_id, members, timeout_s))


def is_settled(group: Group, members: int) -> bool:
    return len(group.members) == members and group.state == ("Stable" if members else "Empty")


async def wait_for_offset(
    host: Host, group_id: str, topic: str, partition: int, offset: int, timeout_s: float
) -> dict[tuple[str, int], int]:
    """Until the group has committed it, or a later one."""
    check_waiting(1, timeout_s)
    offsets: dict[tuple[str, int], int] = {}

    async def look(node: Node) -> dict[tuple[str, int], int] | None:
        nonlocal offsets
        offsets = await fetch_group_offsets(node, group_id)
        return offsets if offsets.get((topic, partition), -1) >= offset else None

    if (committed := await _until(host, _offsets_ends, look, timeout_s)) is not None:
        return committed
    raise NotInTime(offset_is_not_committed(offsets, group_id, topic, partition, offset, timeout_s))


def check_waiting(count: int, timeout_s: float) -> None:
    if not isinstance(count, int) or count < 1:
        raise ValueError(f"count={count!r}: wait for 1 record or more; records() has what there is now")
    if not isinstance(timeout_s, int | float) or not timeout_s >= 0:
        raise ValueError(f"timeout={timeout_s!r}: it is a number of seconds, as 5 or 0.5")


async def _until(
    host: Host,
    watermarks: Callable[[Node], Iterable[Watermark]],
    look: Callable[[Node], Awaitable[T | None]],
    timeout_s: float,
) -> T | None:
    """What `look` finds, which looks at once, whenever there is news, and at the end; or None."""
    deadline = trio.current_time() + timeout_s
    with trio.move_on_at(deadline + _LOOK_S):
        while True:
            is_last = trio.current_time() >= deadline
            with host.watching(watermarks) as news:
                if host.is_up and (found := await look(host.node)) is not None:
                    return found
                if is_last:
                    return None
                with trio.move_on_at(deadline):
                    await news.wait()
    return None


def _offsets_ends(node: Node) -> Iterable[Watermark]:
    """Whatever becomes of a group, it is written there when it counts."""
    return [partition.high_watermark for partition in node.partitions if partition.name.topic == OFFSETS_TOPIC]


# What there is instead


def group_is_not_settled(groups: Mapping[str, Group], group_id: str, members: int, timeout_s: float) -> str:
    group = groups.get(group_id)
    if group is None:
        return f"after {timeout_s:g} s there is no group {group_id}; there are: {', '.join(groups) or 'none'}"
    names = ", ".join(f"{member.client_id} {_placed(member.partitions)}" for member in group.members) or "nobody"
    return (
        f"group {group_id} does not have {counted(members, 'member')} after {timeout_s:g} s: "
        f"it is {group.state}, with {names}"
    )


def _placed(partitions: Iterable[tuple[str, int]]) -> str:
    return f"[{', '.join(f'{topic}-{number}' for topic, number in partitions)}]"


def offset_is_not_committed(
    offsets: Mapping[tuple[str, int], int], group_id: str, topic: str, partition: int, offset: int, timeout_s: float
) -> str:
    there = ", ".join(f"{name}-{number} at {committed}" for (name, number), committed in sorted(offsets.items()))
    return (
        f"group {group_id} has not committed offset {offset} of {topic}-{partition} after {timeout_s:g} s: "
        f"it has {there or 'no offsets at all'}"
    )


def counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _told(host: Host, reader: Reader, records: Sequence[Record]) -> str:
    if not host.is_up:
        return "the broker is down"
    try:
        reader.check(host.node)
    except UnknownTopic as unknown:
        return str(unknown)
    return shown(records)


def shown(records: Sequence[Record]) -> str:
    if not records:
        return "it is empty"
    lines = [str(record) for record in records[-_SHOWN:]]
    if len(records) > _SHOWN:
        lines.insert(0, f"({len(records) - _SHOWN} before these)")
    return "\n  ".join(["", *lines])
