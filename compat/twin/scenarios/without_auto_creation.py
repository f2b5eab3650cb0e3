"""Brokers with auto.create.topics.enable=false: whatever asks for a topic that is not there, it does not come."""

from __future__ import annotations

from functools import partial
from uuid import UUID

from compat.twin.batches import batch
from compat.twin.groups import protocols, stable, subscription
from compat.twin.records import fetch, part, produce, producing
from compat.twin.scenario import scenario as on_any_brokers
from compat.twin.scenarios import leader_epochs
from compat.twin.scenarios.group_offsets import NOBODYS_ID, at, commit, of
from compat.twin.scenarios.group_offsets import fetch as fetch_offsets
from compat.twin.scenarios.group_offsets import wanted as offsets_of
from compat.twin.scenarios.list_offsets import EARLIEST, LATEST, wanted
from compat.twin.twins import Twins

scenario = partial(on_any_brokers, auto_create_topics_enable="false")

GOOD = batch(b"value", timestamp=1_700_000_000_000)
INTERNAL = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__mine")
NO_NAMES = ("", ".", "no such name", "x" * 250)
SUGGESTIONS: tuple[dict[str, bool], ...] = ({}, {"AllowAutoTopicCreation": True}, {"AllowAutoTopicCreation": False})
TOPIC, BROKER = 2, 4


def stay_away(twins: Twins, *topics: str) -> None:
    """Seen by both, and not only by one as by the other."""
    told = twins.ask("Metadata", at=12, Topics=[{"Name": topic} for topic in topics], AllowAutoTopicCreation=False)
    for answer in told.values:
        assert all(topic["ErrorCode"] for topic in answer["Topics"]), f"one of them has come: {answer}"


# Metadata


@scenario("Metadata")
def metadata_creates_nothing(twins: Twins) -> None:
    """Versions before 4 always ask for it."""
    known, nowhere, other = twins.once(Twins.create, "known"), twins.name("nowhere"), twins.name("other")
    for fields in SUGGESTIONS:
        for topics in ((nowhere,), (nowhere, known, other), (nowhere, nowhere)):
            twins.ask("Metadata", Topics=[{"Name": topic} for topic in topics], **fields)
    stay_away(twins, nowhere, other)


@scenario("Metadata")
def metadata_of_names_that_cannot_be(twins: Twins) -> None:
    for fields in SUGGESTIONS:
        for name in NO_NAMES:
            twins.ask("Metadata", Topics=[{"Name": name}], **fields)
        twins.ask("Metadata", Topics=[{"Name": name} for name in (*NO_NAMES, twins.name("nowhere"))], **fields)


@scenario("Metadata")
def metadata_of_a_name_that_collides(twins: Twins) -> None:
    other = twins.once(Twins.create, "a.b").replace(".", "_")
    for fields in SUGGESTIONS:
        twins.ask("Metadata", Topics=[{"Name": other}], **fields)


@scenario("Metadata")
def metadata_of_internal_topics(twins: Twins) -> None:
    """They come by whom they are for, and not by this."""
    for fields in SUGGESTIONS:
        for name in INTERNAL:
            twins.ask("Metadata", Topics=[{"Name": name}], **fields)
    stay_away(twins, *INTERNAL[1:])


@scenario("Metadata")
def metadata_of_a_deleted_topic(twins: Twins) -> None:
    topic = twins.create("deleted")
    twins.delete(topic)
    for fields in SUGGESTIONS:
        twins.ask("Metadata", Topics=[{"Name": topic}], **fields)
    stay_away(twins, topic)


