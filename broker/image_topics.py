"""What groups ask of the metadata: topics by name and by id."""

from __future__ import annotations

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.protocol.schema import Uuid

__all__ = ["ImageTopics"]


class ImageTopics:
    def __init__(self, image: ClusterImage) -> None:
        self._image = image

    def name_of(self, topic_id: Uuid) -> str | None:
        topic = self._image.topics.by_id.get(topic_id)
        return None if topic is None else topic.name

    def id_of(self, name: str) -> Uuid | None:
        topic = self._image.topics.by_name.get(name)
        return None if topic is None else topic.id

    def has_partition(self, name: str, partition: int) -> bool:
        topic = self._image.topics.by_name.get(name)
        return topic is not None and partition in topic.partitions
