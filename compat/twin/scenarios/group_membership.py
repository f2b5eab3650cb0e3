"""JoinGroup, SyncGroup, Heartbeat and LeaveGroup: members come, agree, stay and go."""

from __future__ import annotations

import struct
from typing import Any

from compat.twin.both import Both
from compat.twin.scenario import scenario
from compat.twin.twins import Conversation, Twins

# Kafka reads what members of the type consumer subscribe to, and a client hangs whose bytes it cannot read.
SUBSCRIBED = struct.pack(">hih6si", 0, 1, 6, b"orders", -1)
PROTOCOLS = [{"Name": "range", "Metadata": SUBSCRIBED}, {"Name": "sticky", "Metadata": SUBSCRIBED}]


def wanting(group: str, **fields: Any) -> dict[str, Any]:
    """What a consumer sends that wants to be a member."""
    return {
        "GroupId": group,
        "SessionTimeoutMs": 10_000,
        "RebalanceTimeoutMs": 10_000,
        "MemberId": "",
        "ProtocolType": "consumer",
        "Protocols": PROTOCOLS,
        **fields,
    }


def joined(twins: Twins, group: str, at: int | None = None, **fields: Any) -> Both:
    """A member on its own; where the version asks for that, at the second try with the id that the first one got."""
    answer = twins.ask("JoinGroup", at=at, **wanting(group, **fields))
    if (twins.version_of("JoinGroup") if at is None else at) >= 4:
        answer = twins.ask("JoinGroup", at=at, **wanting(group, **{**fields, "MemberId": answer["MemberId"]}))
    return answer


def stable(twins: Twins, group: str) -> Both:
    """A group of one member that has its assignment."""
    member = joined(twins, group, at=5)
    assignments = [{"MemberId": member["MemberId"], "Assignment": b"all of it"}]
    twins.ask("SyncGroup", at=3, GroupId=group, GenerationId=1, MemberId=member["MemberId"], Assignments=assignments)
    return member


@scenario("JoinGroup")
def alone(twins: Twins) -> None:
    joined(twins, twins.name("group"))


@scenario("JoinGroup")
def refused(twins: Twins) -> None:
    group = twins.name("refused")
    wrong: tuple[dict[str, Any], ...] = (
        {"GroupId": ""},
        {"MemberId": "nobody"},
        {"SessionTimeoutMs": 1},
        {"SessionTimeoutMs": 2**31 - 1},
        {"ProtocolType": ""},
        {"Protocols": []},
        {"SessionTimeoutMs": 1, "GroupId": ""},
        {"MemberId": "nobody", "Protocols": []},
    )
    for fields in wrong:
        twins.ask("JoinGroup", **wanting(group, **fields))


@scenario("JoinGroup", first=4)
def two_members(twins: Twins) -> None:
    """The first is told to join again, the second waits for it."""
    group = twins.name("two")
    first = stable(twins, group)
    second: Conversation = twins.another()
    identity = second.ask("JoinGroup", **wanting(group))["MemberId"]
    second.send("JoinGroup", **wanting(group, MemberId=identity))
    twins.see("Heartbeat", at=4, GroupId=group, GenerationId=1, MemberId=first["MemberId"])
    twins.ask("JoinGroup", **wanting(group, MemberId=first["MemberId"]))
    second.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("Heartbeat")
def beats(twins: Twins) -> None:
    group = twins.name("beats")
    member = stable(twins, group)["MemberId"]
    asked: tuple[dict[str, Any], ...] = (
        {},
        {"GenerationId": 0},
        {"GenerationId": 2},
        {"GenerationId": -1},
        {"MemberId": "nobody"},
        {"MemberId": ""},
        {"GroupId": twins.name("nowhere")},
        {"GroupId": ""},
        {"GroupInstanceId": "static"},
        {"MemberId": "nobody", "GenerationId": 7},
    )
    for fields in asked:
        twins.ask("Heartbeat", **{"GroupId": group, "GenerationId": 1, "MemberId": member, **fields})
