"""Waiting until the broker has what a test expects; if it does not come, the error says what there is instead."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

import trio

from barnabas.broker.auto_creation import OFFSETS_TOPIC
from barnabas.testing.groups import Group, describe_groups, fetch_group_offsets
from barnabas.testing.reading import Reader
from barnabas.testing.record import Record

if TYPE_CHECKING:
    from barnabas.broker.node import Node
    from barnabas.replication.watermark import Watermark
    from barnabas.testing.host import Host

__all__ = ["PATIENCE_S", "NotInTime", "wait_for_group", "wait_for_offset", "wait_for_records"]

PATIENCE_S = 5.0
"""If nothing else is said."""
_SHOWN = 10
_SHOWN_LETTERS = 60


class NotInTime(AssertionError, TimeoutError):  # noqa: N818 - like BrokerFailed
    """What was waited for has not come."""


async def wait_for_records(
    host: Host, reader: Reader, count: int, timeout_s: float, matching: Callable[[Record], object] | None
) -> list[Record]:
    found: list[Record] = []
    everything: list[Record] = []
    with trio.move_on_after(timeout_s):
        while True:
            with host.watching(reader.bounds) as news:
                if host.is_up:
                    everything = await reader.read(host.node)
                    found = everything if matching is None else [one for one in everything if matching(one)]
                    if len(found) >= count:
                        return found
                await news.wait()
    wanted = "record" if matching is None else "matching record"
    problem = f"{reader.topic} has {_counted(len(found), wanted)} after {timeout_s:g} s, not {count}"
    raise NotInTime(f"{problem}: {_told(host, reader, everything)}")


async def wait_for_group(host: Host, group_id: str, members: int, timeout_s: float) -> Group:
    """Until it is stable with so many: each has been given its partitions."""
    group: Group | None = None
    with trio.move_on_after(timeout_s):
        while True:
            with host.watching(_offsets_ends) as news:
                if host.is_up:
                    group = (await describe_groups(host.node)).get(group_id)
                    if _is_as_wanted(group, members):
                        assert group is not None
                        return group
                await news.wait()
    if group is None:
        raise NotInTime(f"after {timeout_s:g} s there is no group {group_id}")
    names = ", ".join(f"{member.client_id} {list(member.partitions)}" for member in group.members) or "nobody"
    raise NotInTime(
        f"group {group_id} does not have {_counted(members, 'member')} after {timeout_s:g} s: "
        f"it is {group.state}, with {names}"
    )


def _is_as_wanted(group: Group | None, members: int) -> bool:
    if group is None:
        return False
    return len(group.members) == members and group.state == ("Stable" if members else "Empty")


async def wait_for_offset(
    host: Host, group_id: str, topic: str, partition: int, offset: int, timeout_s: float
) -> dict[tuple[str, int], int]:
    """Until the group has committed it, or a later one."""
    offsets: dict[tuple[str, int], int] = {}
    with trio.move_on_after(timeout_s):
        while True:
            with host.watching(_offsets_ends) as news:
                if host.is_up:
                    offsets = await fetch_group_offsets(host.node, group_id)
                    if offsets.get((topic, partition), -1) >= offset:
                        return offsets
                await news.wait()
    raise NotInTime(
        f"group {group_id} has not committed offset {offset} of {topic}-{partition} after {timeout_s:g} s: "
        f"it has {offsets or 'no offsets at all'}"
    )


def _offsets_ends(node: Node) -> Iterable[Watermark]:
    """Whatever becomes of a group, it is written there when it counts."""
    return [partition.high_watermark for partition in node.partitions if partition.name.topic == OFFSETS_TOPIC]


# What there is instead


def _counted(number: int, what: str) -> str:
    return f"{number or 'no'} {what}{'' if number == 1 else 's'}"


def _told(host: Host, reader: Reader, records: Sequence[Record]) -> str:
    if not host.is_up:
        return "the broker is down"
    if reader.topic not in host.node.image.topics.by_name:
        others = ", ".join(sorted(topic.name for topic in host.node.image.topics)) or "none"
        return f"there is no such topic; there are: {others}"
    if not records:
        return "it is empty"
    lines = [_line(record) for record in records[-_SHOWN:]]
    if len(records) > _SHOWN:
        lines.insert(0, f"({len(records) - _SHOWN} before these)")
    return "\n  ".join(["", *lines])


def _line(record: Record) -> str:
    return f"{record.topic}-{record.partition} @{record.offset} key={_short(record.key)} value={_short(record.value)}"


def _short(value: bytes | None) -> str:
    shown = repr(value)
    return shown if len(shown) <= _SHOWN_LETTERS else f"{shown[:_SHOWN_LETTERS]}… ({len(value or b'')} bytes)"
