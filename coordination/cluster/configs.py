"""Configurations that are kept in the metadata, by the resource that they belong to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from typing import NamedTuple

from barnabas.protocol.records.cluster_metadata import ConfigRecord

__all__ = ["ALL_BROKERS", "ConfigResource", "Configs", "ResourceType", "broker_resource", "topic_resource"]


class ResourceType(IntEnum):
    UNKNOWN = 0
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32

    @classmethod
    def _missing_(cls, value: object) -> ResourceType:  # noqa: ARG003 - whatever it is
        return cls.UNKNOWN


class ConfigResource(NamedTuple):
    type: int
    """A ResourceType, or the number of one that only later versions know."""
    name: str


ALL_BROKERS = ConfigResource(ResourceType.BROKER, "")
"""What holds for every broker that does not say otherwise."""


def topic_resource(name: str) -> ConfigResource:
    return ConfigResource(ResourceType.TOPIC, name)


def broker_resource(broker_id: int) -> ConfigResource:
    return ConfigResource(ResourceType.BROKER, str(broker_id))


@dataclass(slots=True)
class Configs:
    """A resource without configurations has no entry."""

    by_resource: dict[ConfigResource, dict[str, str]] = field(default_factory=dict)

    def of(self, resource: ConfigResource) -> Mapping[str, str]:
        return self.by_resource.get(resource, {})

    def apply(self, record: ConfigRecord) -> ConfigResource:
        resource = ConfigResource(record.resource_type, record.resource_name)
        configs = self.by_resource.setdefault(resource, {})
        if record.value is None:
            configs.pop(record.name, None)
        else:
            configs[record.name] = record.value
        if not configs:
            del self.by_resource[resource]
        return resource

    def remove(self, resource: ConfigResource) -> bool:
        return self.by_resource.pop(resource, None) is not None
