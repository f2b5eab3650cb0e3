"""An image as records, in the order in which Kafka writes a snapshot: metadata.version first, because it says how to
read the rest."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION
from barnabas.coordination.cluster.quotas import entity_data
from barnabas.coordination.cluster.records import MetadataRecord, decode_record
from barnabas.protocol.records.cluster_metadata import (
    ClientQuotaRecord,
    ConfigRecord,
    FeatureLevelRecord,
    ProducerIdsRecord,
    TopicRecord,
)

__all__ = ["snapshot_records"]


def snapshot_records(image: ClusterImage) -> Iterator[MetadataRecord]:
    """What the image's metadata.version does not know is left out, as Kafka leaves it out. Records of later versions
    come last: what they build on is there then."""
    yield from _features(image)
    yield from _nodes(image)
    yield from _topics(image)
    yield from _configs(image)
    yield from _quotas(image)
    if image.next_producer_id >= 0:
        yield MetadataRecord(ProducerIdsRecord(broker_id=-1, next_producer_id=image.next_producer_id))
    yield from _security(image)
    for data in image.unknown:
        yield decode_record(data)


def _features(image: ClusterImage) -> Iterator[MetadataRecord]:
    level = int(image.required_metadata_version)
    yield MetadataRecord(FeatureLevelRecord(name=METADATA_VERSION, feature_level=level))
    for name, level in image.features.items():
        yield MetadataRecord(FeatureLevelRecord(name=name, feature_level=level))


def _nodes(image: ClusterImage) -> Iterator[MetadataRecord]:
    version = image.required_metadata_version
    for broker_id in sorted(image.brokers):
        yield image.brokers[broker_id].to_record(version)
    if version.controller_registration:
        for controller_id in sorted(image.controllers):
            yield image.controllers[controller_id].to_record()


def _topics(image: ClusterImage) -> Iterator[MetadataRecord]:
    version = image.required_metadata_version
    elr = image.eligible_leader_replicas_enabled
    for topic in image.topics:
        yield MetadataRecord(TopicRecord(name=topic.name, topic_id=topic.id))
        for number in sorted(topic.partitions):
            yield topic.partitions[number].to_record(topic.id, number, version, eligible_leader_replicas=elr)


def _configs(image: ClusterImage) -> Iterator[MetadataRecord]:
    for resource, configs in image.configs.by_resource.items():
        for name, value in configs.items():
            yield MetadataRecord(
                ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)
            )


def _quotas(image: ClusterImage) -> Iterator[MetadataRecord]:
    for entity, quotas in image.quotas.by_entity.items():
        for key, value in quotas.items():
            yield MetadataRecord(ClientQuotaRecord(entity=entity_data(entity), key=key, value=value))


def _security(image: ClusterImage) -> Iterator[MetadataRecord]:
    version = image.required_metadata_version
    yield from map(MetadataRecord, image.security.acls.values())
    if version.scram:
        yield from map(MetadataRecord, image.security.scram.values())
    if version.delegation_tokens:
        yield from map(MetadataRecord, image.security.tokens.values())
