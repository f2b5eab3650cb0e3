"""JoinGroup and Heartbeat: members come, stay, and are told to come again."""

from __future__ import annotations

from typing import Any

from compat.twin.groups import (
    STAYS_MS,
    assigning,
    entering,
    joined,
    pair,
    protocols,
    stable,
    subscription,
    until_rebalancing,
    wanting,
)
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

LEAST_MS, MOST_MS = 6_000, 1_800_000
"""Kafka's defaults for sessions."""


@scenario("JoinGroup")
def alone(twins: Twins) -> None:
    group = twins.name("group")
    joined(twins, group)
    twins.see("DescribeGroups", Groups=[group])


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
        {"MemberId": "nobody", "SessionTimeoutMs": 1},
        {"MemberId": "nobody", "GroupInstanceId": "static"},
    )
    for fields in wrong:
        twins.ask("JoinGroup", **wanting(group, **fields))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def with_sessions_at_their_limits(twins: Twins) -> None:
    for timeout_ms in (-1, 0, LEAST_MS - 1, MOST_MS, MOST_MS + 1):
        joined(twins, twins.name(f"session{timeout_ms}"), SessionTimeoutMs=timeout_ms)


@scenario("JoinGroup")
def a_group_that_is_refused_leaves_something_behind(twins: Twins) -> None:
    group = twins.name("behind")
    twins.ask("JoinGroup", **wanting(group, Protocols=[]))
    twins.see("DescribeGroups", Groups=[group])
    joined(twins, group)
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def groups_of_odd_names(twins: Twins) -> None:
    for name in (" ", ".", "a b/c\\d", "grüße 🎈", "x" * 300, "__consumer_offsets"):
        group = twins.name(name)
        joined(twins, group)
        twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def of_another_type(twins: Twins) -> None:
    """Kafka reads nothing of what others than consumers say."""
    group = twins.name("connect")
    joined(twins, group, ProtocolType="connect", Protocols=protocols("default", metadata=b"\x00whatever"))
    twins.see("DescribeGroups", Groups=[group])
    twins.another().ask("JoinGroup", **wanting(group))
    twins.another().ask("JoinGroup", **wanting(group, ProtocolType="connect"))


@scenario("JoinGroup")
def of_what_others_do_not_speak(twins: Twins) -> None:
    group = twins.name("mismatch")
    stable(twins, group)
    other = twins.another()
    wrong: tuple[dict[str, Any], ...] = (
        {"Protocols": protocols("roundrobin")},
        {"Protocols": []},
        {"ProtocolType": "connect"},
        {"ProtocolType": ""},
        {"ProtocolType": "connect", "MemberId": "nobody"},
    )
    for fields in wrong:
        other.ask("JoinGroup", **wanting(group, **fields))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def with_much_to_say(twins: Twins) -> None:
    group = twins.name("much")
    topics = subscription(*(f"topic-{number}" for number in range(2_000)))
    joined(twins, group, Protocols=protocols(*(f"protocol-{number}" for number in range(10)), metadata=topics))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def two_members(twins: Twins) -> None:
    """The first is told to join again, the second waits for it."""
    group = twins.name("two")
    first, second = stable(twins, group), twins.another()
    entering(twins, second, group)
    until_rebalancing(twins, group, 1, first)
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("JoinGroup", **wanting(group, MemberId=first))
    second.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def the_protocol_that_most_want(twins: Twins) -> None:
    group = twins.name("votes")
    first, second = stable(twins, group, Protocols=protocols("range", "sticky")), twins.another()
    entering(twins, second, group, Protocols=protocols("cooperative", "sticky", "range"))
    until_rebalancing(twins, group, 1, first)
    twins.ask("JoinGroup", **wanting(group, MemberId=first, Protocols=protocols("sticky", "range")))
    second.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def the_leader_again(twins: Twins) -> None:
    """By which a leader says that it wants to assign anew, whether it says something new or not."""
    group = twins.name("leader")
    member = stable(twins, group)
    said: tuple[dict[str, Any], ...] = (
        {},
        {"Protocols": protocols("range")},
        {"Protocols": protocols("range"), "SessionTimeoutMs": STAYS_MS + 1},
        {"Protocols": protocols("sticky", metadata=subscription("payments")), "Reason": "there is a new topic"},
        {"Protocols": []},
        {"ProtocolType": "connect"},
    )
    for fields in said:
        twins.ask("JoinGroup", **wanting(group, MemberId=member, **fields))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def a_follower_again(twins: Twins) -> None:
    """With nothing new it is told what there is; with something new all have to come again."""
    group = twins.name("follower")
    leader, follower = pair(twins, group)
    twins.ask("JoinGroup", **wanting(group, MemberId=follower))
    twins.ask("JoinGroup", **wanting(group, MemberId=follower, SessionTimeoutMs=STAYS_MS - 1))
    other = twins.another()
    other.send("JoinGroup", **wanting(group, MemberId=follower, Protocols=protocols("range")))
    until_rebalancing(twins, group, 2, leader)
    twins.ask("JoinGroup", **wanting(group, MemberId=leader))
    other.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def while_the_assignment_is_awaited(twins: Twins) -> None:
    group = twins.name("completing")
    leader, follower = pair(twins, group, syncs=False)
    twins.see("DescribeGroups", Groups=[group])
    for member in (leader, follower):
        twins.ask("JoinGroup", **wanting(group, MemberId=member))
    twins.ask("JoinGroup", **wanting(group, MemberId="nobody"))
    twins.ask("SyncGroup", **assigning(group, 2, leader, follower))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=4)
