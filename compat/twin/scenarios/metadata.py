"""Metadata: which topics there are, and where; a topic that is not there may come by the question."""

from __future__ import annotations

from uuid import UUID

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

NOBODYS = UUID(int=7)
INVALID = ("", ".", "..", "no such name", "ü", "x" * 249, "x" * 250, "a/b", "a\x00b")


@scenario("Metadata")
def by_name(twins: Twins) -> None:
    first, second = twins.once(Twins.create, "first", partitions=3), twins.once(Twins.create, "second")
    twins.ask("Metadata", Topics=[{"Name": first}])
    twins.ask("Metadata", Topics=[{"Name": second}, {"Name": first}])
    twins.ask("Metadata", Topics=[{"Name": first}, {"Name": first}])


@scenario("Metadata")
def of_all(twins: Twins) -> None:
    """With null, and in version 0, which cannot say it, with an empty list."""
    twins.once(Twins.create, "all", partitions=2)
    if twins.version:
        twins.see("Metadata", Topics=None)
    twins.see("Metadata", Topics=[])


@scenario("Metadata", first=4)
def of_unknown_topics(twins: Twins) -> None:
    known, nowhere = twins.once(Twins.create, "known"), twins.name("nowhere")
    twins.ask("Metadata", Topics=[{"Name": nowhere}], AllowAutoTopicCreation=False)
    twins.ask("Metadata", Topics=[{"Name": nowhere}, {"Name": known}], AllowAutoTopicCreation=False)
    twins.ask("Metadata", Topics=[{"Name": nowhere}, {"Name": nowhere}], AllowAutoTopicCreation=False)


@scenario("Metadata")
def of_invalid_names(twins: Twins) -> None:
    for name in INVALID:
        twins.ask("Metadata", Topics=[{"Name": name}], AllowAutoTopicCreation=False)
    known = twins.once(Twins.create, "known")
    wanted = [{"Name": known}, *({"Name": name} for name in INVALID)]
    twins.ask("Metadata", Topics=wanted, AllowAutoTopicCreation=False)


@scenario("Metadata")
def that_creates(twins: Twins) -> None:
    """Versions before 4 always do. It is there a moment later, with the broker's defaults."""
    topic, other = twins.name("comes"), twins.name("also")
    twins.ask("Metadata", Topics=[{"Name": topic}, {"Name": other}])
    twins.wait_until_led(topic)
    twins.wait_until_led(other)
    twins.ask("Metadata", Topics=[{"Name": topic}, {"Name": other}])
    twins.ask("DescribeConfigs", Resources=[{"ResourceType": 2, "ResourceName": topic, "ConfigurationKeys": None}])


@scenario("Metadata")
def that_creates_nothing_of_a_wrong_name(twins: Twins) -> None:
    for name in ("no such name", "x" * 250, "."):
        twins.ask("Metadata", Topics=[{"Name": name}])
        twins.ask("Metadata", at=12, Topics=[{"Name": name}], AllowAutoTopicCreation=False)


@scenario("Metadata", first=4)
def that_may_not_create(twins: Twins) -> None:
    topic = twins.name("never")
    for _ in range(2):
        twins.ask("Metadata", Topics=[{"Name": topic}], AllowAutoTopicCreation=False)


@scenario("Metadata")
def whose_names_collide(twins: Twins) -> None:
    """A dot and an underscore are the same in the name of a metric: the second topic is not created."""
    topic = twins.once(Twins.create, "a.b")
    other = topic.replace(".", "_")
    twins.ask("Metadata", Topics=[{"Name": other}])
    twins.ask("Metadata", at=12, Topics=[{"Name": other}], AllowAutoTopicCreation=False)


@scenario("Metadata", first=12)
def by_id(twins: Twins) -> None:
    topic, other = twins.once(Twins.create, "known", partitions=2), twins.once(Twins.create, "other")
    wanted = {"TopicId": twins.topic_id(topic), "Name": None}
    twins.ask("Metadata", Topics=[wanted])
    twins.ask("Metadata", Topics=[wanted, wanted])
    twins.ask("Metadata", Topics=[{"TopicId": NOBODYS, "Name": None}, wanted])
    # An id counts more than a name.
    twins.ask("Metadata", Topics=[{**wanted, "Name": other}])
    twins.ask("Metadata", Topics=[{"TopicId": NOBODYS, "Name": other}])
    twins.ask("Metadata", Topics=[{"Name": other}, wanted])


@scenario("Metadata", first=10, last=11)
def by_id_before_that_was_possible(twins: Twins) -> None:
    """The field is there, and has to be empty."""
    topic = twins.once(Twins.create, "known")
    twins.ask("Metadata", Topics=[{"TopicId": twins.topic_id(topic), "Name": topic}])
    twins.ask("Metadata", Topics=[{"TopicId": twins.topic_id(topic), "Name": None}])
    twins.ask("Metadata", Topics=[{"Name": None}])


@scenario("Metadata", first=12)
def by_nothing(twins: Twins) -> None:
    twins.ask("Metadata", Topics=[{"Name": None}])


@scenario("Metadata")
def of_deleted_topics(twins: Twins) -> None:
    topic = twins.create("deleted")
    identity = twins.topic_id(topic)
    twins.delete(topic)
    if twins.version >= 4:
        twins.ask("Metadata", Topics=[{"Name": topic}], AllowAutoTopicCreation=False)
    if twins.version >= 12:
        twins.ask("Metadata", Topics=[{"TopicId": identity, "Name": None}])
    assert twins.create("deleted", partitions=2) == topic
    twins.ask("Metadata", Topics=[{"Name": topic}])


@scenario("Metadata")
def of_internal_topics(twins: Twins) -> None:
    names = ("__consumer_offsets", "__transaction_state", "__share_group_state", "__cluster_metadata", "__mine")
    for name in names:
        twins.ask("Metadata", Topics=[{"Name": name}], AllowAutoTopicCreation=False) if twins.version >= 4 else None
    twins.ask("Metadata", Topics=[{"Name": "__consumer_offsets"}])


@scenario("Metadata", first=8)
def of_authorized_operations(twins: Twins) -> None:
    """Those of the cluster moved to DescribeCluster after version 10."""
    topic, nowhere = twins.once(Twins.create, "operations"), twins.name("nowhere")
    wanted = [{"Name": topic}, {"Name": nowhere}, {"Name": "."}]
    for ours, clusters in ((True, False), (False, True), (True, True)):
        twins.ask(
            "Metadata",
            Topics=wanted,
            AllowAutoTopicCreation=False,
            IncludeTopicAuthorizedOperations=ours,
            IncludeClusterAuthorizedOperations=clusters,
        )
    if twins.version >= 12:
        ids = [{"TopicId": twins.topic_id(topic), "Name": None}, {"TopicId": NOBODYS, "Name": None}]
        twins.ask("Metadata", Topics=ids, IncludeTopicAuthorizedOperations=True)


@scenario("Metadata")
def of_more_partitions(twins: Twins) -> None:
    topic = twins.create("more")
    twins.ask("CreatePartitions", Topics=[{"Name": topic, "Count": 4, "Assignments": None}], TimeoutMs=5_000)
    twins.wait_until_led(topic, partitions=4)
    twins.ask("Metadata", Topics=[{"Name": topic}])


@scenario("Metadata", first=1)
def of_no_topics(twins: Twins) -> None:
    """For the brokers alone."""
    twins.ask("Metadata", Topics=[])
    if twins.version >= 4:
        twins.ask("Metadata", Topics=[], AllowAutoTopicCreation=False)
