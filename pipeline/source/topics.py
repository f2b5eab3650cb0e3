"""Which partitions a subscription has now, and the offsets of the bounds that the options name."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from typing import TypeVar

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.offsets import EARLIEST, LATEST, UNKNOWN, list_offsets
from barnabas.pipeline.source.bounds import Bound
from barnabas.pipeline.source.errors import SourceError
from barnabas.pipeline.source.options import SourceOptions, Subscription
from barnabas.pipeline.source.patience import Patience
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid

__all__ = ["Topics"]

Result = TypeVar("Result")


class Topics:
    """What is asked of the cluster when a query is planned. It waits while the cluster is away for a moment."""

    def __init__(self, options: SourceOptions) -> None:
        self._options = options
        self._cluster = options.connect()
        self._patience = Patience(self._cluster, options.patience_s, is_known=False)

    def close(self) -> None:
        self._cluster.close()

    def partitions(self) -> dict[Partition, Uuid]:
        """With the ids of their topics, which old brokers do not tell. SourceError for what is named and not there."""
        subscription = self._options.subscription
        found = self._patiently(self._list)
        for missing in sorted(_names(subscription) - {each.topic for each in found}):
            raise SourceError(f"The topic {missing} is not there: check its name in subscribe, or create it first.")
        for absent in sorted(subscription.partitions - found.keys()):
            raise SourceError(f"The partition {absent} is not there: check its number in assign.")
        if not found:
            raise SourceError(f"No topic matches subscribePattern={subscription.pattern}: it matches whole names.")
        return found

    def now(self) -> tuple[dict[Partition, Uuid], dict[Partition, int]]:
        """What there is of all that, and where it ends. At once: a topic may go between the one question and the
        other."""

        def attempt() -> tuple[dict[Partition, Uuid], dict[Partition, int]]:
            there = self._list()
            return there, _offsets(self._cluster, dict.fromkeys(there, LATEST), self._options.committed)

        return self._patiently(attempt)

    def earliest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._offsets(dict.fromkeys(partitions, EARLIEST))

    def latest(self, partitions: Iterable[Partition]) -> dict[Partition, int]:
        return self._offsets(dict.fromkeys(partitions, LATEST))

    def starts(self, bound: Bound, partitions: set[Partition]) -> dict[Partition, int]:
        found = self._resolve(bound, partitions)
        for partition in sorted(each for each, offset in found.items() if offset == UNKNOWN):
            if not self._options.latest_if_too_young:
                raise SourceError(
                    f"No record of {partition} is as young as {bound.option} says: name an earlier time, or set "
                    "startingOffsetsByTimestampStrategy to latest."
                )
        return found | self.latest([each for each, offset in found.items() if offset == UNKNOWN])

    def ends(self, bound: Bound, partitions: set[Partition]) -> dict[Partition, int]:
        """Where no record is as young as the time that is named, the end."""
        found = self._resolve(bound, partitions)
        return found | self.latest([each for each, offset in found.items() if offset == UNKNOWN])

    def _resolve(self, bound: Bound, partitions: set[Partition]) -> dict[Partition, int]:
        wanted = bound.of(partitions)
        asked = {each: where for each, where in wanted.items() if bound.by_time or where < 0}
        return wanted | self._offsets(asked)

    def _offsets(self, wanted: Mapping[Partition, int]) -> dict[Partition, int]:
        return self._patiently(lambda: _offsets(self._cluster, wanted, self._options.committed)) if wanted else {}

    def _list(self) -> dict[Partition, Uuid]:
        return _partitions_of(self._cluster, self._options.subscription)

    def _patiently(self, attempt: Callable[[], Result]) -> Result:
        return self._patience.ask("The cluster", attempt)


def _names(subscription: Subscription) -> set[str]:
    return {*subscription.topics, *(each.topic for each in subscription.partitions)}


def _partitions_of(cluster: Cluster, subscription: Subscription) -> dict[Partition, Uuid]:
    found: dict[Partition, Uuid] = {}
    for topic in cluster.metadata(_names(subscription) or None).topics:
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION or topic.name is None:
            continue
        if subscription.pattern and (topic.is_internal or not re.fullmatch(subscription.pattern, topic.name)):
            continue
        if topic.error_code:
            raise KafkaError(ErrorCode(topic.error_code), f"topic {topic.name}")
        own = {Partition(topic.name, each.partition_index): topic.topic_id for each in topic.partitions}
        if subscription.partitions:
            own = {each: topic_id for each, topic_id in own.items() if each in subscription.partitions}
        found |= own
    return found


def _offsets(cluster: Cluster, wanted: Mapping[Partition, int], committed: bool) -> dict[Partition, int]:
    offsets = {}
    for partition, answer in list_offsets(cluster, wanted, committed=committed).items():
        if isinstance(answer, KafkaError):
            raise answer
        offsets[partition] = answer.offset
    return offsets
