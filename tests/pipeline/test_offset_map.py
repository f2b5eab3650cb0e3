"""What a map says after any sequence of plans, sends that were cut short, and compactions of its topic."""

from __future__ import annotations

import random
from collections.abc import Iterable

import msgspec
import pytest

from barnabas.pipeline.copying.group_offsets import translated
from barnabas.pipeline.copying.murmur2 import partition_of
from barnabas.pipeline.copying.offset_map import Copied, MapKey, MapValue, Run, runs_of

ID = "a"


def plan(sources: Iterable[int], target: int, copied: Copied, id_of_topic: str = ID) -> list[tuple[MapKey, MapValue]]:
    last = copied.runs[-1] if copied.runs else None
    runs = runs_of(id_of_topic, sources, target, last)
    return [(MapKey("orders", 0, run.id, run.source), MapValue(run.target, run.count, target)) for run in runs]


def applied(records: Iterable[tuple[MapKey, MapValue]]) -> Copied:
    copied = Copied()
    for key, value in records:
        copied.apply(key, value)
    return copied


def compacted(records: list[tuple[MapKey, MapValue]], before: int) -> list[tuple[MapKey, MapValue]]:
    """As Kafka's cleaner may leave them: of what is before, the last of each key in the whole."""
    last = {key: at for at, (key, _) in enumerate(records)}
    return [record for at, record in enumerate(records) if at >= before or last[record[0]] == at]


@pytest.mark.parametrize("seed", range(200))
def test_like_a_list_of_what_was_sent(seed: int) -> None:
    """The source loses records to compaction at any time; a send is cut short anywhere; nothing of the driver lives."""
    draw = random.Random(seed)
    source = sorted(draw.sample(range(60), 40))
    sent: list[int] = []
    records: list[tuple[MapKey, MapValue]] = []
    while True:
        records = compacted(records, draw.randint(0, len(records)))
        whole = applied(records)
        assert whole.sure <= len(sent) <= whole.planned_end or not records
        copied = whole.arrived(len(sent))
        assert [offset for run in copied.runs for offset in range(run.source, run.source_end)] == sent
        rest = [offset for offset in source if offset >= copied.next_source(ID)]
        if not rest:
            break
        chunk = rest[: draw.randint(1, 12)]
        new = plan(chunk, len(sent), copied)
        if draw.random() < 0.2:
            records += new[: draw.randint(0, len(new) - 1)]  # killed before it was sure of its plan
        else:
            records += new
            sent += chunk[: draw.randint(0, len(chunk))]
        source = [offset for offset in source if draw.random() > 0.02]
    for run in copied.last_runs(ID, 20):
        assert run.source_end > 20
    for offset in range(70):
        to = copied.translate(ID, offset)
        assert to == sum(1 for each in sent if each < offset) or not sent


def test_a_run_that_goes_on_is_one_record() -> None:
    records = plan(range(5, 8), 0, Copied())
    records += plan(range(8, 10), 3, applied(records))
    assert [key.source for key, _ in records] == [5, 5]
    assert applied(records).runs == [Run(ID, 5, 0, 5)]


def test_a_topic_that_was_created_again_begins_anew() -> None:
    records = plan(range(10), 0, Copied())
    copied = applied(records)
    assert (copied.next_source(ID), copied.next_source("b")) == (10, 0)
    copied = applied(records + plan(range(4), 10, copied, "b"))
    assert copied.runs == [Run(ID, 0, 0, 10), Run("b", 0, 10, 4)]
    assert (copied.translate("b", 2), copied.translate("c", 2)) == (12, None)
    assert copied.last_runs("b", -100) == [Run("b", 0, 10, 4)]


def test_what_is_written_is_read() -> None:
    key, value = plan([7, 9], 3, Copied())[1]
    assert msgspec.json.decode(msgspec.json.encode(key), type=MapKey) == key == MapKey("orders", 0, ID, 9)
    assert msgspec.json.decode(msgspec.json.encode(value), type=MapValue) == value == MapValue(4, 1, 3)


def test_committed_offsets_of_other_topics_are_left_out() -> None:
    maps = {("orders", 0): applied(plan([0, 1, 5], 0, Copied())), ("orders", 1): Copied()}
    committed = {("orders", 0): 5, ("orders", 1): 3, ("others", 0): 2}
    assert translated(committed, maps, {"orders": ID}, "x.") == {("x.orders", 0): 2}


@pytest.mark.parametrize(
    ("key", "hashed"),
    [
        (b"21", -973932308),
        (b"foobar", -790332482),
        (b"a-little-bit-long-string", -985981536),
        (b"a-little-bit-longer-string", -1486304829),
        (b"lkjh234lh9fiuh90y23oiuhsafujhadof229phr9h19h89h8", -58897971),
        (b"abc", 479470107),
    ],
)
def test_partitions_are_those_of_kafkas_own_tests(key: bytes, hashed: int) -> None:
    assert [partition_of(key, count) for count in (1, 7, 1000)] == [
        (hashed & 0x7FFFFFFF) % count for count in (1, 7, 1000)
    ]
