"""OffsetCommit, OffsetFetch and OffsetDelete: where a group's consumers are."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from compat.twin.both import Both
from compat.twin.groups import assigning, entering, pair, protocols, stable, subscription, until_rebalancing, wanting
from compat.twin.scenario import scenario
from compat.twin.twins import Twins

IDS_FROM, SEVERAL_GROUPS_FROM = 10, 8
NOBODYS_ID = UUID("77777777-7777-7777-7777-777777777777")
METADATA_BYTES = 4096
"""Kafka's limit."""


def at(partition: int, offset: int, metadata: str | None = "", **fields: Any) -> dict[str, Any]:
    return {"PartitionIndex": partition, "CommittedOffset": offset, "CommittedMetadata": metadata, **fields}


def of(twins: Twins, topic: str, *partitions: dict[str, Any]) -> dict[str, Any]:
    """By name or by id, as the version wants it."""
    return {"Name": topic, "TopicId": twins.topic_id(topic), "Partitions": partitions}


def commit(twins: Twins, group: str, *topics: dict[str, Any], version: int | None = None, **fields: Any) -> None:
    """For a group without members, unless the fields say who commits."""
    asked = {"GroupId": group, "GenerationIdOrMemberEpoch": -1, "MemberId": "", "Topics": topics, **fields}
    twins.ask("OffsetCommit", at=version, **asked)


def wanted(twins: Twins, topic: str, *partitions: int) -> dict[str, Any]:
    return {"Name": topic, "TopicId": twins.topic_id(topic), "PartitionIndexes": partitions}


def fetching(*groups: str, topics: Sequence[dict[str, Any]] | None, **fields: Any) -> dict[str, Any]:
    named = topics and [{"Name": each["Name"], "PartitionIndexes": each["PartitionIndexes"]} for each in topics]
    several = [{"GroupId": group, "Topics": topics} for group in groups]
    return {"GroupId": groups[0], "Topics": named, "Groups": several, **fields}


def fetch(
    twins: Twins, *groups: str, topics: Sequence[dict[str, Any]] | None, version: int | None = None, **fields: Any
) -> None:
    """Of the first group alone up to version 7."""
    twins.ask("OffsetFetch", at=version, **fetching(*groups, topics=topics, **fields))


def fetch_all(twins: Twins, group: str) -> None:
    """What has been committed, by both APIs that name topics, and by id."""
    for version in (7, 9, 10):
        fetch(twins, group, topics=None, version=version)


# OffsetCommit


@scenario("OffsetCommit")
def commits_without_members(twins: Twins) -> None:
    topic, group = twins.create("simple", partitions=3), twins.name("simple")
    commit(twins, group, of(twins, topic, at(0, 7, "a note"), at(2, 0)))
    fetch_all(twins, group)
    commit(twins, group, of(twins, topic, at(0, 3, "another")))
    fetch_all(twins, group)
    twins.see("DescribeGroups", Groups=[group])


@scenario("OffsetCommit")
def commits_offsets_of_every_kind(twins: Twins) -> None:
    topic, group = twins.create("kinds"), twins.name("kinds")
    for offset in (0, 1, -1, -2, 2**63 - 1, -(2**63)):
        commit(twins, group, of(twins, topic, at(0, offset)))
        fetch(twins, group, topics=[wanted(twins, topic, 0)])


@scenario("OffsetCommit", first=6)
def commits_leader_epochs(twins: Twins) -> None:
    topic, group = twins.create("epochs"), twins.name("epochs")
    for epoch in (-1, 0, 5, -2, 2**31 - 1):
        commit(twins, group, of(twins, topic, at(0, 1, CommittedLeaderEpoch=epoch)))
        fetch(twins, group, topics=[wanted(twins, topic, 0)])


