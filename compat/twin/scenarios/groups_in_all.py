"""FindCoordinator for groups, DescribeGroups, ListGroups and DeleteGroups: what administrators ask of groups."""

from __future__ import annotations

from typing import Any

from compat.twin.groups import entering, pair, protocols, stable, until_rebalancing, wanting
from compat.twin.scenario import scenario
from compat.twin.scenarios.group_offsets import at, commit, fetch_all, of
from compat.twin.twins import Twins

GROUP = 0
SEVERAL_KEYS_FROM = 4


def with_offsets(twins: Twins, readable: str) -> str:
    """A group without members."""
    topic, group = twins.create(readable), twins.name(readable)
    commit(twins, group, of(twins, topic, at(0, 1)))
    return group


def left(twins: Twins, group: str) -> None:
    member = stable(twins, group)
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": member}])


# FindCoordinator


@scenario("FindCoordinator")
def is_found(twins: Twins) -> None:
    for key in ("readers", "", " ", "grüße 🎈", "x" * 300):
        twins.ask("FindCoordinator", Key=key, KeyType=GROUP, CoordinatorKeys=[key])


@scenario("FindCoordinator", first=1)
def is_found_of_no_other_kind(twins: Twins) -> None:
    for kind in (3, 7, -1, 127):
        twins.ask("FindCoordinator", Key="readers", KeyType=kind, CoordinatorKeys=["readers", "writers"])


@scenario("FindCoordinator", first=SEVERAL_KEYS_FROM)
def several_are_found(twins: Twins) -> None:
    twins.ask("FindCoordinator", KeyType=GROUP, CoordinatorKeys=["one", "other", "one", ""])
    twins.ask("FindCoordinator", KeyType=GROUP, CoordinatorKeys=[])


# DescribeGroups


@scenario("DescribeGroups")
def is_described_in_every_state(twins: Twins) -> None:
    group = twins.name("states")
    twins.ask("DescribeGroups", Groups=[group])
    leader, follower = pair(twins, group, syncs=False)
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("SyncGroup", at=3, GroupId=group, GenerationId=2, MemberId=leader)
    twins.see("DescribeGroups", Groups=[group])
    entering(twins, twins.another(), group, at=5)
    until_rebalancing(twins, group, 2, leader)
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": each} for each in (leader, follower)])
    twins.see("DescribeGroups", Groups=[group])


@scenario("DescribeGroups")
def is_described_when_it_has_only_offsets(twins: Twins) -> None:
    group = with_offsets(twins, "offsets")
    twins.see("DescribeGroups", Groups=[group])


@scenario("DescribeGroups")
def is_described_when_all_have_left(twins: Twins) -> None:
    group = twins.name("left")
    left(twins, group)
    twins.see("DescribeGroups", Groups=[group])


@scenario("DescribeGroups")
def several_are_described(twins: Twins) -> None:
    group, other = twins.name("several"), twins.name("other")
    stable(twins, group)
    left(twins, other)
    twins.see("DescribeGroups", Groups=[group, twins.name("nowhere"), "", other, group])
    twins.see("DescribeGroups", Groups=[])


@scenario("DescribeGroups", first=3)
def is_described_with_what_one_may(twins: Twins) -> None:
    group = twins.name("may")
    stable(twins, group)
    twins.see("DescribeGroups", Groups=[group, twins.name("nowhere")], IncludeAuthorizedOperations=True)


@scenario("DescribeGroups", first=4)
def is_described_with_static_members(twins: Twins) -> None:
    group = twins.name("static")
    pair(twins, group, fields=({"GroupInstanceId": "one"}, {"GroupInstanceId": "two"}))
    twins.see("DescribeGroups", Groups=[group])


@scenario("DescribeGroups")
def is_described_without_being_understood(twins: Twins) -> None:
    group = twins.name("bytes")
    stable(twins, group, ProtocolType="x", Protocols=protocols("y", metadata=bytes(range(256))))
    twins.see("DescribeGroups", Groups=[group])


# ListGroups


@scenario("ListGroups")
def are_listed(twins: Twins) -> None:
    stable(twins, twins.name("listed"))
    left(twins, twins.name("left"))
    with_offsets(twins, "offsets")
    stable(twins, twins.name("connect"), ProtocolType="connect")
    pair(twins, twins.name("completing"), syncs=False)
    twins.see("ListGroups")


@scenario("ListGroups", first=4)
def are_listed_by_state(twins: Twins) -> None:
    stable(twins, twins.name("listed"))
    left(twins, twins.name("left"))
    filters = (
        ["Stable"],
        ["Empty"],
        ["Stable", "Empty"],
        ["stable"],
        ["STABLE"],
        ["PreparingRebalance"],
        ["CompletingRebalance", "Dead"],
        ["NoSuchState"],
        [""],
        ["Stable", "Stable"],
        [" Stable "],
    )
    for states in filters:
        twins.see("ListGroups", StatesFilter=states)


@scenario("ListGroups", first=5)
def are_listed_by_type(twins: Twins) -> None:
    stable(twins, twins.name("listed"))
    for types in (["classic"], ["Classic"], ["consumer"], ["share"], ["streams"], ["nothing"], [""], ["classic", "x"]):
        twins.see("ListGroups", TypesFilter=types)
        twins.see("ListGroups", TypesFilter=types, StatesFilter=["Stable"])


# DeleteGroups


@scenario("DeleteGroups")
def are_deleted(twins: Twins) -> None:
    offsets, empty, member = with_offsets(twins, "offsets"), twins.name("empty"), twins.name("member")
    left(twins, empty)
    stable(twins, member)
    twins.ask("DeleteGroups", GroupsNames=[offsets, empty, member, twins.name("nowhere"), "", empty])
    twins.see("DescribeGroups", Groups=[offsets, empty, member])
    fetch_all(twins, offsets)
    twins.ask("DeleteGroups", GroupsNames=[offsets])
    twins.ask("DeleteGroups", GroupsNames=[])


@scenario("DeleteGroups")
def are_deleted_in_no_state_but_empty(twins: Twins) -> None:
    completing, preparing = twins.name("completing"), twins.name("preparing")
    pair(twins, completing, syncs=False)
    leader = stable(twins, preparing)
    entering(twins, twins.another(), preparing, at=5)
    until_rebalancing(twins, preparing, 1, leader)
    twins.ask("DeleteGroups", GroupsNames=[completing, preparing])


@scenario("DeleteGroups")
def are_deleted_under_who_is_about_to_come(twins: Twins) -> None:
    group = twins.name("about")
    wants: dict[str, Any] = wanting(group)
    pending = twins.ask("JoinGroup", at=5, **wants)["MemberId"]
    twins.ask("DeleteGroups", GroupsNames=[group])
    twins.ask("JoinGroup", at=5, **{**wants, "MemberId": pending})
    twins.see("DescribeGroups", Groups=[group])


@scenario("DeleteGroups")
def come_again_after_they_were_deleted(twins: Twins) -> None:
    group = twins.name("again")
    left(twins, group)
    twins.ask("DeleteGroups", GroupsNames=[group])
    stable(twins, group)
    twins.see("DescribeGroups", Groups=[group])
