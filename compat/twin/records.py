"""Produce and Fetch as scenarios say them: topics by name, which become ids where the version wants those."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from compat.twin.both import Both
from compat.twin.twins import Twins

__all__ = ["fetch", "fetching", "kept", "part", "produce", "producing"]

Part = tuple[str, dict[str, Any]]
ENOUGH_BYTES = 1 << 20


def producing(twins: Twins, *parts: tuple[str, int, bytes | Both | None], **fields: Any) -> dict[str, Any]:
    """Topic, partition, records."""
    topics: dict[str, list[dict[str, Any]]] = {}
    for topic, number, records in parts:
        topics.setdefault(topic, []).append({"Index": number, "Records": records})
    data = [
        {"Name": topic, "TopicId": twins.topic_id(topic), "PartitionData": several} for topic, several in topics.items()
    ]
    return {"Acks": -1, "TimeoutMs": 5_000, "TopicData": data, **fields}


def produce(twins: Twins, *parts: tuple[str, int, bytes | Both | None], **fields: Any) -> Both:
    return twins.ask("Produce", **producing(twins, *parts, **fields))


def part(topic: str, number: int = 0, offset: int = 0, **more: Any) -> Part:
    return topic, {"Partition": number, "FetchOffset": offset, "PartitionMaxBytes": ENOUGH_BYTES, **more}


def fetching(twins: Twins, *parts: Part, forgotten: Sequence[tuple[str, int]] = (), **fields: Any) -> dict[str, Any]:
    """A topic stands as often as it is said."""

    def named(topic: str) -> dict[str, Any]:
        return {"Topic": topic, "TopicId": twins.topic_id(topic)}

    return {
        "MaxWaitMs": 0,
        "MinBytes": 1,
        "Topics": [{**named(topic), "Partitions": [one]} for topic, one in parts],
        "ForgottenTopicsData": [{**named(topic), "Partitions": [number]} for topic, number in forgotten],
        **fields,
    }


def fetch(twins: Twins, *parts: Part, forgotten: Sequence[tuple[str, int]] = (), **fields: Any) -> Both:
    return twins.ask("Fetch", **fetching(twins, *parts, forgotten=forgotten, **fields))


def kept(twins: Twins, topic: str, partitions: int = 1) -> Both:
    """What both have in their logs in the end."""
    return fetch(twins, *(part(topic, number) for number in range(partitions)))
