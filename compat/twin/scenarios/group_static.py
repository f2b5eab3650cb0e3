"""Static members: an instance id stays a member's own, whatever ids it is given."""

from __future__ import annotations

from compat.twin.both import Both
from compat.twin.groups import assigning, pair, protocols, stable, subscription, until_rebalancing, wanting
from compat.twin.scenario import scenario
from compat.twin.twins import Twins


def static(twins: Twins, group: str, instance: str = "one") -> Both:
    return stable(twins, group, GroupInstanceId=instance)


@scenario("JoinGroup", first=5)
def comes(twins: Twins) -> None:
    group = twins.name("comes")
    twins.ask("JoinGroup", **wanting(group, GroupInstanceId="one"))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def comes_back_without_its_id(twins: Twins) -> None:
    """In a stable group nobody else notices. Its old id is fenced."""
    group = twins.name("back")
    before = static(twins, group)
    after = twins.ask("JoinGroup", **wanting(group, GroupInstanceId="one"))["MemberId"]
    for member in (before, after):
        twins.ask("Heartbeat", GroupId=group, GenerationId=1, MemberId=member, GroupInstanceId="one")
        twins.ask("SyncGroup", **assigning(group, 1, member, GroupInstanceId="one"))
        twins.ask("JoinGroup", **wanting(group, MemberId=member, GroupInstanceId="one"))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def comes_back_with_something_new(twins: Twins) -> None:
    """Another subscription changes nothing, another protocol all."""
    group = twins.name("new")
    static(twins, group)
    more = protocols("range", "sticky", metadata=subscription("orders", "payments"))
    twins.ask("JoinGroup", **wanting(group, GroupInstanceId="one", Protocols=more))
    twins.see("DescribeGroups", Groups=[group])
    twins.ask("JoinGroup", **wanting(group, GroupInstanceId="one", Protocols=protocols("sticky")))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def a_follower_comes_back(twins: Twins) -> None:
    group = twins.name("follower")
    leader, follower = pair(twins, group, fields=({"GroupInstanceId": "one"}, {"GroupInstanceId": "two"}))
    twins.ask("JoinGroup", **wanting(group, GroupInstanceId="two"))
    twins.ask("Heartbeat", GroupId=group, GenerationId=2, MemberId=follower, GroupInstanceId="two")
    twins.ask("Heartbeat", GroupId=group, GenerationId=2, MemberId=leader, GroupInstanceId="one")
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def in_the_place_of_another(twins: Twins) -> None:
    group = twins.name("place")
    leader, follower = pair(twins, group, fields=({"GroupInstanceId": "one"}, {}))
    for member, instance in (
        (leader, "two"),
        (follower, "one"),
        (follower, "two"),
        ("nobody", "one"),
        ("nobody", "two"),
    ):
        twins.ask("JoinGroup", **wanting(group, MemberId=member, GroupInstanceId=instance))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def with_an_id_that_was_given_to_another(twins: Twins) -> None:
    group = twins.name("given")
    pending = twins.ask("JoinGroup", **wanting(group))["MemberId"]
    twins.ask("JoinGroup", **wanting(group, MemberId=pending, GroupInstanceId="one"))
    twins.see("DescribeGroups", Groups=[group])


@scenario("JoinGroup", first=5)
def comes_back_while_others_wait(twins: Twins) -> None:
    """Its first request, which waits, is fenced."""
    group = twins.name("waits")
    leader = stable(twins, group)
    first, second = twins.another(), twins.another()
    first.send("JoinGroup", **wanting(group, GroupInstanceId="one"))
    until_rebalancing(twins, group, 1, leader)
    second.send("JoinGroup", **wanting(group, GroupInstanceId="one"))
    first.receive()
    twins.ask("JoinGroup", **wanting(group, MemberId=leader))
    second.receive()
    twins.see("DescribeGroups", Groups=[group])


@scenario("SyncGroup", first=3)
def syncs(twins: Twins) -> None:
    group = twins.name("syncs")
    member = twins.ask("JoinGroup", at=5, **wanting(group, GroupInstanceId="one"))["MemberId"]
    for who, instance in (("nobody", "one"), (member, "two"), ("", "one"), (member, ""), (member, None)):
        twins.ask("SyncGroup", **assigning(group, 1, who, GroupInstanceId=instance))
    twins.ask("SyncGroup", **assigning(group, 1, member, GroupInstanceId="one"))
    twins.see("DescribeGroups", Groups=[group])


@scenario("Heartbeat", first=3)
def beats(twins: Twins) -> None:
    group = twins.name("beats")
    member = static(twins, group)
    for who, instance in (
        (member, "one"),
        (member, None),
        (member, "two"),
        (member, ""),
        ("nobody", "one"),
        ("nobody", "two"),
        ("", "one"),
    ):
        for generation in (1, 2):
            twins.ask("Heartbeat", GroupId=group, GenerationId=generation, MemberId=who, GroupInstanceId=instance)


@scenario("LeaveGroup", first=3)
def is_sent_away(twins: Twins) -> None:
    """By its instance id alone, as administrators do."""
    group = twins.name("away")
    member = static(twins, group)
    for who, instance in (("nobody", "one"), (member, "two"), ("", "two"), ("", None)):
        twins.ask("LeaveGroup", GroupId=group, Members=[{"MemberId": who, "GroupInstanceId": instance}])
    twins.see("DescribeGroups", Groups=[group])
    away = {"MemberId": "", "GroupInstanceId": "one"}
    twins.ask("LeaveGroup", GroupId=group, Members=[away, away])
    twins.see("DescribeGroups", Groups=[group])


@scenario("OffsetCommit", first=7)
def commits(twins: Twins) -> None:
    topic, group = twins.create("commits"), twins.name("commits")
    member = static(twins, group)
    partitions = [{"PartitionIndex": 0, "CommittedOffset": 7, "CommittedMetadata": ""}]
    topics = [{"Name": topic, "TopicId": twins.topic_id(topic), "Partitions": partitions}]
    for who, instance in ((member, "one"), (member, None), (member, "two"), ("nobody", "one"), ("", "one")):
        for generation in (1, 2):
            twins.ask(
                "OffsetCommit",
                GroupId=group,
                GenerationIdOrMemberEpoch=generation,
                MemberId=who,
                GroupInstanceId=instance,
                Topics=topics,
            )
