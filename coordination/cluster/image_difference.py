"""What differs between two images: for whoever gets a snapshot in place of the records that led to it."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import fields
from typing import TypeVar

from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION

__all__ = ["become", "difference"]

K = TypeVar("K", bound=Hashable)


def become(image: ClusterImage, other: ClusterImage) -> ImageDelta:
    """Everybody who has `image` has what `other` has from now on, which is to be used no more."""
    delta = difference(image, other)
    for each in fields(ClusterImage):
        setattr(image, each.name, getattr(other, each.name))
    return delta


def difference(before: ClusterImage, after: ClusterImage) -> ImageDelta:
    delta = ImageDelta(
        configs=_changed(before.configs.by_resource, after.configs.by_resource),
        quotas=_changed(before.quotas.by_entity, after.quotas.by_entity),
        brokers={broker_id: before.brokers.get(broker_id) for broker_id in _changed(before.brokers, after.brokers)},
        controllers=_changed(before.controllers, after.controllers),
        features=_features(before, after),
        acls=_changed(before.security.acls, after.security.acls),
        scram=_changed(before.security.scram, after.security.scram),
        tokens=_changed(before.security.tokens, after.security.tokens),
        producer_ids=before.next_producer_id != after.next_producer_id,
    )
    for topic in before.topics:
        if topic.id not in after.topics.by_id:
            delta.topic_deleted(topic)
    for topic in after.topics:
        known = before.topics.by_id.get(topic.id)
        if known is None:
            delta.topic_created(topic)
        for number, partition in topic.partitions.items():
            earlier = None if known is None else known.partitions.get(number)
            if earlier != partition:
                delta.partition_changed(topic, number, earlier, partition)
    return delta


def _changed(before: Mapping[K, object], after: Mapping[K, object]) -> set[K]:
    return {key for key in before.keys() | after.keys() if before.get(key) != after.get(key)}


def _features(before: ClusterImage, after: ClusterImage) -> dict[str, int]:
    """Their levels before."""
    changed = {name: before.features.get(name, 0) for name in _changed(before.features, after.features)}
    if before.metadata_version != after.metadata_version:
        changed[METADATA_VERSION] = int(before.metadata_version or 0)
    return changed
