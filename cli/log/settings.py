"""What holds for each topic: what its metadata says, over what a server.properties and the cluster say for all."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path

from barnabas.cli.failures import CommandFailed
from barnabas.cli.log.cluster_log import find_metadata, read_image
from barnabas.coordination.cluster.configs import ALL_BROKERS, broker_resource, topic_resource
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.java_properties import parse_properties
from barnabas.storage.checkpoints import MalformedFile
from barnabas.storage.disk import ReadOnlyDisk
from barnabas.storage.meta_properties import read_meta_properties
from barnabas.storage.topic_config import TopicConfig

__all__ = ["Settings", "add_config_argument", "directories_of", "properties_of"]


def add_config_argument(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--config", metavar="FILE", type=Path, help="the broker's server.properties: its defaults, and its log.dirs"
    )


def properties_of(arguments: argparse.Namespace) -> dict[str, str]:
    path: Path | None = arguments.config
    if path is None:
        return {}
    try:
        return parse_properties(path.read_bytes())
    except OSError as error:
        raise CommandFailed(f"{path} cannot be read ({error.strerror}): check the path after --config.") from None
    except ValueError as error:
        raise CommandFailed(f"{path} is no file of properties ({error}): name a server.properties.") from None


def directories_of(properties: Mapping[str, str]) -> list[Path]:
    """The log directories that a server.properties names."""
    names = properties.get("log.dirs") or properties.get("log.dir") or ""
    return [Path(name.strip()) for name in names.split(",") if name.strip()]


class Settings:
    """`image` is None where there is no metadata log: then every topic has the defaults."""

    def __init__(self, properties: Mapping[str, str], places: Sequence[Path]) -> None:
        self.image: ClusterImage | None = None
        self.metadata: Path | None = find_metadata(_log_directories(properties, places))
        self._server = dict(properties)
        if self.metadata is not None:
            self.image = image = read_image(self.metadata)
            self._server |= image.configs.of(ALL_BROKERS)
            self.node_id = _node_id(self.metadata.parent)
            if self.node_id is not None:
                self._server |= image.configs.of(broker_resource(self.node_id))
        try:
            self._defaults = TopicConfig.server_defaults(self._server)
        except KafkaError as error:
            raise CommandFailed(f"The broker's defaults cannot be used: {error}") from None

    def of(self, topic: str) -> TopicConfig:
        if self.image is None:
            return self._defaults
        return TopicConfig.load(self.image.configs.of(topic_resource(topic)), self._defaults)

    def is_alone(self, topic: str, partition: int) -> bool:
        """There is no other replica that could lag: all that is written is replicated."""
        found = self.image.topics.by_name.get(topic) if self.image is not None else None
        replicas = found.partitions[partition].replicas if found and partition in found.partitions else ()
        return len(replicas) <= 1


def _log_directories(properties: Mapping[str, str], places: Sequence[Path]) -> list[Path]:
    metadata = properties.get("metadata.log.dir")
    named = [Path(metadata)] if metadata else []
    around = [each for place in places for each in (place, place.resolve().parent)]
    return [*named, *around, *directories_of(properties)]


def _node_id(directory: Path) -> int | None:
    try:
        meta = read_meta_properties(ReadOnlyDisk(), directory)
    except MalformedFile:
        return None
    return meta.node_id if meta is not None else None
