"""Records whose batches are the same on every broker, because they are made here."""

from __future__ import annotations

from collections.abc import Sequence

from bench.load import errors_in
from bench.side import Side
from compat.twin.batches import batch
from compat.wire.connection import Connection

__all__ = ["write_same", "write_to", "write_to_all"]

PARTITIONS_A_REQUEST = 100
RECORD_BYTES = 1000
TIMEOUT_MS = 60_000


def write_to_all(side: Side, topic: str, partitions: int) -> None:
    """One record to each."""
    with side.connection() as connection:
        write_to(connection, side, topic, range(partitions))


def write_to(connection: Connection, side: Side, topic: str, numbers: Sequence[int]) -> None:
    """One record to each of these, which the broker at the other end leads."""
    records = batch(bytes(RECORD_BYTES))
    for first in range(0, len(numbers), PARTITIONS_A_REQUEST):
        data = [{"Index": number, "Records": records} for number in numbers[first : first + PARTITIONS_A_REQUEST]]
        answer = connection.ask(
            "Produce", 9, Acks=-1, TimeoutMs=TIMEOUT_MS, TopicData=[{"Name": topic, "PartitionData": data}]
        )
        _check(side, answer)


def write_same(side: Side, topic: str, batches: int, records: bytes) -> None:
    """To the first partition, again and again."""
    data = [{"Index": 0, "Records": records}]
    with side.connection() as connection:
        for _ in range(batches):
            answer = connection.ask(
                "Produce", 9, Acks=-1, TimeoutMs=TIMEOUT_MS, TopicData=[{"Name": topic, "PartitionData": data}]
            )
            _check(side, answer)


def _check(side: Side, answer: object) -> None:
    if codes := errors_in(answer):
        raise RuntimeError(f"{side.name} refused records with error {codes[0]}")
