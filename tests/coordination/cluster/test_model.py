"""Whatever the records: a snapshot tells all of them, and a batch changes what its delta says."""

from __future__ import annotations

import copy
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_difference import become, difference
from barnabas.coordination.cluster.records import MetadataRecord, UnreplayableRecord, decode_record, encode_record
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.records import cluster_metadata as r
from barnabas.protocol.schema import Data, Uuid
from tests.coordination.cluster import samples

IDS = [Uuid([number] * 16) for number in range(1, 4)]
NAMES = ["castle", "vil.lage", "vil_lage"]
BROKERS = [1, 2, 3]

ids = st.sampled_from(IDS)
names = st.sampled_from(NAMES)
brokers = st.sampled_from(BROKERS)
replicas = st.lists(brokers, min_size=1, max_size=3, unique=True)
maybe_replicas = st.none() | st.lists(brokers, max_size=3, unique=True)
values = st.none() | st.sampled_from(["1", "2", ""])


def changes(draw: Any) -> r.PartitionChangeRecord:
    return r.PartitionChangeRecord(
        partition_id=draw(st.integers(0, 1)),
        topic_id=draw(ids),
        isr=draw(maybe_replicas),
        leader=draw(st.sampled_from([-2, -1, 1, 2])),
        eligible_leader_replicas=draw(maybe_replicas),
        last_known_elr=draw(maybe_replicas),
        adding_replicas=draw(maybe_replicas),
        leader_recovery_state=draw(st.sampled_from([-1, 0, 1])),
    )


messages: st.SearchStrategy[Data] = st.one_of(
    st.builds(r.TopicRecord, names, ids),
    st.builds(r.RemoveTopicRecord, ids),
    st.builds(lambda number, who, topic: samples.partition(number, who, topic), st.integers(0, 1), replicas, ids),
    st.composite(changes)(),
    st.builds(r.ClearElrRecord, st.just("") | names),
    st.builds(samples.config, st.sampled_from([2, 4, 16, 32, 77]), names | st.just(""), names, values),
    st.builds(
        lambda value, remove, user: samples.quota(value, remove, user=user),
        st.floats(allow_nan=False),
        st.booleans(),
        st.none() | names,
    ),
    st.builds(samples.broker, brokers, st.integers(5, 6)),
    st.builds(r.FenceBrokerRecord, brokers, st.integers(5, 6)),
    st.builds(r.UnfenceBrokerRecord, brokers, st.integers(5, 6)),
    st.builds(r.UnregisterBrokerRecord, brokers, st.integers(5, 6)),
    st.builds(samples.feature, st.sampled_from(["group.version", "of.later"]), st.integers(0, 2)),
    st.builds(r.ProducerIdsRecord, brokers, st.just(5), st.integers(0, 9)),
    st.builds(samples.acl, st.integers(1, 3)),
    st.builds(r.RemoveAccessControlEntryRecord, ids),
    st.builds(samples.scram, names),
    st.builds(r.RemoveUserScramCredentialRecord, names, st.just(1)),
    st.builds(samples.token, names),
    st.builds(r.RemoveDelegationTokenRecord, names),
    st.builds(samples.controller),
    st.just(r.BeginTransactionRecord()),
    st.just(r.EndTransactionRecord()),
    st.just(r.AbortTransactionRecord()),
    st.just(r.NoOpRecord()),
)


def versioned(message: Data) -> MetadataRecord:
    versions = {r.RegisterBrokerRecord: 4, r.PartitionRecord: 2, r.PartitionChangeRecord: 2}
    return MetadataRecord(message, versions.get(type(message), 0))


def replayed(stream: list[Data]) -> ClusterImage:
    """The image of those records that can follow each other."""
    image = ClusterImage()
    first = [samples.feature("metadata.version", 30), samples.feature("eligible.leader.replicas.version", 1)]
    for message in [*first, *stream]:
        try:
            image.apply_batch([decode_record(encode_record(versioned(message)))], image.next_offset)
        except UnreplayableRecord:
            continue
    return image


