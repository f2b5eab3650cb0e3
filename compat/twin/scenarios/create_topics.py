"""CreateTopics: what becomes of a wish, and what is seen of it afterwards."""

from __future__ import annotations

from typing import Any

from compat.twin.scenario import scenario
from compat.twin.twins import Twins

TOPIC = 2
LONGEST_NAME = 249
MOST_PARTITIONS = 10_000
"""Of one request."""
AMPLE_MS = 10_000


def wish(name: str, partitions: int = 1, replicas: int = 1, **configs: str | None) -> dict[str, Any]:
    """Configurations are written with underscores."""
    entries = [{"Name": key.replace("_", "."), "Value": value} for key, value in configs.items()]
    return {"Name": name, "NumPartitions": partitions, "ReplicationFactor": replicas, "Configs": entries}


def assigned(
    name: str, *brokers: list[int], partitions: int = -1, replicas: int = -1, first: int = 0
) -> dict[str, Any]:
    """A list of brokers for each partition, from the `first` on."""
    assignments = [{"PartitionIndex": number, "BrokerIds": each} for number, each in enumerate(brokers, first)]
    return {**wish(name, partitions, replicas), "Assignments": assignments}


def create(twins: Twins, *topics: dict[str, Any], **fields: Any) -> None:
    twins.ask("CreateTopics", **{"Topics": topics, "TimeoutMs": AMPLE_MS, **fields})


def see(twins: Twins, *names: str) -> None:
    """What two other APIs say of topics."""
    topics = [{"Name": name} for name in names]
    twins.see("Metadata", Topics=topics, AllowAutoTopicCreation=False)
    resources = [{"ResourceType": TOPIC, "ResourceName": name, "ConfigurationKeys": None} for name in names]
    twins.see("DescribeConfigs", Resources=resources, IncludeSynonyms=True)


@scenario("CreateTopics")
def creates_topics(twins: Twins) -> None:
    one, other = twins.name("one"), twins.name("other")
    create(twins, wish(one), wish(other, 3))
    see(twins, one, other)


@scenario("CreateTopics")
def creates_with_configurations(twins: Twins) -> None:
    name = twins.name("configured")
    create(twins, wish(name, cleanup_policy="compact,delete", retention_ms="5000", min_cleanable_dirty_ratio="1"))
    see(twins, name)


@scenario("CreateTopics")
def creates_with_defaults(twins: Twins) -> None:
    names = [twins.name(each) for each in ("both", "partitions", "replicas")]
    create(twins, wish(names[0], -1, -1), wish(names[1], -1, 1), wish(names[2], 2, -1))
    see(twins, *names)


@scenario("CreateTopics")
def creates_as_assigned(twins: Twins) -> None:
    name = twins.name("assigned")
    create(twins, assigned(name, [1], [1]))
    see(twins, name)


@scenario("CreateTopics")
def only_validates(twins: Twins) -> None:
    names = [twins.name(each) for each in ("good", "bad", "again")]
    topics = [wish(names[0], 2, retention_ms="1"), wish(names[1], 0), wish(names[2], retention_ms="soon")]
    create(twins, *topics, ValidateOnly=True)
    see(twins, *names)
    create(twins, *topics)
    create(twins, *topics, ValidateOnly=True)


@scenario("CreateTopics")
def refuses_names(twins: Twins) -> None:
    long = twins.name("long").ljust(LONGEST_NAME, "x")
    names = ("", ".", "..", " ", "no good name!", "a/b", "grüße", "a\x00b", "-", "_", long, f"{long}x")
    for name in (*names, "__cluster_metadata"):
        create(twins, wish(name), ValidateOnly=True)
    create(twins, *map(wish, names[:-3]), wish(long), wish(f"{long}x"))
    see(twins, long)


@scenario("CreateTopics")
def refuses_names_that_are_taken(twins: Twins) -> None:
    """As the names of metrics are, in which a dot is an underscore."""
    name = twins.create("taken.name")
    collides = name.replace(".", "_")
    create(twins, wish(name), wish("__consumer_offsets"), wish(collides))
    create(twins, wish(name), ValidateOnly=True)
    one, other = twins.name("a.b_c"), twins.name("a_b.c")
    create(twins, wish(one), wish(other))


