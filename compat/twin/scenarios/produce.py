"""Produce: where records may go, who hears of it, and what is found wrong first."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from compat.twin.batches import CRC, batch, changed
from compat.twin.records import kept, produce, producing
from compat.twin.scenario import scenario
from compat.twin.twins import Conversation, Twins

LONG_AGO = 1_700_000_000_000
GOOD = batch(b"value", key=b"key", timestamp=LONG_AGO)
TWO = batch(b"one", b"two", key=b"key", timestamp=LONG_AGO)
BROKEN = changed(GOOD, CRC, b"none", signed=False)


@scenario("Produce", first=3)
def with_each_acks(twins: Twins) -> None:
    topic = twins.create("acks")
    for acks in (1, -1, 2, -2, 32_767, -32_768):
        produce(twins, (topic, 0, TWO), Acks=acks)
    kept(twins, topic)


@scenario("Produce", first=3)
def without_an_answer(twins: Twins) -> None:
    """What stands behind it on the same connection is answered when it has been appended."""
    topic = twins.create("silent")
    twins.another().tell("Produce", **producing(twins, (topic, 0, GOOD), Acks=0, TimeoutMs=0))
    # Which of two connections is read first, nobody knows.
    twins.see("ListOffsets", at=7, until=_has_one_record, ReplicaId=-1, Topics=[_end_of(topic)])
    conversation = twins.another()
    for records in (GOOD, TWO):
        conversation.tell("Produce", **producing(twins, (topic, 0, records), Acks=0))
    conversation.ask("Produce", **producing(twins, (topic, 0, GOOD)))


@scenario("Produce", first=3)
def refused_without_an_answer(twins: Twins) -> None:
    """The connection ends: there is no other way to say it."""
    topic = twins.once(Twins.create, "refused", max_message_bytes="300")
    nowhere = twins.name("nowhere")
    for refused in ((nowhere, 0, GOOD), (topic, 1, GOOD), (topic, 0, b""), (topic, 0, batch(bytes(400)))):
        conversation: Conversation = twins.another()
        conversation.tell("Produce", **producing(twins, refused, Acks=0))
        conversation.ask("ApiVersions", at=0)
    conversation = twins.another()
    conversation.tell("Produce", **producing(twins, (topic, 0, GOOD), (nowhere, 0, GOOD), Acks=0))
    conversation.ask("ApiVersions", at=0)
    twins.see("ListOffsets", at=7, ReplicaId=-1, Topics=[_end_of(topic)])


def _has_one_record(answer: Mapping[str, Any]) -> bool:
    return bool(answer["Topics"][0]["Partitions"][0]["Offset"] == 1)


def _end_of(topic: str) -> dict[str, object]:
    return {"Name": topic, "Partitions": [{"PartitionIndex": 0, "Timestamp": -1}]}


@scenario("Produce", first=3)
def to_several_partitions(twins: Twins) -> None:
    first, second = twins.create("first", partitions=3), twins.create("second")
    produce(twins, (first, 0, GOOD), (first, 2, TWO), (second, 0, GOOD))
    produce(twins, (second, 0, TWO), (first, 1, GOOD), (first, 2, GOOD), Acks=1)
    kept(twins, first, partitions=3)
    kept(twins, second)


@scenario("Produce", first=3)
def to_what_is_not_there(twins: Twins) -> None:
    topic, nowhere = twins.once(Twins.create, "there"), twins.name("nowhere")
    produce(twins, (nowhere, 0, GOOD))
    for number in (1, -1, 2**31 - 1):
        produce(twins, (topic, number, GOOD))
    # One that is there takes its records all the same.
    produce(twins, (topic, 0, GOOD), (topic, 7, GOOD), (nowhere, 0, GOOD), Acks=1)
    kept(twins, topic)


@scenario("Produce", first=3, last=12)
def to_names_that_cannot_be(twins: Twins) -> None:
    for name in ("", ".", "..", "no such name", "x" * 250):
        produce(twins, (name, 0, GOOD))


@scenario("Produce", first=3)
def to_a_deleted_topic(twins: Twins) -> None:
    topic = twins.create("deleted")
    produce(twins, (topic, 0, GOOD))
    twins.delete(topic)
    produce(twins, (topic, 0, GOOD))


@scenario("Produce", first=13)
def to_the_id_of_a_topic_that_came_again(twins: Twins) -> None:
    topic = twins.create("again")
    old = producing(twins, (topic, 0, GOOD))
    twins.delete(topic)
    assert twins.create("again") == topic
    twins.ask("Produce", **old)
    produce(twins, (topic, 0, GOOD))
    kept(twins, topic)


@scenario("Produce", first=3)
def to_an_internal_topic(twins: Twins) -> None:
    produce(twins, ("__consumer_offsets", 0, GOOD))
    produce(twins, ("__consumer_offsets", 99, GOOD))
    produce(twins, ("__consumer_offsets", 0, GOOD), Acks=5)
    produce(twins, ("__cluster_metadata", 0, GOOD))


@scenario("Produce", first=3)
def nothing(twins: Twins) -> None:
    """No topic, no partition, no bytes, too few of them."""
    topic = twins.once(Twins.create, "nothing")
    twins.ask("Produce", Acks=-1, TimeoutMs=1_000, TopicData=[])
    twins.ask("Produce", Acks=3, TimeoutMs=1_000, TopicData=[])
    empty = {"Name": topic, "TopicId": twins.topic_id(topic), "PartitionData": []}
    twins.ask("Produce", Acks=-1, TimeoutMs=1_000, TopicData=[empty])
    for records in (b"", b"123", bytes(16), bytes(17), bytes(61), bytes(100)):
        produce(twins, (topic, 0, records))
        produce(twins, (topic, 0, records), Acks=1)
    kept(twins, topic)


@scenario("Produce", first=3)
def the_same_partition_twice(twins: Twins) -> None:
    """In two places of the request: the last word counts."""
    topic = twins.create("twice")
    request = producing(twins, (topic, 0, GOOD))
    request["TopicData"] += producing(twins, (topic, 0, TWO))["TopicData"]
    twins.ask("Produce", **request)
    kept(twins, topic)


@scenario("Produce", first=3)
def without_patience(twins: Twins) -> None:
    topic = twins.once(Twins.create, "patience")
    for timeout in (0, -1, 1, 2**31 - 1):
        produce(twins, (topic, 0, GOOD), TimeoutMs=timeout)


@scenario("Produce", first=3)
def with_too_few_replicas(twins: Twins) -> None:
    topic = twins.once(Twins.create, "safe", min_insync_replicas="2")
    for acks in (-1, 1):
        produce(twins, (topic, 0, GOOD), Acks=acks)
    kept(twins, topic)


@scenario("Produce", first=3)
def two_things_wrong_at_once(twins: Twins) -> None:
    topic, nowhere = twins.once(Twins.create, "wrong"), twins.name("nowhere")
    strict = twins.once(
        Twins.create, "strict", cleanup_policy="compact", max_message_bytes="200", min_insync_replicas="2"
    )
    late = twins.once(Twins.create, "late", message_timestamp_before_max_ms="1000", cleanup_policy="compact")
    large, keyless = batch(bytes(400)), batch(b"no key", timestamp=LONG_AGO)
    sequence_of_nobody = batch(bytes(400), producer_id=4_000, producer_epoch=0, base_sequence=7)
    for records in (BROKEN, b"", b"123", GOOD + TWO):
        produce(twins, (topic, 0, records), Acks=2)
        produce(twins, (topic, 9, records))
        produce(twins, (nowhere, 0, records))
        produce(twins, (strict, 0, records))
    produce(twins, (topic, 9, GOOD), Acks=2)
    produce(twins, (nowhere, 0, GOOD), Acks=2)
    for records in (large, keyless, sequence_of_nobody, changed(large, CRC, b"none", signed=False)):
        for acks in (-1, 1, 5):
            produce(twins, (strict, 0, records), Acks=acks)
    produce(twins, (late, 0, keyless))
    produce(twins, (late, 0, changed(keyless, CRC, b"none", signed=False)))


@scenario("Produce", first=3)
def one_of_two_partitions_wrong(twins: Twins) -> None:
    """Bytes that can be no batch refuse all of a request, other things their partition."""
    topic = twins.once(Twins.create, "half", partitions=2)
    for records in (BROKEN, b"", b"123", GOOD[:-1], GOOD + TWO, bytes(70)):
        produce(twins, (topic, 0, GOOD), (topic, 1, records))
    kept(twins, topic, partitions=2)


@scenario("Produce", first=3)
def of_a_transaction(twins: Twins) -> None:
    """Without an id all is refused, with one that nobody has begun its partition is."""
    topic = twins.once(Twins.create, "transaction", partitions=2)
    ours = batch(b"a", producer_id=5, producer_epoch=0, base_sequence=0, transactional=True, timestamp=LONG_AGO)
    produce(twins, (topic, 0, ours))
    produce(twins, (topic, 0, GOOD), (topic, 1, ours))
    produce(twins, (topic, 0, ours), Acks=7)
    produce(twins, (topic, 0, GOOD), TransactionalId="nobodys")
    kept(twins, topic, partitions=2)


@scenario("Produce", first=3)
def what_is_seen_afterwards(twins: Twins) -> None:
    topic = twins.create("seen", partitions=2)
    produce(twins, (topic, 0, TWO), (topic, 1, GOOD))
    produce(twins, (topic, 0, BROKEN))
    twins.ask("Metadata", Topics=[{"Name": topic}])
    twins.ask("ListOffsets", ReplicaId=-1, Topics=[_end_of(topic)])
    ends = [{"Partition": number, "LeaderEpoch": 0} for number in range(2)]
    twins.ask("OffsetForLeaderEpoch", Topics=[{"Topic": topic, "Partitions": ends}])
    twins.ask("DescribeProducers", Topics=[{"Name": topic, "PartitionIndexes": [0, 1]}])
    twins.ask("DescribeConfigs", Resources=[{"ResourceType": 2, "ResourceName": topic, "ConfigurationKeys": None}])
    twins.ask("Fetch", MaxWaitMs=0, Topics=[], ForgottenTopicsData=[])
    kept(twins, topic, partitions=2)


@scenario("Produce", last=2)
def at_versions_that_are_said_only(twins: Twins) -> None:
    """librdkafka looks for them; there is nothing behind them."""
    topic = twins.create("said")
    conversation = twins.another()
    conversation.ask("Produce", **producing(twins, (topic, 0, GOOD)))
    kept(twins, topic)
