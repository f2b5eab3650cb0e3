"""The image, record by record."""

from __future__ import annotations

import pytest

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.configs import ConfigResource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.quotas import quota_entity
from barnabas.coordination.cluster.records import (
    MetadataRecord,
    UnknownMessage,
    UnreplayableRecord,
    decode_record,
    encode_record,
)
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.directory_ids import MIGRATING, UNASSIGNED
from barnabas.protocol.log_records import _by_type
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Data, Uuid
from barnabas.protocol.varint import uvarint
from tests.coordination.cluster import samples
from tests.coordination.cluster.described import delta_lines, partition_line, record_line
from tests.coordination.cluster.samples import DIRECTORY, OTHER_ID, TOPIC_ID


def image_of(*messages: Data) -> ClusterImage:
    image = ClusterImage()
    apply(image, samples.feature("metadata.version", 30), *messages)
    return image


def apply(image: ClusterImage, *messages: Data) -> ImageDelta:
    return image.apply_batch(map(MetadataRecord, messages), image.next_offset)


def loaded(records: list[MetadataRecord]) -> ClusterImage:
    image = ClusterImage()
    image.apply_batch(records, 0)
    return image


def test_every_type_of_record_is_there() -> None:
    types = {type(record.message) for record in samples.everything()}
    assert types == set(_by_type("cluster_metadata", "Record").values())


def test_what_all_records_come_to() -> None:
    image = loaded(samples.everything())
    assert image.finalized_features() == {
        "metadata.version": 30,
        "eligible.leader.replicas.version": 1,
        "group.version": 1,
    }
    assert list(image.brokers) == [1, 2]
    assert (image.brokers[1].fenced, image.brokers[1].in_controlled_shutdown, image.brokers[1].active) == (
        False,
        True,
        False,
    )
    assert image.brokers[1].cordoned_directories == (DIRECTORY,)
    assert not image.brokers[1].has_uncordoned_directory
    assert image.brokers[2].fenced
    assert list(image.controllers) == [3000]
    castle = image.topics.by_name["castle"]
    assert image.topics.by_id[TOPIC_ID] is castle
    assert list(image.topics) == [castle]
    assert {number: partition_line(partition) for number, partition in castle.partitions.items()} == {
        0: "leader -1 epoch 2.3, replicas 1, isr none, eligible 1, last 1",
        1: "leader 2 epoch 0.0, replicas 2,1, isr 2,1",
    }
    assert image.configs.by_resource == {
        ConfigResource(2, "castle"): {"retention.ms": "1"},
        ConfigResource(4, ""): {"min.insync.replicas": "1"},
        ConfigResource(16, "metrics"): {"interval.ms": "7"},
        ConfigResource(32, "group"): {"consumer.session.timeout.ms": "7"},
        ConfigResource(99, "of a later version"): {"a": "b"},
    }
    assert image.quotas.by_entity == {quota_entity([("user", "k"), ("client-id", None)]): {"producer_byte_rate": 5.0}}
    assert image.next_producer_id == 3000
    assert [list(image.security.acls), list(image.security.scram), list(image.security.tokens)] == [
        [Uuid([2] * 16)],
        [("k", 1)],
        ["t"],
    ]


def test_a_snapshot_tells_the_same_in_kafkas_order() -> None:
    image = loaded(samples.everything())
    records = list(snapshot_records(image))
    assert loaded(records) == image
    assert [record_line(record).split(" (")[0] for record in records] == [
        "FeatureLevel v0",
        "FeatureLevel v0",
        "FeatureLevel v0",
        "RegisterBroker v4",
        "RegisterBroker v4",
        "RegisterController v0",
        "Topic v0",
        "Partition v2",
        "Partition v2",
        "Config v0",
        "Config v0",
        "Config v0",
        "Config v0",
        "Config v0",
        "ClientQuota v0",
        "ProducerIds v0",
        "AccessControlEntry v0",
        "UserScramCredential v0",
        "DelegationToken v0",
    ]


