"""SyncGroup: the leader says what each member gets, and every member is told its own."""

from __future__ import annotations

from typing import Any

from compat.twin.groups import assigning, entering, joined, pair, stable, until_rebalancing
from compat.twin.scenario import scenario
from compat.twin.twins import Twins


@scenario("SyncGroup")
def of_the_leader(twins: Twins) -> None:
    """What it assigns a second time counts no more."""
    group = twins.name("leader")
    member = joined(twins, group, at=5)["MemberId"]
    twins.ask("SyncGroup", **assigning(group, 1, member))
    twins.ask("SyncGroup", **assigning(group, 1, member, Assignments=[{"MemberId": member, "Assignment": b"other"}]))
    twins.ask("SyncGroup", **assigning(group, 1, member, Assignments=[]))
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup")
def of_a_follower_that_comes_first(twins: Twins) -> None:
    """It waits for the leader, whatever it assigns itself."""
    group = twins.name("first")
    leader, follower = pair(twins, group, syncs=False)
    other = twins.another()
    other.send("SyncGroup", **assigning(group, 2, follower, Assignments=[{"MemberId": follower, "Assignment": b"I"}]))
    twins.ask("SyncGroup", **assigning(group, 2, leader, follower))
    other.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup")
def of_a_follower_that_comes_last(twins: Twins) -> None:
    group = twins.name("last")
    leader, follower = pair(twins, group, syncs=False)
    twins.ask("SyncGroup", **assigning(group, 2, leader, follower))
    twins.ask("SyncGroup", **assigning(group, 2, follower, Assignments=[]))
    twins.ask("SyncGroup", **assigning(group, 2, leader, follower, Assignments=[]))


@scenario("SyncGroup")
def that_forgets_or_invents_members(twins: Twins) -> None:
    group = twins.name("forgets")
    leader, follower = pair(twins, group, syncs=False)
    twins.ask("SyncGroup", **assigning(group, 2, leader, "nobody", ""))
    twins.ask("SyncGroup", **assigning(group, 2, follower, Assignments=[]))
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup")
def that_assigns_twice(twins: Twins) -> None:
    group = twins.name("twice")
    member = joined(twins, group, at=5)["MemberId"]
    assignments = [{"MemberId": member, "Assignment": each} for each in (b"one", b"two", b"three")]
    twins.ask("SyncGroup", **assigning(group, 1, member, Assignments=assignments))


@scenario("SyncGroup")
def of_many_bytes_and_of_none(twins: Twins) -> None:
    for size in (0, 1, 200_000):
        group = twins.name(f"bytes{size}")
        member = joined(twins, group, at=5)["MemberId"]
        assignments = [{"MemberId": member, "Assignment": b"x" * size}]
        twins.ask("SyncGroup", **assigning(group, 1, member, Assignments=assignments))
        twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup")
def refused(twins: Twins) -> None:
    group = twins.name("refused")
    member = joined(twins, group, at=5)["MemberId"]
    wrong: tuple[dict[str, Any], ...] = (
        {"GroupId": ""},
        {"GroupId": twins.name("nowhere")},
        {"GenerationId": 0},
        {"GenerationId": 2},
        {"GenerationId": -1},
        {"MemberId": "nobody"},
        {"MemberId": ""},
        {"MemberId": "nobody", "GenerationId": 7},
        {"GroupInstanceId": "static"},
    )
    for fields in wrong:
        twins.ask("SyncGroup", **{**assigning(group, 1, member), **fields})
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup", first=5)
def of_another_protocol(twins: Twins) -> None:
    group = twins.name("protocol")
    member = joined(twins, group, at=5)["MemberId"]
    wrong: tuple[dict[str, Any], ...] = (
        {"ProtocolType": "connect"},
        {"ProtocolType": ""},
        {"ProtocolType": None},
        {"ProtocolName": "sticky"},
        {"ProtocolName": ""},
        {"ProtocolName": None},
        {"ProtocolName": None, "GroupId": ""},
        {"ProtocolName": "sticky", "GenerationId": 7},
        {"ProtocolName": "sticky", "MemberId": "nobody"},
    )
    for fields in wrong:
        twins.ask("SyncGroup", **{**assigning(group, 1, member), **fields})
    twins.ask("SyncGroup", **assigning(group, 1, member))
    for fields in wrong:
        twins.ask("SyncGroup", **{**assigning(group, 1, member), **fields})


@scenario("SyncGroup")
def in_a_rebalance(twins: Twins) -> None:
    group = twins.name("rebalance")
    leader = stable(twins, group)
    entering(twins, twins.another(), group, at=5)
    until_rebalancing(twins, group, 1, leader)
    for generation in (0, 1, 2):
        twins.ask("SyncGroup", **assigning(group, generation, leader))
    twins.ask("SyncGroup", **assigning(group, 1, leader, MemberId="nobody"))


@scenario("SyncGroup")
def of_a_follower_that_a_rebalance_overtakes(twins: Twins) -> None:
    """It waits for an assignment, and is told to join again."""
    group = twins.name("overtaken")
    leader, follower = pair(twins, group, syncs=False)
    waiting = twins.another()
    waiting.send("SyncGroup", **assigning(group, 2, follower, Assignments=[]))
    twins.ask("Heartbeat", at=4, GroupId=group, GenerationId=2, MemberId=follower)
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": leader}])
    waiting.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup")
def of_who_has_left(twins: Twins) -> None:
    group = twins.name("left")
    member = stable(twins, group)
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": member}])
    for generation in (1, 2):
        twins.ask("SyncGroup", **assigning(group, generation, member))
