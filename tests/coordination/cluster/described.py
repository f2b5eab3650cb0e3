"""Records and images in short lines, so that a test reads as a transcript."""

from __future__ import annotations

from typing import Any

from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord, UnknownMessage


def record_line(record: MetadataRecord) -> str:
    """The record's name without "Record", and its fields that are not their defaults."""
    message = record.message
    if isinstance(message, UnknownMessage):
        return f"unknown type {message.record_type} of {len(message.data)} bytes"
    text = repr(message)
    name, _, rest = text.partition("Record(")
    return f"{name} v{record.version} ({rest}" if rest != ")" else f"{name} v{record.version}"


def partition_line(partition: Partition) -> str:
    parts = [f"leader {partition.leader} epoch {partition.leader_epoch}.{partition.partition_epoch}"]
    for name in (
        "replicas",
        "isr",
        "adding_replicas",
        "removing_replicas",
        "eligible_leader_replicas",
        "last_known_elr",
    ):
        value = getattr(partition, name)
        if value or name in ("replicas", "isr"):
            parts.append(f"{name.split('_')[0]} {','.join(map(str, value)) or 'none'}")
    if partition.leader_recovery_state:
        parts.append("recovering")
    return ", ".join(parts)


def delta_lines(delta: ImageDelta) -> list[str]:
    lines = [f"created {topic.name}" for topic in delta.topics_created.values()]
    lines += [f"deleted {topic.name}" for topic in delta.topics_deleted.values()]
    for change in delta.partitions.values():
        number = next(key for key, value in change.topic.partitions.items() if value is change.after)
        lines.append(f"{'new' if change.before is None else 'changed'} {change.topic.name}-{number}")
    lines += [f"configs of {resource.type} {resource.name!r}" for resource in sorted(delta.configs)]
    lines += [f"quotas of {dict(entity)}" for entity in sorted(delta.quotas)]
    lines += [f"broker {broker_id}" for broker_id in delta.brokers]
    lines += [f"controller {controller_id}" for controller_id in delta.controllers]
    lines += [f"feature {name} was {level}" for name, level in delta.features.items()]
    sets: dict[str, Any] = {"acls": delta.acls, "scram": delta.scram, "tokens": delta.tokens}
    lines += [f"{len(changed)} {name}" for name, changed in sets.items() if changed]
    return lines + (["producer ids"] if delta.producer_ids else [])
