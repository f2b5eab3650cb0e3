"""How old the record at an offset is. No question of Kafka's answers that but a fetch of the batch it is in."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.client.cluster import Cluster, Partition
from barnabas.client.spreading import ask_leaders, error_of
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import KafkaError, MalformedFrame
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.record import read_records

__all__ = ["timestamp_in", "timestamps_at"]

_LAST_VERSION_WITH_NAMES = 12
"""Of Fetch: from the next on, topics have ids instead."""
_AS_LITTLE_AS_POSSIBLE = 1
"""One batch comes whatever its size."""


def timestamps_at(cluster: Cluster, offsets: Mapping[Partition, int]) -> dict[Partition, int | KafkaError | None]:
    """Of the first record at that offset or behind it, in milliseconds; None where there is none. A question for each
    partition: only the first of a fetch gets more than it allows."""

    def ask(node_id: int, partitions: list[Partition]) -> dict[Partition, int | KafkaError | None]:
        return {each: _timestamp_at(cluster, node_id, each, offsets[each]) for each in partitions}

    return ask_leaders(cluster, offsets, ask, patient=False)


def _timestamp_at(cluster: Cluster, node_id: int, partition: Partition, offset: int) -> int | KafkaError | None:
    asked = FetchPartition(partition=partition.number, fetch_offset=offset, partition_max_bytes=_AS_LITTLE_AS_POSSIBLE)
    request = FetchRequest(
        max_bytes=_AS_LITTLE_AS_POSSIBLE, topics=[FetchTopic(topic=partition.topic, partitions=[asked])]
    )
    answer = cluster.ask_node(node_id, request, FetchResponse, at_most=_LAST_VERSION_WITH_NAMES)
    if answer.error_code:
        return error_of(answer.error_code)
    (told,) = answer.responses[0].partitions
    if told.error_code:
        return error_of(told.error_code, f"partition {partition}")
    records = told.records or b""
    assert isinstance(records, bytes | bytearray | memoryview), "what came is in memory"
    return timestamp_in(bytes(records), offset)


def timestamp_in(records: bytes, offset: int) -> int | None:
    """Of the first record of these batches at that offset or behind it."""
    for batch in iterate_batches(records):
        if batch.last_offset < offset:
            continue
        try:
            found = next((each.timestamp for each in read_records(batch) if each.offset >= offset), None)
        except MalformedFrame:
            found = batch.max_timestamp  # close enough, and the consumer will say the rest
        if found is not None:
            return found
    return None
