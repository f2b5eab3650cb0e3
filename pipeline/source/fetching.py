"""The batches of one partition from an offset on, asked of whoever leads it."""

from __future__ import annotations

from typing import NamedTuple

from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.deadline import Deadline
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.pipeline.source.errors import SourceError
from barnabas.pipeline.source.options import SourceOptions
from barnabas.pipeline.source.patience import Patience
from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.fetch import (
    AbortedTransaction,
    FetchPartition,
    FetchRequest,
    FetchResponse,
    FetchTopic,
)
from barnabas.protocol.schema import Uuid

__all__ = ["Bounds", "Fetched", "Fetcher", "Gone"]

_LAST_VERSION_WITH_NAMES = 12
_MAX_WAIT_MS = 500
_GONE_AFTER_S = 3.0
"""A broker that has just started may not know all topics yet."""


class Fetched(NamedTuple):
    batches: list[Batch]
    aborted: list[AbortedTransaction]
    next_offset: int
    readable_end: int
    """The high watermark, or the last stable offset."""


class Bounds(NamedTuple):
    """Of a partition that does not have the offset."""

    first: int
    end: int


class Gone(NamedTuple):
    """The topic was deleted, or it is another of the same name."""

    is_another: bool


class Fetcher:
    def __init__(self, options: SourceOptions, partition: Partition, topic_id: Uuid) -> None:
        self._options = options
        self._partition = partition
        self._topic_id = topic_id
        self._cluster: Cluster = options.connect()
        self._patience = Patience(self._cluster, options.patience_s, is_known=True)

    def stop(self) -> None:
        """From another thread than that which fetches."""
        self._patience.end()

    def close(self) -> None:
        self._cluster.close()

    def fetch(self, offset: int) -> Fetched | Bounds | Gone:
        """Waits a moment for records. SourceError when the partition cannot be read for as long as that may be."""
        gone_at = Deadline(min(_GONE_AFTER_S, self._options.patience_s / 2))

        def attempt() -> Fetched | Bounds | Gone:
            try:
                return self._fetch(offset)
            except KafkaError as error:
                if error.code is ErrorCode.OFFSET_OUT_OF_RANGE:
                    return self._bounds()
                missing = self._gone() if error.code in _MISSING else None
                if missing is None or not (missing.is_another or gone_at.is_over):
                    raise
                return missing

        return self._patience.ask(f"The partition {self._partition}", attempt)

    def _fetch(self, offset: int) -> Fetched:
        (leader,) = self._cluster.by_leader([self._partition])
        wanted = FetchPartition(
            partition=self._partition.number, fetch_offset=offset, partition_max_bytes=self._options.fetch_bytes
        )
        request = FetchRequest(
            max_wait_ms=_MAX_WAIT_MS,
            min_bytes=1,
            max_bytes=self._options.fetch_bytes,
            isolation_level=int(self._options.committed),
            topics=[FetchTopic(topic=self._partition.topic, topic_id=self._topic_id, partitions=[wanted])],
        )
        at_most = None if self._topic_id != Uuid.ZERO else _LAST_VERSION_WITH_NAMES
        answer = self._cluster.ask_node(leader, request, FetchResponse, at_most=at_most)
        check(answer.error_code)
        (told,) = answer.responses[0].partitions
        check(told.error_code, f"partition {self._partition}")
        records = told.records or b""
        assert isinstance(records, bytes | bytearray | memoryview), "what came is in memory"
        try:
            batches = [each for each in iterate_batches(records) if each.last_offset >= offset]
            for each in batches:
                each.check()
        except MalformedFrame as error:
            raise SourceError(
                f"The records of {self._partition} from offset {offset} on are damaged ({error}): begin behind them, "
                "by startingOffsets, or have the broker's log repaired."
            ) from None
        return Fetched(
            batches,
            (told.aborted_transactions or []) if self._options.committed else [],
            batches[-1].next_offset if batches else offset,
            told.last_stable_offset if self._options.committed else told.high_watermark,
        )

    def _bounds(self) -> Bounds:
        found = []
        for when in (EARLIEST, LATEST):
            answer = list_offsets(self._cluster, {self._partition: when})[self._partition]
            if isinstance(answer, KafkaError):
                raise answer
            found.append(answer.offset)
        return Bounds(*found)

    def _gone(self) -> Gone | None:
        """None: it is there, and whoever was asked did not know."""
        (topic,) = self._cluster.metadata([self._partition.topic]).topics
        if topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION:
            return Gone(is_another=False)
        check(topic.error_code, f"topic {self._partition.topic}")
        if Uuid.ZERO not in (self._topic_id, topic.topic_id) and topic.topic_id != self._topic_id:
            return Gone(is_another=True)
        return None


_MISSING = frozenset(
    {ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, ErrorCode.UNKNOWN_TOPIC_ID, ErrorCode.INCONSISTENT_TOPIC_ID}
)
