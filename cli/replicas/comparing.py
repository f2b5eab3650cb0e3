"""The batches of a partition as its replicas have them, held against each other; pure.

Replicas are the same byte for byte, offsets and epochs among them, where a log is not compacted. Each replica compacts
for itself, so that there only the records count that more than one still has.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from barnabas.protocol.batches import Batch, iterate_batches
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import read_records
from barnabas.protocol.varint import Bytes

__all__ = ["Compared", "Difference", "Seen", "compare"]


class Seen(NamedTuple):
    """What one replica has at the offset where they differ."""

    base_offset: int
    last_offset: int
    epoch: int
    crc: int
    intact: bool
    """Whether its bytes have that checksum."""


class Difference(NamedTuple):
    offset: int
    """The first that is not the same everywhere."""
    what: str
    seen: Mapping[int, Seen | None]
    """By replica; None: it has nothing there, though something behind it."""


class Compared(NamedTuple):
    next_offset: int
    """All before it is the same."""
    batches: int
    size: int
    thinned: int
    """Records that compaction has taken from some replicas and not yet from others."""
    difference: Difference | None


def compare(found: Mapping[int, Bytes], offset: int, *, compacted: bool = False) -> Compared:
    """What each replica gave from that offset on: batches, and behind them maybe a part of one. It is compared as far
    as all have given something."""
    shortest = bytes(min(found.values(), key=len))
    if all(bytes(memoryview(each)[: len(shortest)]) == shortest for each in found.values()):
        # Mostly: then they are read once, and not once for each.
        found = dict.fromkeys(found, shortest)
        return _same(found, offset)
    batches = {replica: list(_whole(data, offset)) for replica, data in found.items()}
    if any(_is_nonsense(data) for data in found.values()):
        return Compared(offset, 0, 0, 0, Difference(offset, "unreadable", _around(batches, offset)))
    if compacted:
        return _compare_records(batches, offset)
    return _compare_batches(batches, offset)


def _whole(data: Bytes, offset: int) -> Iterator[Batch]:
    """Up to where there are batches: what is behind is compared when it comes first."""
    batches = iterate_batches(data)
    try:
        for batch in batches:
            if batch.last_offset >= offset:
                yield batch
    except MalformedFrame:
        return


def _same(found: Mapping[int, Bytes], offset: int) -> Compared:
    count = size = 0
    data = next(iter(found.values()))
    if _is_nonsense(data):
        return Compared(offset, 0, 0, 0, Difference(offset, "unreadable", dict.fromkeys(found)))
    for batch in _whole(data, offset):
        if not batch.crc_matches():
            heads = dict.fromkeys(found, batch)
            return Compared(offset, count, size, 0, _difference(heads, offset, "damaged"))
        offset = batch.next_offset
        count += 1
        size += batch.size
    return Compared(offset, count, size, 0, None)


def _is_nonsense(data: Bytes) -> bool:
    """Whether it begins with what can be no batch."""
    try:
        next(iterate_batches(data), None)
    except MalformedFrame:
        return True
    return False


def _compare_batches(found: Mapping[int, Sequence[Batch]], offset: int) -> Compared:
    count = size = 0
    for heads in zip(*found.values(), strict=False):
        by_replica = dict(zip(found, heads, strict=True))
        what = _what_differs(heads)
        if what is not None:
            return Compared(offset, count, size, 0, _difference(by_replica, offset, what))
        offset = heads[0].next_offset
        count += 1
        size += heads[0].size
    return Compared(offset, count, size, 0, None)


def _what_differs(heads: Sequence[Batch]) -> str | None:
    if not all(each.crc_matches() for each in heads):
        return "damaged"
    for what, values in (
        ("offsets", {(each.base_offset, each.last_offset) for each in heads}),
        ("epoch", {each.partition_leader_epoch for each in heads}),
        ("checksum", {each.crc for each in heads}),
        ("bytes", {bytes(memoryview(each.buffer)[each.position : each.end]) for each in heads}),
    ):
        if len(values) > 1:
            return what
    return None


def _difference(heads: Mapping[int, Batch], offset: int, what: str) -> Difference:
    seen = {replica: _seen(batch) for replica, batch in heads.items()}
    if what == "offsets":
        offset = max(offset, min(each.base_offset for each in heads.values()))
    return Difference(offset, what, seen)


def _seen(batch: Batch) -> Seen:
    return Seen(
        batch.base_offset, batch.last_offset, batch.partition_leader_epoch, batch.crc, intact=batch.crc_matches()
    )


# Compacted logs

_Record = tuple[int, bytes | None, bytes | None, tuple[tuple[str, bytes | None], ...], int]


def _compare_records(found: Mapping[int, Sequence[Batch]], offset: int) -> Compared:
    """Up to the last offset that all of these batches reach."""
    if not all(found.values()):
        return Compared(offset, 0, 0, 0, None)
    limit = min(batches[-1].last_offset for batches in found.values())
    records: dict[int, dict[int, _Record]] = {}
    for replica, batches in found.items():
        own = records[replica] = {}
        for batch in batches:
            if batch.base_offset > limit:
                break
            if (broken := _read(batch, offset, limit, own)) is not None:
                return Compared(offset, 0, 0, 0, Difference(batch.base_offset, broken, _around(found, offset)))
    thinned = 0
    for at in sorted({at for own in records.values() for at in own}):
        have = {replica: own[at] for replica, own in records.items() if at in own}
        if len(set(have.values())) > 1:
            return Compared(at, 0, 0, thinned, Difference(at, "record", _around(found, at)))
        thinned += len(have) < len(records)
    first = next(iter(found.values()))
    counted = [batch for batch in first if batch.base_offset <= limit]
    return Compared(limit + 1, len(counted), sum(batch.size for batch in counted), thinned, None)


def _read(batch: Batch, first: int, last: int, into: dict[int, _Record]) -> str | None:
    """What is wrong with it."""
    if not batch.crc_matches():
        return "damaged"
    try:
        for record in read_records(batch):
            if first <= record.offset <= last:
                into[record.offset] = (
                    batch.partition_leader_epoch,
                    record.key,
                    record.value,
                    tuple(record.headers),
                    record.timestamp,
                )
    except MalformedFrame:
        return "unreadable"
    return None


def _around(found: Mapping[int, Sequence[Batch]], offset: int) -> dict[int, Seen | None]:
    seen: dict[int, Seen | None] = {}
    for replica, batches in found.items():
        batch = next((each for each in batches if each.last_offset >= offset), None)
        seen[replica] = _seen(batch) if batch is not None and batch.base_offset <= offset else None
    return seen
