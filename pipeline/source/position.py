"""Where a stream is: an offset for each partition, with the id of its topic, as Spark keeps it in its checkpoint."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.client.cluster import Partition
from barnabas.pipeline.source.errors import SourceError
from barnabas.protocol.schema import Uuid

__all__ = ["Position"]


@dataclass(frozen=True)
class Position:
    offsets: Mapping[Partition, int]
    topic_ids: Mapping[str, Uuid]
    began: Mapping[Partition, int] = field(default_factory=dict)
    """With the end of the first batch: where it began. Spark does not keep that, and asks for it again if it stops
    before the batch is done: by then, "latest" would be another offset."""

    def to_json(self) -> dict[str, Any]:
        """In order: Spark takes two of them for the same if their texts are."""
        told: dict[str, Any] = {}
        for topic, topic_id in sorted(self.topic_ids.items()):
            told[topic] = {"id": str(topic_id), "offsets": _of_topic(topic, self.offsets)}
            if self.began:
                told[topic]["began"] = _of_topic(topic, self.began)
        return told

    @classmethod
    def from_json(cls, told: Mapping[str, Any]) -> Position:
        try:
            return cls(
                {Partition(topic, int(key)): at for topic, own in told.items() for key, at in own["offsets"].items()},
                {topic: Uuid.parse(own["id"]) for topic, own in told.items()},
                {
                    Partition(topic, int(key)): at
                    for topic, own in told.items()
                    for key, at in own.get("began", {}).items()
                },
            )
        except (ValueError, TypeError, KeyError, AttributeError):
            raise SourceError(
                f"The checkpoint has offsets of another source ({str(told)[:200]}): set another checkpointLocation."
            ) from None


def _of_topic(topic: str, offsets: Mapping[Partition, int]) -> dict[str, int]:
    return {str(each.number): offset for each, offset in sorted(offsets.items()) if each.topic == topic}
