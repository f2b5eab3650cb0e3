"""What the same batches take of the disk."""

from __future__ import annotations

from collections.abc import Iterator

from bench.family import Value, family
from bench.filling import write_same, write_to_all
from bench.plan import Plan
from bench.side import Side
from compat.twin.batches import batch

RECORDS_A_BATCH, RECORD_BYTES = 100, 100
CODECS = ("none", "lz4")
MANY = "many"
KIB = 1 << 10


@family("disk", is_warm=False)
def disk(side: Side, plan: Plan) -> Iterator[Value]:
    """What a broker's directory has of the disk, holes not counted: empty; after batches of 100 records of 100 B, the
    same on both, to one partition; with partitions that have a record of 1 KB each; and after a clean stop."""
    yield kib(side, "empty")
    values = [f"{number:0{RECORD_BYTES}}".encode() for number in range(RECORDS_A_BATCH)]
    for codec in CODECS:
        side.create(codec)
        write_same(side, codec, plan.part(4 * RECORDS_A_BATCH), batch(*values, codec=codec))
        yield kib(side, f"and {plan.part(4 * RECORDS_A_BATCH):,} batches, {codec}")
    count = plan.partitions[0]
    side.create(MANY, count)
    write_to_all(side, MANY, count)
    yield kib(side, f"and {count:,} partitions")
    side.broker.stop()
    yield kib(side, "all of it, stopped")


def kib(side: Side, what: str) -> Value:
    return Value(what, side.disk_bytes() / KIB, "KiB", more_is_better=False)
