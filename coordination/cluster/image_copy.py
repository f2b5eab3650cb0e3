"""A copy of an image, for whoever writes it down while the other goes on.

What lies in an image is never changed in place but for its containers, so that only those are copied: a hundred
thousand partitions take a moment, and not a second.
"""

from __future__ import annotations

from dataclasses import replace

from barnabas.coordination.cluster.configs import Configs
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.quotas import ClientQuotas
from barnabas.coordination.cluster.security import Security
from barnabas.coordination.cluster.topics import Topic, Topics

__all__ = ["copy_of"]


def copy_of(image: ClusterImage) -> ClusterImage:
    """It is for reading only: no record is applied to it."""
    assert image.transaction is None, "half a transaction is of no use to anybody"
    topics = {
        topic_id: Topic(topic.name, topic_id, dict(topic.partitions)) for topic_id, topic in image.topics.by_id.items()
    }
    security = image.security
    return replace(
        image,
        features=dict(image.features),
        brokers=dict(image.brokers),
        controllers=dict(image.controllers),
        topics=Topics(topics, {topic.name: topic for topic in topics.values()}),
        configs=Configs({resource: dict(values) for resource, values in image.configs.by_resource.items()}),
        quotas=ClientQuotas({entity: dict(values) for entity, values in image.quotas.by_entity.items()}),
        security=Security(dict(security.acls), dict(security.scram), dict(security.tokens)),
        unknown=list(image.unknown),
        registration_offsets=dict(image.registration_offsets),
    )