@pytest.mark.parametrize("level", range(7, 31))
def test_an_old_cluster_gets_records_that_it_can_read(level: int) -> None:
    """Each record encodes in its version; directories, tokens and credentials are left out where nobody knew them."""
    image = loaded(samples.everything())
    apply(
        image,
        samples.feature("metadata.version", level),
        samples.feature("eligible.leader.replicas.version", level >= 23),
    )
    records = list(snapshot_records(image))
    again = loaded([decode_record(encode_record(record)) for record in records])
    assert again.finalized_features() == image.finalized_features()
    partition = again.topics.by_name["castle"].partitions[0]
    assert partition.directories == ((DIRECTORY,) if level >= 17 else (MIGRATING,))
    assert partition.eligible_leader_replicas == ((1,) if level >= 23 else ())
    assert bool(again.security.tokens) == (level >= 14)
    assert bool(again.security.scram) == (level >= 11)
    assert bool(again.controllers) == (level >= 15)
    assert again.brokers[1].cordoned_directories == ((DIRECTORY,) if level >= 30 else None)


def test_what_a_batch_changed() -> None:
    image = image_of()
    first = apply(
        image,
        r.TopicRecord("a", TOPIC_ID),
        samples.partition(0, [1]),
        samples.partition(1, [1]),
        samples.config(2, "a", "x", "1"),
    )
    assert delta_lines(first) == ["created a", "new a-0", "new a-1", "configs of 2 'a'"]
    moved = samples.change()
    moved.leader = 1
    second = apply(image, moved, samples.quota(1.0, user=None), samples.config(4, "", "y", "1"), r.NoOpRecord())
    assert delta_lines(second) == ["changed a-0", "configs of 4 ''", "quotas of {'user': None}"]
    assert second.partitions[TOPIC_ID, 0].before == first.partitions[TOPIC_ID, 0].after
    third = apply(
        image, r.RemoveTopicRecord(TOPIC_ID), r.TopicRecord("a", OTHER_ID), samples.partition(0, [1], OTHER_ID)
    )
    assert delta_lines(third) == ["created a", "deleted a", "new a-0", "configs of 2 'a'"]
    assert list(third.topics_deleted[TOPIC_ID].partitions) == [0, 1]
    assert not apply(image, r.NoOpRecord())


def test_a_topic_that_comes_and_goes_within_a_batch_was_never_there() -> None:
    delta = apply(image_of(), r.TopicRecord("a", TOPIC_ID), samples.partition(0, [1]), r.RemoveTopicRecord(TOPIC_ID))
    assert delta_lines(delta) == []


def test_changes_add_up_over_batches() -> None:
    image = image_of(r.TopicRecord("a", TOPIC_ID), samples.partition(0, [1]))
    before = image.topics.by_name["a"].partitions[0]
    delta = ImageDelta()
    for _ in range(2):
        moved = samples.change()
        moved.leader = 1
        image.apply_batch([MetadataRecord(moved, 2)], image.next_offset, delta=delta)
    change = delta.partitions[TOPIC_ID, 0]
    assert change.before is before
    assert change.after.leader_epoch == 2


def test_a_transaction_counts_when_it_ends() -> None:
    image = image_of()
    begun = apply(image, r.BeginTransactionRecord(), r.TopicRecord("a", TOPIC_ID))
    assert delta_lines(begun) == []
    assert "a" not in image.topics.by_name
    assert image.transaction is not None
    assert image.transaction.start_offset == 1
    ended = apply(image, samples.partition(0, [1]), samples.broker(1, 77), r.EndTransactionRecord())
    assert delta_lines(ended) == ["created a", "new a-0", "broker 1"]
    assert image.registration_offsets == {1: 4}, "where the record stands, not where the transaction ended"


