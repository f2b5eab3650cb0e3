"""Brokers asked for their own replicas, whoever leads: as a debugging consumer, which any replica answers."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Self, TypeVar

from barnabas.cli.refusals import sentence_of
from barnabas.cli.side_by_side import SideBySide
from barnabas.client.cluster import Cluster, Partition
from barnabas.client.errors import ClientError, name_of
from barnabas.client.fetching import DEBUGGING_CONSUMER, FetchFrom, fetch
from barnabas.client.offsets import by_topic
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.fetch import PartitionData
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.schema import Uuid

__all__ = ["Brokers"]

_ANSWER_BYTES = 16 << 20
"""Of one broker at a time: as many brokers as there are, so much is in memory."""

Wanted = TypeVar("Wanted", bound=Collection[Partition])
Result = TypeVar("Result")


class Brokers:
    """All are asked at once, each in a thread and over a connection of its own."""

    def __init__(self, cluster: Cluster, topic_ids: Mapping[str, Uuid], *, max_wait_ms: int, fetch_bytes: int) -> None:
        self.topic_ids = topic_ids
        self._max_wait_ms = max_wait_ms
        self._fetch_bytes = fetch_bytes
        self._asking = SideBySide(cluster)

    def close(self) -> None:
        self._asking.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def fetch(self, wanted: Mapping[int, Mapping[Partition, int]]) -> dict[tuple[Partition, int], PartitionData | str]:
        """From these offsets on, by broker: what each has, or why it does not tell."""
        return self._ask_all(wanted, self._fetch)

    def starts(
        self, wanted: Mapping[int, Sequence[Partition]], timestamp: int
    ) -> dict[tuple[Partition, int], int | str]:
        """The first offset at that time or behind it, of each replica. -1: there is none that young."""
        return self._ask_all(wanted, lambda source, own: self._starts(source, own, timestamp))

    def _ask_all(
        self,
        wanted: Mapping[int, Wanted],
        ask: Callable[[Cluster, Wanted], Mapping[Partition, Result | str]],
    ) -> dict[tuple[Partition, int], Result | str]:
        def question(own: Wanted) -> Callable[[Cluster], Mapping[Partition, Result | str]]:
            return lambda source: ask(source, own)

        found: dict[tuple[Partition, int], Result | str] = {}
        asked = [(broker, own, self._asking.ask(broker, question(own))) for broker, own in wanted.items()]
        for broker, own, answer in asked:
            told: Mapping[Partition, Result | str]
            try:
                told = dict.fromkeys(own, "it is not in service") if answer is None else answer.result()
            except (ClientError, KafkaError) as error:
                told = dict.fromkeys(own, sentence_of(error) or str(error))
            found |= {(partition, broker): told.get(partition, "it does not tell") for partition in own}
        return found

    def _fetch(self, source: Cluster, offsets: Mapping[Partition, int]) -> dict[Partition, PartitionData | str]:
        # The order is the caller's, and with it whose records come if there is not room for all.
        found = fetch(
            source,
            (FetchFrom(each, self.topic_ids.get(each.topic, Uuid.ZERO), offset) for each, offset in offsets.items()),
            partition_bytes=self._fetch_bytes,
            answer_bytes=_ANSWER_BYTES,
            max_wait_ms=self._max_wait_ms,
            replica=DEBUGGING_CONSUMER,
        )
        return {each: name_of(data.error_code) if data.error_code else data for each, data in found.items()}

    def _starts(self, source: Cluster, partitions: Sequence[Partition], timestamp: int) -> dict[Partition, int | str]:
        topics = [
            ListOffsetsTopic(
                name=topic,
                partitions=[ListOffsetsPartition(partition_index=each.number, timestamp=timestamp) for each in own],
            )
            for topic, own in by_topic(partitions).items()
        ]
        request = ListOffsetsRequest(
            replica_id=DEBUGGING_CONSUMER, topics=topics, timeout_ms=int(source.timeout_s * 1000)
        )
        answer = source.ask(request, ListOffsetsResponse)
        return {
            Partition(topic.name, each.partition_index): (name_of(each.error_code) if each.error_code else each.offset)
            for topic in answer.topics
            for each in topic.partitions
        }
