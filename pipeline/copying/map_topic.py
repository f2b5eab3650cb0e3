"""The topic that keeps which offset of the source is which of the target, in the target's cluster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping

import msgspec

from barnabas.pipeline.copying.offset_map import Copied, MapKey, MapValue
from barnabas.pipeline.copying.target import Target
from barnabas.pipeline.failures import PipelineFailed

__all__ = ["CONFIG", "MapTopic"]

CONFIG = {"cleanup.policy": "compact"}


class MapTopic:
    """As it was read last."""

    def __init__(self, name: str, properties: Mapping[str, str]) -> None:
        self._name = name
        self._properties = properties
        self._next = 0
        self._copied: defaultdict[tuple[str, int], Copied] = defaultdict(Copied)

    def of(self, topic: str, partition: int) -> Copied:
        return self._copied[topic, partition]

    def refresh(self) -> None:
        """Up to where it ends now."""
        with Target(self._properties) as target:
            first, end = target.bounds(self._name, 0)
            if end < self._next:
                raise PipelineFailed(
                    f"{self._name}, which keeps where the mirror is, was created again: mirror anew "
                    "into topics that are empty, with another [mirror] prefix."
                )
            for found in target.records(self._name, 0, max(first, self._next), end):
                try:
                    key = msgspec.json.decode(found.row.key or b"", type=MapKey)
                    value = msgspec.json.decode(found.row.value or b"", type=MapValue)
                except msgspec.MsgspecError:
                    raise PipelineFailed(
                        f"{self._name} has a record at offset {found.offset} that is not a mirror's: name another "
                        "topic as [mirror] offsets-topic."
                    ) from None
                self._copied[key.topic, key.partition].apply(key, value)
            self._next = end