@scenario("CreateTopics")
def refuses_counts(twins: Twins) -> None:
    for number, (partitions, replicas) in enumerate(
        ((0, 1), (-2, 1), (1, 0), (1, -2), (1, 2), (1, 32_767), (0, 0), (0, 9), (-1, 9), (2, -32_768))
    ):
        create(twins, wish(twins.name(f"count{number}"), partitions, replicas))


@scenario("CreateTopics")
def refuses_too_many_partitions(twins: Twins) -> None:
    names = [twins.name(each) for each in ("one", "other", "third")]
    create(twins, wish(names[0], MOST_PARTITIONS + 1))
    create(twins, wish(names[0], MOST_PARTITIONS + 1), wish(names[1]), wish(names[2], 0))
    create(twins, wish(names[0], 2**31 - 1))
    see(twins, *names)


@scenario("CreateTopics")
def refuses_assignments(twins: Twins) -> None:
    name = twins.name("assigned")
    odd = (
        assigned(name, [1], first=1),
        assigned(name, [1], first=-1),
        assigned(name, []),
        assigned(name, [1, 1]),
        assigned(name, [9]),
        assigned(name, [-1]),
        assigned(name, [1, 9]),
        assigned(name, [1], [1, 9]),
        assigned(name, [1], partitions=1),
        assigned(name, [1], replicas=1),
        assigned(name, [1], partitions=2, replicas=2),
        assigned(name, [9], partitions=1, replicas=1),
        assigned("no good name!", [9]),
        {**assigned(name), "Assignments": [{"PartitionIndex": 0, "BrokerIds": [1]}] * 2},
    )
    for topic in odd:
        create(twins, topic)
    see(twins, name)


@scenario("CreateTopics")
def refuses_configurations(twins: Twins) -> None:
    wrong: tuple[dict[str, Any], ...] = (
        {"retention_ms": "soon"},
        {"retention_ms": ""},
        {"retention_ms": None},
        {"retention_ms": "-2"},
        {"nonsense": "1"},
        {"": "1"},
        {"cleanup_policy": "sometimes"},
        {"cleanup_policy": ""},
        {"cleanup_policy": "compact,compact"},
        {"min_insync_replicas": "0"},
        {"compression_type": "best"},
        {"segment_bytes": "1"},
        {"max_message_bytes": "99999999999"},
        {"remote_storage_enable": "true"},
        {"message_timestamp_type": "Never"},
        {"min_cleanable_dirty_ratio": "1.1"},
        {"preallocate": "maybe"},
    )
    for number, configs in enumerate(wrong):
        create(twins, wish(twins.name(f"wrong{number}"), **configs))


@scenario("CreateTopics")
def refuses_a_configuration_that_stands_twice(twins: Twins) -> None:
    name = twins.name("twice")
    topic = wish(name)
    topic["Configs"] = [{"Name": "retention.ms", "Value": value} for value in ("1000", "2000")]
    create(twins, topic)
    see(twins, name)


@scenario("CreateTopics")
def refuses_topics_that_stand_twice(twins: Twins) -> None:
    twice, once = twins.name("twice"), twins.name("once")
    create(twins, wish(twice), wish(once), wish(twice, 2), wish(""), wish(""))
    see(twins, twice, once)


@scenario("CreateTopics")
def of_several_wrongs_tells_one(twins: Twins) -> None:
    there = twins.create("there")
    name = twins.name("wrongs")
    for topic in (
        wish("no good name!", 0, 9, retention_ms="soon"),
        wish(there, 0, 9, retention_ms="soon"),
        wish(name, 0, 9, retention_ms="soon"),
        wish(name, 1, 9, retention_ms="soon"),
        wish(name, 0, 1, nonsense="1"),
        wish(name, 1, 1, nonsense="1", retention_ms="soon"),
        wish("__cluster_metadata", 0),
        {**assigned(name, [9]), "Configs": [{"Name": "nonsense", "Value": "1"}]},
    ):
        create(twins, topic)


@scenario("CreateTopics")
def needs_time(twins: Twins) -> None:
    """To none that there is, and what is wrong in any case is said without."""
    for number, time_ms in enumerate((0, -1)):
        name = twins.name(f"time{number}")
        create(twins, wish(name), wish("no good name!"), TimeoutMs=time_ms)
        create(twins, wish("__cluster_metadata"), TimeoutMs=time_ms)
        create(twins, wish(name), wish(name), TimeoutMs=time_ms)
        see(twins, name)


@scenario("CreateTopics")
def creates_nothing(twins: Twins) -> None:
    create(twins)
    create(twins, TimeoutMs=0)
