"""What scenarios about groups have in common: members that come, agree and stay."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from typing import Any

from compat.twin.both import Both
from compat.twin.twins import Conversation, Twins

__all__ = ["assigning", "entering", "joined", "pair", "protocols", "stable", "subscription", "wanting"]

REBALANCE_IN_PROGRESS = 27
MEMBER_ID_REQUIRED_FROM = 4
STAYS_MS = 300_000
"""A member that says no more stays to the end of the run: who is there at what time is no question of luck."""


def subscription(*topics: str, version: int = 0) -> bytes:
    """What a consumer says to its leader. Kafka reads it for members of the type consumer, and a client hangs whose
    bytes it cannot read."""
    names = b"".join(struct.pack(">h", len(name)) + name.encode() for name in topics)
    return struct.pack(">hi", version, len(topics)) + names + struct.pack(">i", -1)


def protocols(*names: str, metadata: bytes = subscription("orders")) -> list[dict[str, Any]]:
    return [{"Name": name, "Metadata": metadata} for name in names]


def wanting(group: str, **fields: Any) -> dict[str, Any]:
    """What a consumer sends that wants to be a member."""
    return {
        "GroupId": group,
        "SessionTimeoutMs": STAYS_MS,
        "RebalanceTimeoutMs": STAYS_MS,
        "MemberId": "",
        "ProtocolType": "consumer",
        "Protocols": protocols("range", "sticky"),
        **fields,
    }


def joined(twins: Twins, group: str, at: int | None = None, **fields: Any) -> Both:
    """A member on its own; where the version asks for that, at the second try with the id that the first one got."""
    version = twins.version_of("JoinGroup") if at is None else at
    answer = twins.ask("JoinGroup", at=at, **wanting(group, **fields))
    if version >= MEMBER_ID_REQUIRED_FROM and "GroupInstanceId" not in fields:
        answer = twins.ask("JoinGroup", at=at, **wanting(group, **{**fields, "MemberId": answer["MemberId"]}))
    return answer


def entering(twins: Twins, guest: Conversation, group: str, at: int | None = None, **fields: Any) -> None:
    """Of one that has to wait for others: `guest.receive()` has the answer."""
    version = twins.version_of("JoinGroup") if at is None else at
    if version >= MEMBER_ID_REQUIRED_FROM and "GroupInstanceId" not in fields:
        fields["MemberId"] = guest.ask("JoinGroup", at=at, **wanting(group, **fields))["MemberId"]
    guest.send("JoinGroup", at=at, **wanting(group, **fields))


def until_rebalancing(twins: Twins, group: str, generation: int, member: Both) -> None:
    twins.see(
        "Heartbeat",
        at=4,
        until=lambda answer: bool(answer["ErrorCode"] == REBALANCE_IN_PROGRESS),
        GroupId=group,
        GenerationId=generation,
        MemberId=member,
    )


def assigning(group: str, generation: int, *members: Both | str, **fields: Any) -> dict[str, Any]:
    """What the first of the members sends as the leader."""
    assignments = [{"MemberId": member, "Assignment": b"part %d" % number} for number, member in enumerate(members)]
    return {
        "GroupId": group,
        "GenerationId": generation,
        "MemberId": members[0],
        "ProtocolType": "consumer",
        "ProtocolName": "range",
        "Assignments": assignments,
        **fields,
    }


def stable(twins: Twins, group: str, **fields: Any) -> Both:
    """The id of the one member of a group that has its assignment."""
    member = joined(twins, group, at=5, **fields)["MemberId"]
    twins.ask("SyncGroup", at=3, **assigning(group, 1, member))
    return member


def pair(twins: Twins, group: str, *, syncs: bool = True, fields: Sequence[dict[str, Any]] = ({}, {})) -> list[Both]:
    """The ids of two members, the leader first, in generation 2, and the other's connection is twins' last."""
    leader = stable(twins, group, **fields[0])
    guest = twins.another()
    entering(twins, guest, group, at=5, **fields[1])
    until_rebalancing(twins, group, 1, leader)
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=leader, **fields[0]))
    follower = guest.receive()["MemberId"]
    if syncs:
        twins.ask("SyncGroup", at=3, **assigning(group, 2, leader, follower))
        twins.ask("SyncGroup", at=3, GroupId=group, GenerationId=2, MemberId=follower)
    return [leader, follower]
