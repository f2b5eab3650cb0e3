"""A copy of an image, for whoever goes on with it apart from the other, or writes it down.

What lies in an image is never changed in place but for its containers, so that only those are copied: a hundred
thousand partitions take a moment, and not a second.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordination.cluster.configs import Configs
from barnabas.coordination.cluster.image import ClusterImage, OpenTransaction
from barnabas.coordination.cluster.quotas import ClientQuotas
from barnabas.coordination.cluster.security import Security
from barnabas.coordination.cluster.topics import Topics

__all__ = ["copy_of"]


def copy_of(image: ClusterImage) -> ClusterImage:
    security, held = image.security, image.transaction
    return replace(
        image,
        features=dict(image.features),
        brokers=dict(image.brokers),
        controllers=dict(image.controllers),
        topics=_copy_of_topics(image.topics),
        configs=Configs({resource: dict(values) for resource, values in image.configs.by_resource.items()}),
        quotas=ClientQuotas({entity: dict(values) for entity, values in image.quotas.by_entity.items()}),
        security=Security(dict(security.acls), dict(security.scram), dict(security.tokens)),
        unknown=list(image.unknown),
        transaction=None if held is None else OpenTransaction(held.start_offset, list(held.records)),
        registration_offsets=dict(image.registration_offsets),
    )


def _copy_of_topics(topics: Topics) -> Topics:
    copy = Topics()
    for topic in topics:
        copy.add(topic.name, topic.id).partitions = dict(topic.partitions)
    return copy