@scenario("OffsetCommit")
def commits_metadata_up_to_its_limit(twins: Twins) -> None:
    """Counted in UTF-16, as Java has its texts."""
    topic, group = twins.create("metadata", partitions=2), twins.name("metadata")
    limit = METADATA_BYTES
    for note in (None, "", "x" * limit, "x" * (limit + 1), "ü" * limit, "🎈" * (limit // 2), "🎈" * (limit // 2) + "x"):
        commit(twins, group, of(twins, topic, at(0, 1, note), at(1, 2)))
        fetch(twins, group, topics=[wanted(twins, topic, 0, 1)])


@scenario("OffsetCommit")
def commits_for_what_is_not_there(twins: Twins) -> None:
    topic, group = twins.create("there"), twins.name("there")
    nowhere = {"Name": twins.name("nowhere"), "TopicId": NOBODYS_ID, "Partitions": [at(0, 1)]}
    commit(twins, group, nowhere)
    commit(twins, group, of(twins, topic, at(1, 1), at(-1, 1)))
    twins.see("DescribeGroups", Groups=[group])
    commit(twins, group, nowhere, of(twins, topic, at(0, 7), at(9, 1)), {**nowhere, "TopicId": UUID(int=0)})
    fetch_all(twins, group)
    for name in ("", ".", "no such name", "x" * 250):
        commit(twins, group, {"Name": name, "Partitions": [at(0, 1)]})


@scenario("OffsetCommit")
def commits_nothing(twins: Twins) -> None:
    topic, group = twins.create("nothing"), twins.name("nothing")
    commit(twins, group)
    commit(twins, group, of(twins, topic))
    twins.see("DescribeGroups", Groups=[group])
    for generation in (0, 1):
        commit(twins, group, GenerationIdOrMemberEpoch=generation, MemberId="nobody")


@scenario("OffsetCommit")
def commits_twice_in_one_request(twins: Twins) -> None:
    """The last one counts."""
    topic, group = twins.create("twice", partitions=2), twins.name("twice")
    commit(twins, group, of(twins, topic, at(0, 1), at(0, 2), at(1, 3)), of(twins, topic, at(0, 4)))
    fetch_all(twins, group)


@scenario("OffsetCommit")
def commits_in_groups_of_odd_names(twins: Twins) -> None:
    topic = twins.create("odd")
    for group in ("", " ", twins.name("grüße 🎈"), twins.name("x" * 300)):
        commit(twins, group, of(twins, topic, at(0, 5)))
        fetch(twins, group, topics=[wanted(twins, topic, 0)], version=9)
        twins.see("DescribeGroups", Groups=[group])


@scenario("OffsetCommit", last=4)
def commits_for_a_while(twins: Twins) -> None:
    topic, group = twins.create("while"), twins.name("while")
    for retention_ms in (-1, 2**40):
        commit(twins, group, of(twins, topic, at(0, 1)), RetentionTimeMs=retention_ms)
        fetch(twins, group, topics=[wanted(twins, topic, 0)])


@scenario("OffsetCommit")
def commits_of_members(twins: Twins) -> None:
    topic, group = twins.create("members"), twins.name("members")
    member = stable(twins, group)
    offsets = of(twins, topic, at(0, 1))
    who: tuple[dict[str, Any], ...] = (
        {},
        {"GenerationIdOrMemberEpoch": 0},
        {"GenerationIdOrMemberEpoch": 2},
        {"GenerationIdOrMemberEpoch": -1},
        {"MemberId": "nobody"},
        {"MemberId": "nobody", "GenerationIdOrMemberEpoch": -1},
        {"MemberId": "", "GenerationIdOrMemberEpoch": 1},
        {"MemberId": "", "GenerationIdOrMemberEpoch": -1},
        {"MemberId": "", "GenerationIdOrMemberEpoch": -2},
        {"GroupId": twins.name("nowhere")},
        {"GroupId": ""},
        {"GroupInstanceId": "static"},
        {"GroupInstanceId": "static", "MemberId": "", "GenerationIdOrMemberEpoch": -1},
    )
    for fields in who:
        commit(twins, group, offsets, **{"GenerationIdOrMemberEpoch": 1, "MemberId": member, **fields})
    fetch_all(twins, group)


@scenario("OffsetCommit")
def commits_in_a_rebalance(twins: Twins) -> None:
    """Before all have come again it may, while the assignment is awaited it may not."""
    topic, group = twins.create("rebalance"), twins.name("rebalance")
    leader, guest = stable(twins, group), twins.another()
    offsets = of(twins, topic, at(0, 1))
    entering(twins, guest, group, at=5)
    until_rebalancing(twins, group, 1, leader)
    commit(twins, group, offsets, GenerationIdOrMemberEpoch=1, MemberId=leader)
    twins.ask("JoinGroup", at=5, **wanting(group, MemberId=leader))
    follower = guest.receive()["MemberId"]
    for generation in (1, 2):
        commit(twins, group, offsets, GenerationIdOrMemberEpoch=generation, MemberId=follower)
    commit(twins, group, offsets)
    twins.ask("SyncGroup", at=3, **assigning(group, 2, leader, follower))
    commit(twins, group, offsets, GenerationIdOrMemberEpoch=2, MemberId=follower)


@scenario("OffsetCommit")
def commits_after_all_have_left(twins: Twins) -> None:
    topic, group = twins.create("left"), twins.name("left")
    member = stable(twins, group)
    twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": member}])
    for generation in (-1, 0, 1, 2):
        for who in ("", member):
            commit(twins, group, of(twins, topic, at(0, 1)), GenerationIdOrMemberEpoch=generation, MemberId=who)


@scenario("OffsetCommit")
def commits_of_several_wrongs(twins: Twins) -> None:
    """A topic that is not there is told whatever else is wrong; else the group's trouble comes before a partition's."""
    topic, group = twins.create("wrongs"), twins.name("wrongs")
    stable(twins, group)
    nowhere = {"Name": twins.name("nowhere"), "TopicId": NOBODYS_ID, "Partitions": [at(0, 1)]}
    large = "x" * (METADATA_BYTES + 1)
    commit(twins, group, nowhere, of(twins, topic, at(0, 1), at(7, 1)), MemberId="nobody")
    commit(twins, group, of(twins, topic, at(0, 1, large)), MemberId="nobody")
    commit(twins, group, of(twins, topic, at(7, 1, large)))
    commit(twins, "", nowhere, MemberId="nobody", GenerationIdOrMemberEpoch=3)


# OffsetFetch


@scenario("OffsetFetch")
def fetches_what_was_committed(twins: Twins) -> None:
    topic, group = twins.create("committed", partitions=3), twins.name("committed")
    commit(twins, group, of(twins, topic, at(0, 7, "a note", CommittedLeaderEpoch=3), at(2, 1)))
    for partitions in ((0,), (1,), (0, 1, 2), (2, 0, 2), ()):
        fetch(twins, group, topics=[wanted(twins, topic, *partitions)])
    fetch(twins, group, topics=[])


@scenario("OffsetFetch", first=2)
def fetches_all(twins: Twins) -> None:
    one, other, group = twins.create("one"), twins.create("other", partitions=2), twins.name("all")
    fetch(twins, group, topics=None)
    commit(twins, group, of(twins, one, at(0, 1)), of(twins, other, at(1, 2, "a note")))
    fetch(twins, group, topics=None)


@scenario("OffsetFetch")
def fetches_what_is_not_there(twins: Twins) -> None:
    topic, group = twins.create("there"), twins.name("there")
    commit(twins, group, of(twins, topic, at(0, 1)))
    nowhere = {"Name": twins.name("nowhere"), "TopicId": NOBODYS_ID, "PartitionIndexes": [0, 1]}
    fetch(twins, group, topics=[nowhere])
    fetch(twins, group, topics=[wanted(twins, topic, 0, 9, -1), nowhere])
    fetch(twins, twins.name("nobody"), topics=[wanted(twins, topic, 0), nowhere])
    fetch(twins, "", topics=[wanted(twins, topic, 0)])
    fetch(twins, group, topics=[{"Name": "no such name", "TopicId": UUID(int=0), "PartitionIndexes": [0]}])


@scenario("OffsetFetch")
def fetches_twice_in_one_request(twins: Twins) -> None:
    topic, group = twins.create("twice"), twins.name("twice")
    commit(twins, group, of(twins, topic, at(0, 1)))
    fetch(twins, group, topics=[wanted(twins, topic, 0), wanted(twins, topic, 0)])


@scenario("OffsetFetch", first=SEVERAL_GROUPS_FROM)
def fetches_of_several_groups(twins: Twins) -> None:
    topic, one, other = twins.create("several"), twins.name("one"), twins.name("other")
    commit(twins, one, of(twins, topic, at(0, 1)))
    commit(twins, other, of(twins, topic, at(0, 2)))
    for topics in (None, [wanted(twins, topic, 0)], []):
        fetch(twins, one, other, topics=topics)
        fetch(twins, one, twins.name("nowhere"), "", one, topics=topics)
    twins.ask("OffsetFetch", Groups=[])


@scenario("OffsetFetch", first=7)
def fetches_what_is_stable(twins: Twins) -> None:
    topic, group = twins.create("stable"), twins.name("stable")
    commit(twins, group, of(twins, topic, at(0, 1)))
    for topics in (None, [wanted(twins, topic, 0, 1)]):
        fetch(twins, group, topics=topics, RequireStable=True)


@scenario("OffsetFetch", first=9)
def fetches_of_a_member(twins: Twins) -> None:
    """What members of the new protocol say means nothing to a classic group."""
    topic, group = twins.create("member"), twins.name("member")
    member = stable(twins, group)
    commit(twins, group, of(twins, topic, at(0, 1)), GenerationIdOrMemberEpoch=1, MemberId=member)
    for name in (group, twins.name("nowhere")):
        for who, epoch in ((member, 1), (member, 9), (member, -1), ("nobody", 1), (None, 1), (None, -1), ("", 0)):
            for topics in (None, [wanted(twins, topic, 0)]):
                asked = {"GroupId": name, "MemberId": who, "MemberEpoch": epoch, "Topics": topics}
                twins.ask("OffsetFetch", Groups=[asked])


@scenario("OffsetFetch")
def fetches_after_the_topic_is_gone(twins: Twins) -> None:
    """And after another of its name has come."""
    topic, kept, group = twins.create("gone"), twins.create("kept"), twins.name("gone")
    commit(twins, group, of(twins, topic, at(0, 1)), of(twins, kept, at(0, 2)))
    before = wanted(twins, topic, 0)
    twins.ask("DeleteTopics", Topics=[{"Name": topic}], TimeoutMs=10_000)
    twins.see("Metadata", Topics=[{"Name": topic}], AllowAutoTopicCreation=False)
    twins.see("OffsetFetch", **fetching(group, topics=[before]))
    topics = [{"Name": topic, "NumPartitions": 1, "ReplicationFactor": 1}]
    made = twins.ask("CreateTopics", Topics=topics, TimeoutMs=10_000)
    twins.wait_until_led(topic)
    fetch(twins, group, topics=[before])
    fetch(twins, group, topics=[{**before, "TopicId": made["Topics"][0]["TopicId"]}])
    fetch(twins, group, topics=None, version=10)


# OffsetDelete


def deletion(group: str | Both, topic: str, *partitions: int) -> dict[str, Any]:
    topics = [{"Name": topic, "Partitions": [{"PartitionIndex": each} for each in partitions]}]
    return {"GroupId": group, "Topics": topics}


@scenario("OffsetDelete")
def deletes_offsets(twins: Twins) -> None:
    topic, group = twins.create("deletes", partitions=3), twins.name("deletes")
    commit(twins, group, of(twins, topic, at(0, 1), at(1, 2), at(2, 3)))
    for partitions in ((1,), (1,), (0, 9, -1), (), (2, 2)):
        twins.ask("OffsetDelete", **deletion(group, topic, *partitions))
        fetch_all(twins, group)
    twins.see("DescribeGroups", Groups=[group])


@scenario("OffsetDelete")
def deletes_no_offsets_of_what_is_not_there(twins: Twins) -> None:
    topic, group = twins.create("there"), twins.name("there")
    twins.ask("OffsetDelete", **deletion(group, topic, 0))
    commit(twins, group, of(twins, topic, at(0, 1)))
    nowhere = twins.name("nowhere")
    for name, of_topic in (("", topic), (nowhere, nowhere), (group, nowhere), (group, ""), (group, "no such name")):
        twins.ask("OffsetDelete", **deletion(name, of_topic, 0))
    twins.ask("OffsetDelete", GroupId=group, Topics=[])
    topics = deletion(group, nowhere, 0)["Topics"] + deletion(group, topic, 0)["Topics"]
    twins.ask("OffsetDelete", GroupId=group, Topics=topics + topics)
    fetch_all(twins, group)


@scenario("OffsetDelete")
def deletes_offsets_of_a_group_with_members(twins: Twins) -> None:
    """What members subscribe to stays; who are no consumers keep all."""
    topic, other = twins.create("subscribed"), twins.create("unsubscribed")
    readers, workers, riddles = twins.name("readers"), twins.name("workers"), twins.name("riddles")
    members: list[tuple[str, dict[str, Any]]] = [
        (readers, {"Protocols": protocols("range", metadata=subscription(topic))}),
        (workers, {"ProtocolType": "connect"}),
        (riddles, {"ProtocolType": "consumer", "Protocols": protocols("range", metadata=subscription())}),
    ]
    for group, fields in members:
        member = stable(twins, group, **fields)
        offsets = [of(twins, topic, at(0, 1)), of(twins, other, at(0, 1))]
        commit(twins, group, *offsets, GenerationIdOrMemberEpoch=1, MemberId=member)
        for name in (topic, other):
            twins.ask("OffsetDelete", **deletion(group, name, 0, 1))
        fetch_all(twins, group)
        twins.ask("LeaveGroup", at=3, GroupId=group, Members=[{"MemberId": member}])
        twins.ask("OffsetDelete", **deletion(group, topic, 0))
        fetch_all(twins, group)


@scenario("OffsetDelete")
def deletes_offsets_in_a_rebalance(twins: Twins) -> None:
    topic, group = twins.create("rebalance"), twins.name("rebalance")
    commit(twins, group, of(twins, topic, at(0, 1)))
    pair(twins, group, syncs=False)
    twins.ask("OffsetDelete", **deletion(group, topic, 0))
    fetch_all(twins, group)
