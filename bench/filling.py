"""Records whose batches are the same on every broker, because they are made here."""

from __future__ import annotations

from bench.load import errors_in
from bench.side import Side
from compat.twin.batches import batch

__all__ = ["write_same", "write_to_all"]

PARTITIONS_A_REQUEST = 100
RECORD_BYTES = 1000
TIMEOUT_MS = 60_000


def write_to_all(side: Side, topic: str, partitions: int) -> None:
    """One record to each."""
    records = batch(bytes(RECORD_BYTES))
    with side.connection() as connection:
        for first in range(0, partitions, PARTITIONS_A_REQUEST):
            numbers = range(first, min(first + PARTITIONS_A_REQUEST, partitions))
            data = [{"Index": number, "Records": records} for number in numbers]
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
