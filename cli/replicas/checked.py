"""A partition whose replicas are being compared: from where to where, how far that is, and what was found."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from barnabas.cli.replicas.comparing import Difference, Seen, compare
from barnabas.client.cluster import Partition
from barnabas.protocol.varint import Bytes

__all__ = ["Checked", "difference_sentence"]


@dataclass(slots=True)
class Checked:
    partition: Partition
    replicas: list[int]
    """Those that are compared."""
    absent: dict[int, str] = field(default_factory=dict)
    """Those that cannot be, and why."""
    waits: dict[int, str] = field(default_factory=dict)
    """Those that could not be asked just now, and why."""
    compacted: bool = False
    first_offset: int = 0
    next_offset: int = 0
    end_offset: int | None = None
    """Up to here it is to be compared; None: as far as there is something."""
    high_watermarks: dict[int, int] = field(default_factory=dict)
    """By replica, as each said last."""
    batches: int = 0
    size: int = 0
    thinned: int = 0
    difference: Difference | None = None
    tails: dict[int, int] = field(default_factory=dict)
    """Of directories: how many offsets a replica has behind what was compared."""

    def begin(self, offset: int) -> None:
        self.first_offset = self.next_offset = offset

    def compare(self, found: Mapping[int, Bytes]) -> bool:
        """Whether it came any further."""
        compared = compare(found, self.next_offset, compacted=self.compacted)
        moved = compared.next_offset > self.next_offset
        self.next_offset = compared.next_offset
        self.batches += compared.batches
        self.size += compared.size
        self.thinned += compared.thinned
        self.difference = compared.difference
        return moved

    @property
    def is_done(self) -> bool:
        if self.difference is not None or not self.replicas:
            return True
        return self.end_offset is not None and self.next_offset >= self.end_offset

    @property
    def is_whole(self) -> bool:
        """All replicas are the same, as far as was asked for."""
        return self.difference is None and not self.absent and self.is_done

    @property
    def lag(self) -> int:
        """How much has not been compared of what is committed."""
        end = max([*self.high_watermarks.values(), self.end_offset or 0], default=0)
        return max(0, end - self.next_offset)

    def as_json(self) -> dict[str, Any]:
        return {
            "topic": self.partition.topic,
            "partition": self.partition.number,
            "replicas": self.replicas,
            "absent": {str(replica): why for replica, why in self.absent.items()},
            "first_offset": self.first_offset,
            "next_offset": self.next_offset,
            "lag": self.lag,
            "batches": self.batches,
            "bytes": self.size,
            "thinned": self.thinned,
            "equal": self.is_whole,
            "difference": None if self.difference is None else _difference_json(self.difference),
            **({"tails": {str(replica): count for replica, count in self.tails.items()}} if self.tails else {}),
        }


def _difference_json(difference: Difference) -> dict[str, Any]:
    seen = {str(replica): None if each is None else each._asdict() for replica, each in difference.seen.items()}
    return {"offset": difference.offset, "what": difference.what, "seen": seen}


_WHAT = {
    "offsets": "the offsets of the batches differ",
    "epoch": "the leader epochs differ",
    "checksum": "the checksums differ",
    "bytes": "the bytes differ, though their checksums are the same",
    "damaged": "a batch is damaged",
    "unreadable": "what is there is no batch",
    "record": "a record differs",
}


def difference_sentence(partition: Partition, difference: Difference, who: str) -> str:
    """`who` is what replicas are: a broker, or a node."""
    alike: dict[Seen | None, list[int]] = {}
    for replica, seen in sorted(difference.seen.items()):
        alike.setdefault(seen, []).append(replica)
    each = "; ".join(
        f"{who} {replicas[0]} has {_words(seen)}"
        if len(replicas) == 1
        else f"{who}s {' and '.join(map(str, replicas))} have {_words(seen)}"
        for seen, replicas in alike.items()
    )
    return f"{partition} differs at offset {difference.offset}: {_WHAT[difference.what]}. {each[0].upper()}{each[1:]}"


def _words(seen: Seen | None) -> str:
    if seen is None:
        return "nothing there"
    checksum = f"checksum {seen.crc:08x}" + ("" if seen.intact else ", which its bytes have not")
    return f"offsets {seen.base_offset} to {seen.last_offset} of epoch {seen.epoch} with {checksum}"
