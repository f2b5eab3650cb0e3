"""Batches of records as a plan holds them: described, so that each side gets its own producer's id in them."""

from __future__ import annotations

import random
from dataclasses import dataclass, replace
from typing import Any

from barnabas.protocol import checksum
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import ATTRIBUTES_AT, CRC_AT
from barnabas.protocol.compression import Compression
from barnabas.protocol.record import Record

from .symbols import Symbols

__all__ = ["DrawnRecords", "draw_records"]

TIMES = [1_600_000_000_000, 1_600_000_000_001, 1_600_000_000_005, 1_600_000_060_000, 0]
ODD_TIMES = [-1, 4_000_000_000_000]
CODECS = [Compression.NONE, Compression.NONE, Compression.GZIP, Compression.SNAPPY, Compression.LZ4, Compression.ZSTD]

DAMAGES = ["crc", "cut", "twice", "magic", "base offset", "count", "control", "transactional", "append time", "length"]


@dataclass(frozen=True)
class DrawnRecords:
    times: tuple[int, ...]
    keys: tuple[bytes | None, ...]
    size: int = 3
    codec: Compression = Compression.NONE
    producer: int = -1
    """A symbol."""
    epoch: int = -1
    sequence: int = -1
    damage: str = ""

    def made(self, symbols: Symbols, side: int) -> bytes:
        records = [
            Record(key=key, value=b"v" * self.size, timestamp=max(at, -1))
            for key, at in zip(self.keys, self.times, strict=True)
        ]
        producer: dict[str, Any] = {}
        if self.producer != -1:
            producer = {
                "producer_id": symbols.sent(self.producer, side),
                "producer_epoch": self.epoch,
                "base_sequence": self.sequence,
                "transactional": self.damage == "transactional",
            }
        batch = bytearray(
            build_batch(
                records,
                base_offset=7 if self.damage == "base offset" else 0,
                compression=self.codec,
                **producer,
            )
        )
        match self.damage:
            case "crc":
                batch[-1] ^= 1
            case "cut":
                del batch[-3:]
            case "twice":
                batch *= 2
            case "magic":
                batch[16] = 3
            case "length":
                batch[8:12] = (len(batch) - 12 + 5).to_bytes(4, "big")
            case "count":
                batch[57:61] = (len(records) + 1).to_bytes(4, "big")
                _sum_again(batch)
            case "control":
                batch[ATTRIBUTES_AT + 1] |= 0x20
                _sum_again(batch)
            case "append time":
                batch[ATTRIBUTES_AT + 1] |= 0x08
                _sum_again(batch)
        return bytes(batch)


def _sum_again(batch: bytearray) -> None:
    batch[CRC_AT:ATTRIBUTES_AT] = checksum.crc32c(batch[ATTRIBUTES_AT:]).to_bytes(4, "big")


def draw_records(rng: random.Random, producers: list[int], odd: float) -> DrawnRecords | bytes | None:
    if rng.random() < odd * 0.2:
        return rng.choice([b"", b"\0" * 10, b"\0" * 70])  # over null Kafka fails and never answers
    count = rng.choice([1, 1, 2, 3, 5])
    times = TIMES + (ODD_TIMES if rng.random() < odd else [])
    keys = [b"k", b"other", None] if rng.random() < 0.5 else [b"k"]
    drawn = DrawnRecords(
        times=tuple(rng.choice(times) for _ in range(count)),
        keys=tuple(rng.choice(keys) for _ in range(count)),
        size=rng.choice([3, 3, 30, 300, 1000]),
        codec=rng.choice(CODECS),
        damage=rng.choice(DAMAGES) if rng.random() < odd * 0.5 else "",
    )
    if producers and rng.random() < 0.5:
        drawn = replace(
            drawn,
            producer=rng.choice(producers),
            epoch=rng.choice([0, 0, 0, 0, 1, 2]),
            sequence=rng.choice([0, 0, 0, 1, 2, 3, 5, 2**31 - 1]),
        )
    return drawn