def test_a_transaction_that_is_aborted_never_was() -> None:
    image = image_of()
    apply(image, r.BeginTransactionRecord(), r.TopicRecord("a", TOPIC_ID))
    delta = apply(image, r.AbortTransactionRecord(), r.TopicRecord("a", OTHER_ID))
    assert delta_lines(delta) == ["created a"]
    assert image.topics.by_name["a"].id == OTHER_ID


@pytest.mark.parametrize(
    "messages",
    [
        [r.EndTransactionRecord()],
        [r.AbortTransactionRecord()],
        [r.BeginTransactionRecord(), r.BeginTransactionRecord()],
        [samples.partition(0, [1])],
        [samples.change()],
        [r.TopicRecord("a", TOPIC_ID), samples.change()],
        [r.RemoveTopicRecord(TOPIC_ID)],
        [r.TopicRecord("a", TOPIC_ID), r.TopicRecord("a", OTHER_ID)],
        [r.TopicRecord("a", TOPIC_ID), r.TopicRecord("b", TOPIC_ID)],
        [r.ClearElrRecord("never")],
        [r.FenceBrokerRecord(1, 5)],
        [samples.broker(1, 5), r.UnfenceBrokerRecord(1, 6)],
        [samples.broker(1, 5), r.UnregisterBrokerRecord(1, 6)],
        [samples.broker(1, 5), r.BrokerRegistrationChangeRecord(1, 5, fenced=2)],
        [samples.broker(1, 5), r.BrokerRegistrationChangeRecord(1, 5, in_controlled_shutdown=-1)],
        [r.RemoveAccessControlEntryRecord(TOPIC_ID)],
        [samples.feature("metadata.version", 6)],
        [samples.feature("metadata.version", 32)],
        [r.TopicRecord("a", TOPIC_ID), r.PartitionRecord(0, TOPIC_ID, [1, 2], directories=[DIRECTORY])],
        [r.TopicRecord("a", TOPIC_ID), r.PartitionRecord(0, TOPIC_ID, [1], leader_recovery_state=7)],
    ],
    ids=lambda messages: ", ".join(type(message).__name__.removesuffix("Record") for message in messages),
)
def test_a_log_that_no_controller_wrote(messages: list[Data]) -> None:
    image = image_of()
    with pytest.raises(UnreplayableRecord, match=f"at offset {len(messages)} cannot be applied"):
        apply(image, *messages)


def test_records_of_a_later_version_are_kept_as_they_came() -> None:
    later = uvarint(1) + uvarint(200) + uvarint(3) + b"whatever"
    newer_topic = uvarint(1) + uvarint(2) + uvarint(9) + b"more"
    image = image_of(r.TopicRecord("a", TOPIC_ID))
    image.apply_batch([decode_record(later), decode_record(newer_topic)], image.next_offset)
    assert image.unknown == [later, newer_topic]
    records = list(snapshot_records(image))
    assert [encode_record(record) for record in records[-2:]] == [later, newer_topic]
    assert records[-2] == MetadataRecord(UnknownMessage(200, later), 3)


def test_names_that_metrics_could_not_tell_apart() -> None:
    image = image_of(r.TopicRecord("a.b", TOPIC_ID), r.TopicRecord("plain", OTHER_ID))
    assert [image.topics.collision(name) for name in ("a_b", "a.b", "a-b", "plain")] == ["a.b", "a.b", None, None]
    apply(image, r.RemoveTopicRecord(TOPIC_ID))
    assert image.topics.collision("a_b") is None


def test_where_a_brokers_new_replicas_go() -> None:
    def default(*directories: Uuid) -> Uuid:
        record = samples.broker(1, 5)
        record.log_dirs = list(directories)
        return BrokerRegistration.from_record(record).default_directory

    assert default() == MIGRATING
    assert default(DIRECTORY) == DIRECTORY
    assert default(DIRECTORY, OTHER_ID) == UNASSIGNED