@settings(max_examples=120, deadline=None)
@given(st.lists(messages, max_size=60))
def test_a_snapshot_tells_everything(stream: list[Data]) -> None:
    image = replayed(stream)
    written = [encode_record(record) for record in snapshot_records(image)]
    again = ClusterImage()
    again.apply_batch(map(decode_record, written), 0)
    assert again == image
    assert [encode_record(record) for record in snapshot_records(again)] == written


@settings(max_examples=80, deadline=None)
@given(st.lists(messages, max_size=40), st.lists(messages, max_size=15))
def test_what_a_delta_does_not_name_is_as_it_was(before: list[Data], batch: list[Data]) -> None:
    image = replayed(before)
    if image.transaction is not None:
        image.apply_batch([MetadataRecord(r.AbortTransactionRecord())], image.next_offset)
    old = copy.deepcopy(image)
    delta = ImageDelta()
    for message in batch:
        try:
            image.apply_batch([versioned(message)], image.next_offset, delta=delta)
        except UnreplayableRecord:
            continue
    of_partitions = {key[0] for key in delta.partitions}
    topics = changed(old.topics.by_id, image.topics.by_id) - of_partitions
    # One that went and came again under its id is named twice, and may be as it was.
    once = delta.topics_created.keys() ^ delta.topics_deleted.keys()
    assert once - of_partitions <= topics <= delta.topics_created.keys() | delta.topics_deleted.keys()
    for topic, number, partition in image.topics.partitions():
        change = delta.partitions.get((topic.id, number))
        assert (change.after if change else old.topics.partition(topic.id, number)) == partition
        if change and topic.id not in delta.topics_created:
            assert change.before == old.topics.partition(topic.id, number)
    assert changed(old.configs.by_resource, image.configs.by_resource) <= delta.configs
    assert changed(old.quotas.by_entity, image.quotas.by_entity) <= delta.quotas
    assert changed(old.brokers, image.brokers) <= delta.brokers.keys()
    assert changed(old.features, image.features) <= delta.features.keys()
    assert changed(old.security.acls, image.security.acls) <= delta.acls
    assert changed(old.security.scram, image.security.scram) <= delta.scram
    assert changed(old.security.tokens, image.security.tokens) <= delta.tokens
    assert all(delta.brokers[broker_id] == old.brokers.get(broker_id) for broker_id in delta.brokers)


def changed(before: dict[Any, Any], after: dict[Any, Any]) -> set[Any]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


@settings(max_examples=80, deadline=None)
@given(st.lists(messages, max_size=40), st.lists(messages, max_size=40))
def test_an_image_that_becomes_another_says_what_is_new(before: list[Data], after: list[Data]) -> None:
    image, other = replayed(before), replayed(after)
    old, expected = copy.deepcopy(image), copy.deepcopy(other)
    assert not difference(image, copy.deepcopy(image))
    delta = become(image, other)
    assert image == expected
    assert delta.topics_created.keys() == expected.topics.by_id.keys() - old.topics.by_id.keys()
    assert delta.topics_deleted.keys() == old.topics.by_id.keys() - expected.topics.by_id.keys()
    for topic, number, partition in expected.topics.partitions():
        known = old.topics.by_id.get(topic.id)
        earlier = None if known is None else known.partitions.get(number)
        change = delta.partitions.get((topic.id, number))
        assert (change is None) == (earlier == partition)
        assert change is None or (change.before, change.after) == (earlier, partition)
    assert delta.configs == changed(old.configs.by_resource, expected.configs.by_resource)
    assert delta.quotas == changed(old.quotas.by_entity, expected.quotas.by_entity)
    assert delta.features.keys() == changed(old.features, expected.features)
    assert delta.brokers == {
        broker_id: old.brokers.get(broker_id) for broker_id in changed(old.brokers, expected.brokers)
    }
    assert delta.acls == changed(old.security.acls, expected.security.acls)
    assert delta.scram == changed(old.security.scram, expected.security.scram)
    assert delta.tokens == changed(old.security.tokens, expected.security.tokens)