@scenario("Metadata", first=12)
def metadata_by_id(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    for fields in SUGGESTIONS:
        twins.ask("Metadata", Topics=[{"TopicId": UUID(int=7), "Name": None}], **fields)
        twins.ask("Metadata", Topics=[{"TopicId": UUID(int=7), "Name": nowhere}], **fields)
    stay_away(twins, nowhere)


@scenario("Metadata", first=8)
def metadata_with_authorized_operations(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    twins.ask("Metadata", Topics=[{"Name": nowhere}], IncludeTopicAuthorizedOperations=True)
    stay_away(twins, nowhere)


@scenario("DescribeTopicPartitions")
def described_by_partitions(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    twins.ask("DescribeTopicPartitions", Topics=[{"Name": nowhere}])
    twins.ask("DescribeTopicPartitions", Topics=[{"Name": nowhere}, {"Name": known}])
    stay_away(twins, nowhere)


# Records


@scenario("Produce", first=3)
def produce_creates_nothing(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    for acks in (-1, 1):
        for number in (0, 1, -1):
            produce(twins, (nowhere, number, GOOD), Acks=acks)
        produce(twins, (nowhere, 0, GOOD), (known, 0, GOOD), Acks=acks)
    for name in (*NO_NAMES, *INTERNAL[1:]):
        produce(twins, (name, 0, GOOD))
    conversation = twins.another()
    conversation.tell("Produce", **producing(twins, (nowhere, 0, GOOD), Acks=0))
    conversation.ask("ApiVersions", at=0)
    stay_away(twins, nowhere)


@scenario("Fetch")
def fetch_creates_nothing(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    for number in (0, 1, -1):
        fetch(twins, part(nowhere, number))
    fetch(twins, part(nowhere), part(known))
    for name in (*NO_NAMES, *INTERNAL[1:]):
        fetch(twins, part(name))
    stay_away(twins, nowhere)


@scenario("ListOffsets")
def list_offsets_creates_nothing(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    for time in (EARLIEST, LATEST, 0):
        for number in (0, 1, -1):
            twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(nowhere, time, partition=number)])
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(nowhere, time), wanted(known, time)])
    for name in (*NO_NAMES, *INTERNAL[1:]):
        twins.ask("ListOffsets", ReplicaId=-1, Topics=[wanted(name, LATEST)])
    stay_away(twins, nowhere)


@scenario("OffsetForLeaderEpoch")
def leader_epochs_create_nothing(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    asked = [leader_epochs.wanted(nowhere, 0), leader_epochs.wanted(known, 0)]
    twins.ask("OffsetForLeaderEpoch", ReplicaId=-1, Topics=asked)
    stay_away(twins, nowhere)


@scenario("DeleteRecords")
def delete_records_creates_nothing(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    for topics in ((nowhere,), (nowhere, known)):
        asked = [{"Name": topic, "Partitions": [{"PartitionIndex": 0, "Offset": 0}]} for topic in topics]
        twins.ask("DeleteRecords", Topics=asked, TimeoutMs=5_000)
    stay_away(twins, nowhere)


@scenario("DescribeProducers")
def described_producers_create_nothing(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    twins.ask("DescribeProducers", Topics=[{"Name": nowhere, "PartitionIndexes": [0, 1]}])
    stay_away(twins, nowhere)


# Groups


@scenario("FindCoordinator")
def coordinators_are_found_all_the_same(twins: Twins) -> None:
    """Their topic has come by who looked for the first."""
    twins.ask("FindCoordinator", Key="readers", CoordinatorKeys=["readers", "writers"])
    twins.ask("Metadata", Topics=[{"Name": INTERNAL[0]}])
    twins.ask("DescribeConfigs", Resources=[{"ResourceType": TOPIC, "ResourceName": INTERNAL[0]}])


@scenario("OffsetCommit")
def commits_create_nothing(twins: Twins) -> None:
    known, nowhere, group = twins.once(Twins.create, "known"), twins.name("nowhere"), twins.name("commits")
    unknown = {"Name": nowhere, "TopicId": NOBODYS_ID, "Partitions": [at(0, 1), at(7, 1)]}
    commit(twins, group, unknown)
    twins.see("DescribeGroups", Groups=[group])
    commit(twins, group, unknown, of(twins, known, at(0, 1), at(7, 1)))
    for name in (*NO_NAMES, *INTERNAL[1:]):
        commit(twins, group, {"Name": name, "TopicId": UUID(int=0), "Partitions": [at(0, 1)]})
    for version in (7, 9):
        fetch_offsets(twins, group, topics=None, version=version)
    stay_away(twins, nowhere)


@scenario("OffsetFetch")
def fetched_offsets_create_nothing(twins: Twins) -> None:
    known, nowhere, group = twins.once(Twins.create, "known"), twins.name("nowhere"), twins.name("fetches")
    commit(twins, group, of(twins, known, at(0, 1)), version=9)
    unknown = {"Name": nowhere, "TopicId": NOBODYS_ID, "PartitionIndexes": [0, 1]}
    fetch_offsets(twins, group, topics=[unknown])
    fetch_offsets(twins, group, topics=[offsets_of(twins, known, 0, 7), unknown])
    stay_away(twins, nowhere)


@scenario("OffsetDelete")
def deleted_offsets_create_nothing(twins: Twins) -> None:
    known, nowhere, group = twins.once(Twins.create, "known"), twins.name("nowhere"), twins.name("deletes")
    commit(twins, group, of(twins, known, at(0, 1)))
    asked = [{"Name": topic, "Partitions": [{"PartitionIndex": 0}]} for topic in (nowhere, known)]
    twins.ask("OffsetDelete", GroupId=group, Topics=asked)
    stay_away(twins, nowhere)


@scenario("JoinGroup")
def members_that_read_it_create_nothing(twins: Twins) -> None:
    nowhere, group = twins.name("nowhere"), twins.name("members")
    member = stable(twins, group, Protocols=protocols("range", metadata=subscription(nowhere)))
    twins.see("DescribeGroups", Groups=[group])
    offsets = {"Name": nowhere, "TopicId": NOBODYS_ID, "Partitions": [at(0, 1)]}
    commit(twins, group, offsets, GenerationIdOrMemberEpoch=1, MemberId=member)
    stay_away(twins, nowhere)


# Administration


@scenario("CreateTopics", first=2)
def create_topics_creates_all_the_same(twins: Twins) -> None:
    topic = twins.name("wanted")
    asked = [{"Name": topic, "NumPartitions": 2, "ReplicationFactor": 1}]
    twins.ask("CreateTopics", Topics=asked, TimeoutMs=10_000, ValidateOnly=True)
    stay_away(twins, topic)
    twins.ask("CreateTopics", Topics=asked, TimeoutMs=10_000)
    twins.wait_until_led(topic, partitions=2)
    twins.ask("Metadata", Topics=[{"Name": topic}])


@scenario("CreatePartitions")
def more_partitions_create_nothing(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    asked = [{"Name": nowhere, "Count": 4, "Assignments": None}]
    twins.ask("CreatePartitions", Topics=asked, TimeoutMs=5_000)
    stay_away(twins, nowhere)


@scenario("DescribeConfigs", first=1)
def configs_create_nothing(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    twins.ask("DescribeConfigs", Resources=[{"ResourceType": TOPIC, "ResourceName": nowhere}])
    wanted_key = {"ResourceType": BROKER, "ResourceName": "1", "ConfigurationKeys": ["auto.create.topics.enable"]}
    told = twins.ask("DescribeConfigs", Resources=[wanted_key], IncludeSynonyms=True)["Results"][0]["Configs"][0]
    assert told["Value"].values == ("false", "false"), "these brokers were not told what this file is about"
    stay_away(twins, nowhere)


@scenario("IncrementalAlterConfigs")
def altered_configs_create_nothing(twins: Twins) -> None:
    """Nor does the broker begin to create any: it can be told only at its start."""
    nowhere = twins.name("nowhere")
    for kind, name, key, value in (
        (TOPIC, nowhere, "retention.ms", "1000"),
        (BROKER, "1", "auto.create.topics.enable", "true"),
        (BROKER, "", "auto.create.topics.enable", "true"),
    ):
        change = [{"Name": key, "ConfigOperation": 0, "Value": value}]
        asked = [{"ResourceType": kind, "ResourceName": name, "Configs": change}]
        twins.ask("IncrementalAlterConfigs", Resources=asked)
    twins.ask("Metadata", Topics=[{"Name": nowhere}])
    stay_away(twins, nowhere)


@scenario("DeleteTopics")
def deletion_creates_nothing(twins: Twins) -> None:
    nowhere = twins.name("nowhere")
    twins.ask("DeleteTopics", TopicNames=[nowhere], Topics=[{"Name": nowhere}], TimeoutMs=5_000)
    stay_away(twins, nowhere)
