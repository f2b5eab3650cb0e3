"""LeaveGroup: who goes, and what the others learn of it."""

from __future__ import annotations

from typing import Any

from compat.twin.both import Both
from compat.twin.groups import entering, pair, stable, until_rebalancing, wanting
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

FROM_THEN_ON_SEVERAL = 3


def leaving(group: str, *members: Both | str, **fields: Any) -> dict[str, Any]:
    """Of one member, up to version 2, the first."""
    several = [{"MemberId": member, "Reason": "it is late"} for member in members]
    return {"GroupId": group, "MemberId": members[0], "Members": several, **fields}


@scenario("LeaveGroup")
def the_only_one(twins: Twins) -> None:
    group = twins.name("only")
    member = stable(twins, group)
    twins.ask("LeaveGroup", **leaving(group, member))
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("LeaveGroup", **leaving(group, member))


@scenario("LeaveGroup")
def refused(twins: Twins) -> None:
    group = twins.name("refused")
    member = stable(twins, group)
    for name, who in (
        ("", member),
        (twins.name("nowhere"), member),
        (group, "nobody"),
        (group, ""),
        ("", ""),
    ):
        twins.ask("LeaveGroup", **leaving(name, who))
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup")
def the_leader_of_two(twins: Twins) -> None:
    """The other is told to come again, and leads."""
    group = twins.name("leader")
    leader, follower = pair(twins, group)
    twins.ask("LeaveGroup", **leaving(group, leader))
    until_rebalancing(twins, group, 2, follower)
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=follower))
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup")
def a_follower(twins: Twins) -> None:
    group = twins.name("follower")
    leader, follower = pair(twins, group)
    twins.ask("LeaveGroup", **leaving(group, follower))
    until_rebalancing(twins, group, 2, leader)
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup")
def who_was_waited_for(twins: Twins) -> None:
    """Those who have come again are answered at once."""
    group = twins.name("waited")
    first, second = stable(twins, group), twins.another()
    entering(twins, second, group, at=5)
    until_rebalancing(twins, group, 1, first)
    twins.ask("LeaveGroup", **leaving(group, first))
    second.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup")
def before_the_assignment(twins: Twins) -> None:
    group = twins.name("before")
    leader, follower = pair(twins, group, syncs=False)
    twins.ask("LeaveGroup", **leaving(group, follower))
    until_rebalancing(twins, group, 2, leader)
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=leader))
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup")
def who_has_not_come_yet(twins: Twins) -> None:
    """It has been given an id, and no more."""
    group = twins.name("pending")
    pending = twins.ask("JoinGroup", at=5, **wanting(group))["MemberId"]
    twins.ask("LeaveGroup", **leaving(group, pending))
    twins.ask("LeaveGroup", **leaving(group, pending))
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=pending))
    twins.see("DescribeGroups", Groups=[group])


@scenario("LeaveGroup", first=FROM_THEN_ON_SEVERAL)
def several_at_once(twins: Twins) -> None:
    group = twins.name("several")
    leader, follower = pair(twins, group)
    twins.ask("LeaveGroup", GroupId=group, Members=[])
    twins.ask("LeaveGroup", **leaving(group, "nobody", leader, leader, "", follower))
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("LeaveGroup", **leaving(group, leader, follower))
    twins.ask("LeaveGroup", **leaving(twins.name("nowhere"), leader, follower))
