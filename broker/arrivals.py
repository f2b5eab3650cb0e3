"""Which partitions come to a node with records of the metadata that have not been applied yet."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.coordination.cluster.configs import ResourceType, topic_resource
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.protocol.records.cluster_metadata import (
    ConfigRecord,
    PartitionChangeRecord,
    PartitionRecord,
    RemoveTopicRecord,
    TopicRecord,
)
from barnabas.protocol.schema import Uuid
from barnabas.storage.log_directory import TopicPartition

__all__ = ["Arrival", "arrivals"]


class Arrival(NamedTuple):
    name: TopicPartition
    topic_id: Uuid
    directory_id: Uuid | None
    overrides: Mapping[str, str]
    """The topic's own configuration."""


def arrivals(records: Iterable[MetadataRecord], image: ClusterImage, node_id: int) -> list[Arrival]:
    """With all of the records; those that leave again, or whose topic goes, are not among them. The image may have the
    records already."""
    names: dict[Uuid, str] = {}
    directories: dict[tuple[Uuid, int], Uuid | None] = {}
    overrides: dict[str, dict[str, str]] = {}
    for record, _ in records:
        match record:
            case TopicRecord():
                names[record.topic_id] = record.name
            case RemoveTopicRecord():
                directories = {key: found for key, found in directories.items() if key[0] != record.topic_id}
            case PartitionRecord() | PartitionChangeRecord() if record.replicas is not None:
                key = record.topic_id, record.partition_id
                if node_id in record.replicas:
                    directories[key] = _at(record.directories, record.replicas.index(node_id))
                else:
                    directories.pop(key, None)
            case ConfigRecord() if record.resource_type == ResourceType.TOPIC:
                name = record.resource_name
                of_topic = overrides.setdefault(name, dict(image.configs.of(topic_resource(name))))
                if record.value is None:
                    of_topic.pop(record.name, None)
                else:
                    of_topic[record.name] = record.value
            case _:
                pass
    found = []
    for (topic_id, number), directory_id in directories.items():
        topic = image.topics.by_id.get(topic_id)
        name = topic.name if topic is not None else names[topic_id]
        of_topic = overrides.setdefault(name, dict(image.configs.of(topic_resource(name))))
        found.append(Arrival(TopicPartition(name, number), topic_id, directory_id, of_topic))
    return found


def _at(directories: Sequence[Uuid] | None, place: int) -> Uuid | None:
    """None: an older metadata.version says nothing of them."""
    return directories[place] if directories else None
