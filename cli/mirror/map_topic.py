"""The topic of a mirror's map: read as a whole when a process takes over, and written by that process alone.

Every batch has to lie where the last one ended. If one does not, somebody else has written: a newer process, which this
one makes room for, or an older one that did not know yet.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Iterable, Iterator, Sequence

from barnabas.cli.failures import CommandFailed
from barnabas.cli.mirror.map import Map, MapError, Mirror, record_of
from barnabas.cli.mirror.patience import Patience
from barnabas.cli.mirror.target import Target, produce
from barnabas.cli.refusals import words_for
from barnabas.client.cluster import Cluster, Partition, check
from barnabas.client.errors import ClientError, code_of
from barnabas.client.fetching import FetchFrom, batches_of, fetch
from barnabas.client.offsets import EARLIEST, LATEST, list_offsets
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import increment_sequence
from barnabas.protocol.errors import ErrorCode, KafkaError, MalformedFrame
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.record import Record, read_records

__all__ = ["MapTopic", "read_map"]

_BATCH_BYTES = 500_000
_READ_BYTES = 4 << 20
_OVERHEAD_BYTES = 64
"""Of a record in a batch, at most."""


def read_map(cluster: Cluster, topic: str, end: int | None = None) -> Map:
    """KafkaError if there is no such topic."""
    found = Map()
    try:
        for record in _records(cluster, Partition(topic, 0), end=end):
            found.read(record)
    except (MapError, MalformedFrame) as error:
        raise CommandFailed(
            f"{topic} is no map of a mirror ({error}): name another one with --offsets-topic."
        ) from None
    return found


def _records(cluster: Cluster, at: Partition, *, first: int | None = None, end: int | None = None) -> Iterator[Record]:
    topic_id = cluster.topics([at.topic])[at.topic].topic_id
    offset = _offset(cluster, at, EARLIEST) if first is None else first
    last = _offset(cluster, at, LATEST) if end is None else end
    while offset < last:
        (leader,) = cluster.by_leader([at])
        data = fetch(
            cluster,
            [FetchFrom(at, topic_id, offset)],
            partition_bytes=_READ_BYTES,
            answer_bytes=_READ_BYTES,
            max_wait_ms=100,
            node_id=leader,
        )[at]
        check(data.error_code, f"partition {at}")
        batches = batches_of(data, offset)
        for batch in batches:
            batch.check()
            yield from (record for record in read_records(batch) if offset <= record.offset < last)
        offset = batches[-1].next_offset if batches else offset


def _offset(cluster: Cluster, at: Partition, which: int) -> int:
    told = list_offsets(cluster, {at: which})[at]
    if isinstance(told, KafkaError):
        raise told
    return told.offset


class MapTopic:
    def __init__(self, target: Target, name: str, patience: Patience, *, replication_factor: int) -> None:
        self._target = target
        self._at = Partition(name, 0)
        self._patience = patience
        self._replication_factor = replication_factor
        self._session = secrets.token_hex(8)
        self._producer = (-1, -1)
        self._sequence = 0
        self._end: int | None = None
        """Where the next batch has to lie."""

    def take_over(self, source: str, prefix: str) -> Map:
        """What the map says; nobody else writes it from now on."""
        cluster, name = self._target.cluster, self._at.topic
        self._make()
        before = cluster.retry(lambda: read_map(cluster, name))
        if before.mirror is not None and (before.mirror.source, before.mirror.prefix) != (source, prefix):
            raise CommandFailed(
                f"{name} at the target is the map of a mirror of the cluster {before.mirror.source} with the prefix "
                f"'{before.mirror.prefix}': name another one with --offsets-topic."
            )
        self._producer = self._target.producer()
        taken = self._append([record_of(Mirror(source, prefix, self._session), _now_ms(), session=self._session)])
        # What was written until then counts, and nothing behind it.
        self._end = taken + 1
        return cluster.retry(lambda: read_map(cluster, name, taken + 1))

    @property
    def session(self) -> str:
        return self._session

    def write(self, records: Sequence[Record]) -> bool:
        """False: somebody older has written in between, so that all has to be written anew. CommandFailed: somebody
        newer has."""
        alone = True
        for chunk in _chunks(records):
            base = self._append(chunk)
            if base != self._end:
                self._look_between(self._end or 0, base)
                alone = False
            self._end = base + len(chunk)
        return alone

    def _look_between(self, first: int, end: int) -> None:
        cluster = self._target.cluster
        found = Map()
        for record in _records(cluster, self._at, first=first, end=end):
            found.read(record)
        if found.mirror is not None and found.mirror.session != self._session:
            raise CommandFailed(f"Another process has taken over this mirror ({self._at.topic}): this one ends.")

    def _append(self, records: Sequence[Record]) -> int:
        """Where they lie. An answer that was lost is asked for again: the target knows the batch by its number."""
        producer_id, epoch = self._producer
        data = build_batch(records, producer_id=producer_id, producer_epoch=epoch, base_sequence=self._sequence)
        cluster = self._target.cluster
        while True:
            try:
                (leader,) = cluster.by_leader([self._at])
                timeout_ms = int(cluster.timeout_s * 1000)
                told = produce(cluster, {self._at: data}, timeout_ms, leader)[self._at]
                code = code_of(told.error_code)
                if code is ErrorCode.NONE:
                    break
                if not code.retriable:
                    why = words_for(code, told.error_message)
                    raise CommandFailed(f"The target does not take the map {self._at.topic} ({why}) [{code.name}].")
                error: ClientError | KafkaError = KafkaError(code, told.error_message or f"topic {self._at.topic}")
            except (ClientError, KafkaError) as trouble:
                error = trouble
            cluster.forget()
            self._patience.bear(self._at, error)
            self._patience.wait(self._at)
        self._patience.well(self._at)
        self._sequence = increment_sequence(self._sequence, len(records))
        return told.base_offset

    def _make(self) -> None:
        """It is compacted: of each partition only the last word counts."""
        cluster, name = self._target.cluster, self._at.topic
        if name in cluster.topics():
            return
        configs = {"cleanup.policy": "compact"}
        topic = CreatableTopic(
            name=name,
            num_partitions=1,
            replication_factor=self._replication_factor,
            configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
        )
        request = CreateTopicsRequest(topics=[topic], timeout_ms=int(cluster.timeout_s * 1000))
        (result,) = cluster.ask_controller(request, CreateTopicsResponse).topics
        if result.error_code != ErrorCode.TOPIC_ALREADY_EXISTS:
            check(result.error_code, result.error_message)


def _chunks(records: Iterable[Record]) -> Iterator[list[Record]]:
    chunk: list[Record] = []
    size = 0
    for record in records:
        own = len(record.key or b"") + len(record.value or b"") + _OVERHEAD_BYTES
        if chunk and size + own > _BATCH_BYTES:
            yield chunk
            chunk, size = [], 0
        chunk.append(record)
        size += own
    if chunk:
        yield chunk


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
