"""The log directories of several nodes: whose each is, and which replicas lie in it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.files import segment_bases
from barnabas.cli.log.settings import Settings
from barnabas.storage.checkpoints import (
    LOG_START_OFFSET_CHECKPOINT,
    REPLICATION_OFFSET_CHECKPOINT,
    MalformedFile,
    read_offsets,
)
from barnabas.storage.directory_errors import UnknownDirectory
from barnabas.storage.directory_names import METADATA_TOPIC, NOBODYS, TopicPartition, parse_directory
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.storage.partition_metadata import read_partition_metadata

__all__ = ["NodeDirectories", "ReplicaDirectory", "read_nodes"]


@dataclass(frozen=True, slots=True)
class ReplicaDirectory:
    path: Path
    topic_id: str | None
    first_offset: int
    high_watermark: int | None
    """As it was last checkpointed: a node that was killed knew of more."""


@dataclass(slots=True)
class NodeDirectories:
    node_id: int
    directories: list[Path] = field(default_factory=list)
    replicas: dict[TopicPartition, ReplicaDirectory] = field(default_factory=dict)
    settings: Settings | None = None

    def is_compacted(self, topic: str) -> bool:
        assert self.settings is not None
        return self.settings.of(topic).compact

    @property
    def knows_topics(self) -> bool:
        """Whether the metadata's log lies here, too."""
        assert self.settings is not None
        return self.settings.image is not None


def read_nodes(places: Iterable[Path]) -> list[NodeDirectories]:
    """By their ids. A node may have several directories."""
    nodes: dict[int, NodeDirectories] = {}
    for place in places:
        node_id = _node_id(place)
        node = nodes.setdefault(node_id, NodeDirectories(node_id))
        node.directories.append(place)
        try:
            _read(place, node.replicas)
        except MalformedFile as error:
            raise CommandFailed(f"{error}.") from None
    for node in nodes.values():
        node.settings = Settings({}, node.directories)
    return [nodes[node_id] for node_id in sorted(nodes)]


def _node_id(place: Path) -> int:
    if not place.is_dir():
        raise CommandFailed(f"There is no directory {place}: name the log directories (log.dirs) of several nodes.")
    try:
        properties = read_meta_properties(ReadOnlyDisk(), place)
    except MalformedFile as error:
        raise CommandFailed(f"{error}.") from None
    if properties is None or properties.node_id is None:
        raise CommandFailed(f"{place}/meta.properties does not say of which node it is: name log directories.")
    return properties.node_id


def _read(place: Path, replicas: dict[TopicPartition, ReplicaDirectory]) -> None:
    disk = ReadOnlyDisk()
    starts = read_offsets(disk, place / LOG_START_OFFSET_CHECKPOINT)
    ends = read_offsets(disk, place / REPLICATION_OFFSET_CHECKPOINT)
    for path in sorted(place.iterdir()):
        if path.name in NOBODYS or not path.is_dir():
            continue
        try:
            partition, mark = parse_directory(path)
        except UnknownDirectory:
            continue
        if mark or partition.topic == METADATA_TOPIC:
            continue
        topic_id = read_partition_metadata(disk, path)
        bases = segment_bases(path)
        replicas[partition] = ReplicaDirectory(
            path,
            None if topic_id is None else str(topic_id),
            max(_of(starts, partition) or 0, bases[0] if bases else 0),
            _of(ends, partition),
        )


def _of(offsets: Mapping[tuple[str, int], int], partition: TopicPartition) -> int | None:
    return offsets.get((partition.topic, partition.partition))
