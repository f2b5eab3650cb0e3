"""How the configurations of one resource change, and what is checked of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.records.cluster_metadata import ClearElrRecord, ConfigRecord

__all__ = [
    "APPEND",
    "DELETE",
    "SET",
    "SUBTRACT",
    "ConfigOperation",
    "alter_resource",
    "changed_list",
    "clear_elr_records",
    "java_split",
    "replace_resource",
]

SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
"""What IncrementalAlterConfigs may do to a configuration."""

MIN_INSYNC_REPLICAS = "min.insync.replicas"
CORDONED_LOG_DIRS = "cordoned.log.dirs"
MAX_VALUE_LENGTH = 2**15 - 1

_COMMA = re.compile(r"\s*,\s*")


class ConfigOperation(NamedTuple):
    operation: int
    value: str | None


def alter_resource(
    controller: Controller,
    resource: ConfigResource,
    operations: Mapping[str, ConfigOperation],
    *,
    is_new: bool = False,
    forwarded: bool = True,
) -> list[MetadataRecord]:
    """Changes of single configurations; KafkaError refuses them all. `is_new`: the resource comes with them."""
    current = controller.image.configs.of(resource)
    records = []
    for name, operation in operations.items():
        value = _new_value(controller, resource, name, current.get(name), operation)
        # A broker is told again what it knows: it then loads the files anew that the value names (KAFKA-14136).
        if value != current.get(name) or resource.type == ResourceType.BROKER:
            records.append(_record(resource, name, value))
    _check(controller, resource, records, records, is_new, forwarded)
    return [MetadataRecord(record) for record in records]


def replace_resource(
    controller: Controller, resource: ConfigResource, configs: Mapping[str, str | None], *, forwarded: bool = True
) -> list[MetadataRecord]:
    """All configurations of a resource: what is not named goes."""
    current = controller.image.configs.of(resource)
    altered = [
        _record(resource, name, value)
        for name, value in configs.items()
        if value != current.get(name) or resource.type == ResourceType.BROKER
    ]
    records = altered + [_record(resource, name, None) for name in current if name not in configs]
    _check(controller, resource, records, altered, False, forwarded)
    return [MetadataRecord(record) for record in records]


def clear_elr_records(controller: Controller, records: Iterable[MetadataRecord]) -> list[MetadataRecord]:
    """Who is an eligible leader was decided by another min.insync.replicas, and must be decided anew."""
    if not controller.image.eligible_leader_replicas_enabled:
        return []
    return [
        MetadataRecord(
            ClearElrRecord(topic_name=message.resource_name if message.resource_type == ResourceType.TOPIC else "")
        )
        for message in (record.message for record in records)
        if isinstance(message, ConfigRecord) and message.name == MIN_INSYNC_REPLICAS
    ]


def java_split(text: str) -> list[str]:
    """At commas, as Java splits: nothing is left of commas at the end, but an empty text is one empty part."""
    parts = text.split(",")
    while len(parts) > 1 and not parts[-1]:
        parts.pop()
    return [] if parts == [""] and text else parts


def changed_list(parts: list[str], operation: int, value: str | None) -> str:
    """With the parts of `value` added, or taken away."""
    for part in java_split(value or ""):
        if operation == SUBTRACT and part in parts:
            parts.remove(part)
        elif operation == APPEND and part not in parts:
            parts.append(part)
    return ",".join(parts)


def _new_value(
    controller: Controller, resource: ConfigResource, name: str, current: str | None, change: ConfigOperation
) -> str | None:
    if change.operation == SET:
        return change.value
    if change.operation == DELETE:
        return None
    if change.operation not in (APPEND, SUBTRACT):
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR)
    if not controller.rules.is_list(resource.type, name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{name} is no list, to which a value could be added or taken away.")
    if current is None:
        current = controller.rules.default(resource.type, name)
    return changed_list([part for part in java_split(current or "") if part], change.operation, change.value)


def _record(resource: ConfigResource, name: str, value: str | None) -> ConfigRecord:
    return ConfigRecord(resource_type=resource.type, resource_name=resource.name, name=name, value=value)


def _check(
    controller: Controller,
    resource: ConfigResource,
    records: Sequence[ConfigRecord],
    altered: Sequence[ConfigRecord],
    is_new: bool,
    forwarded: bool,
) -> None:
    """The resource as it would be is validated as a whole; that it exists is looked at last."""
    previous = controller.image.configs.of(resource)
    configs = dict(previous)
    for record in records:
        if resource.type == ResourceType.BROKER:
            _check_broker_record(controller, resource, record, previous.get(CORDONED_LOG_DIRS), forwarded)
        if record.value is None:
            configs.pop(record.name, None)
            continue
        if record in altered and len(record.value.encode("utf-16-le", "surrogatepass")) // 2 > MAX_VALUE_LENGTH:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG, f"The value of {record.name} is longer than {MAX_VALUE_LENGTH} letters."
            )
        configs[record.name] = record.value
    controller.rules.validate(resource, configs, previous)
    if not is_new:
        _check_existence(controller, resource)


def _check_broker_record(
    controller: Controller, resource: ConfigResource, record: ConfigRecord, cordoned: str | None, forwarded: bool
) -> None:
    if record.name == MIN_INSYNC_REPLICAS and controller.image.eligible_leader_replicas_enabled:
        if resource.name:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{MIN_INSYNC_REPLICAS} is the same for all brokers while eligible leader replicas are in use.",
            )
        if record.value is None:
            raise KafkaError(
                ErrorCode.INVALID_CONFIG,
                f"{MIN_INSYNC_REPLICAS} of the cluster has to have a value while eligible leader replicas are in use.",
            )
    if record.name == CORDONED_LOG_DIRS:
        if not controller.image.required_metadata_version.cordoned_directories:
            raise KafkaError(ErrorCode.INVALID_CONFIG, f"{CORDONED_LOG_DIRS} needs metadata.version 4.3-IV0.")
        if not forwarded and record.value is not None and record.value.strip():
            known = _COMMA.split(cordoned.strip()) if cordoned else []
            # The controller does not know which directories the broker has; the broker has checked those it passes on.
            if not set(_COMMA.split(record.value.strip())) <= set(known):
                raise KafkaError(
                    ErrorCode.INVALID_CONFIG, f"Only a broker can add to {CORDONED_LOG_DIRS}: ask that broker."
                )


def _check_existence(controller: Controller, resource: ConfigResource) -> None:
    if resource.type == ResourceType.TOPIC and resource.name not in controller.image.topics.by_name:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"There is no topic {resource.name}.")
    if resource.type == ResourceType.BROKER and resource.name:
        try:
            node_id = int(resource.name)
        except ValueError:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name} is no number of a broker.") from None
        image, voters = controller.image, controller.settings.voter_ids
        if node_id not in image.brokers and node_id not in voters and node_id not in image.controllers:
            raise KafkaError(ErrorCode.BROKER_ID_NOT_REGISTERED, f"There is no node {node_id}.")