def with_an_id_that_was_given_out(twins: Twins) -> None:
    """It stands in for a member until somebody comes with it."""
    group = twins.name("pending")
    one = twins.ask("JoinGroup", **wanting(group))["MemberId"]
    two = twins.ask("JoinGroup", **wanting(group))["MemberId"]
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("Heartbeat", GroupId=group, GenerationId=0, MemberId=one)
    twins.ask("SyncGroup", **assigning(group, 0, one))
    twins.ask("JoinGroup", **wanting(group, MemberId=two, Protocols=[]))
    twins.ask("LeaveGroup", GroupId=group, Members=[{"MemberId": one}])
    twins.ask("JoinGroup", **wanting(group, MemberId=one))
    twins.ask("JoinGroup", **wanting(group, MemberId=two))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup")
def a_group_that_is_full(twins: Twins) -> None:
    """Four may be in a group here."""
    group = twins.name("full")
    members = [twins.another() for _ in range(3)]
    first = stable(twins, group)
    for number, member in enumerate(members):
        entering(twins, member, group, at=3)
        twins.see(
            "DescribeGroups",
            at=5,
            until=lambda answer, wanted=number + 2: len(answer["Groups"][0]["Members"]) == wanted,  # type: ignore[misc]
            Groups=[group],
        )
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=first))
    for member in members:
        member.receive()
    twins.another().ask("JoinGroup", **wanting(group))
    twins.another().ask("JoinGroup", **wanting(group, GroupInstanceId="static", MemberId=""))
    twins.ask("JoinGroup", **wanting(group, MemberId="nobody"))
    twins.see("DescribeGroups", Groups=[group])


@scenario("Heartbeat")
def beats(twins: Twins) -> None:
    group = twins.name("beats")
    member = stable(twins, group)
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
        {"GroupInstanceId": ""},
        {"MemberId": "nobody", "GenerationId": 7},
        {"MemberId": "nobody", "GroupInstanceId": "static"},
    )
    for fields in asked:
        twins.ask("Heartbeat", **{"GroupId": group, "GenerationId": 1, "MemberId": member, **fields})


@scenario("Heartbeat")
def beats_in_a_rebalance(twins: Twins) -> None:
    group = twins.name("rebalance")
    leader, follower = pair(twins, group, syncs=False)
    for generation in (1, 2, 3):
        twins.ask("Heartbeat", GroupId=group, GenerationId=generation, MemberId=follower)
    twins.ask("SyncGroup", **assigning(group, 2, leader, follower))
    twins.ask("Heartbeat", GroupId=group, GenerationId=2, MemberId=follower)
    entering(twins, twins.another(), group, at=5)
    until_rebalancing(twins, group, 2, leader)
    for member in (leader, follower, "nobody"):
        twins.ask("Heartbeat", GroupId=group, GenerationId=2, MemberId=member)


@scenario("Heartbeat")
def beats_of_who_has_left(twins: Twins) -> None:
    group = twins.name("left")
    member = stable(twins, group)
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": member}])
    for generation in (0, 1, 2):
        twins.ask("Heartbeat", GroupId=group, GenerationId=generation, MemberId=member)
