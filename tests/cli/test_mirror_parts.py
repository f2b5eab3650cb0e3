"""What of `barnabas mirror` needs no cluster: pieces of batches, runs of offsets, the map, one partition's way."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli.failures import WrongUsage
from barnabas.cli.mirror.lane import Lane, Load
from barnabas.cli.mirror.map import (
    Heartbeat,
    Map,
    MapError,
    Mirror,
    Position,
    forgotten_runs,
    record_of,
    runs_record,
)
from barnabas.cli.mirror.pieces import Piece, pieces_of
from barnabas.cli.mirror.runs import Runs
from barnabas.cli.mirror.settings import pattern_of
from barnabas.client.cluster import Partition
from barnabas.protocol.batch_builder import build_batch, build_empty_batch
from barnabas.protocol.batches import MAX_SEQUENCE, Attributes, Batch, TimestampType, batch_at, set_producer
from barnabas.protocol.compression import Compression
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.schema import Uuid
from tests.protocol.test_legacy_batches import message

T0 = 1_700_000_000_000
ORDERS = Partition("orders", 0)
KNOWN = [
    Record(b"key", b"value", (("name", b"1"), ("name", None), ("ü", b"")), T0),
    Record(None, b"", (), T0 - 5),
    Record(b"", None, (), T0 + 70_000),
]


def batch(first: int, *records: Record, **how: object) -> bytes:
    """The records as they are at the source, one behind the other."""
    placed = [
        Record(each.key, each.value, each.headers, each.timestamp, first + place) for place, each in enumerate(records)
    ]
    return build_batch(placed, base_offset=first, leader_epoch=3, **how)  # type: ignore[arg-type]


def made(*batches: bytes, first: int = 0, batch_bytes: int = 1 << 19) -> list[Piece]:
    found = [batch_at(each) for each in batches]
    return list(pieces_of([each for each in found if each is not None], first, batch_bytes))


def content(data: bytes | bytearray) -> list[tuple[object, ...]]:
    return [
        (each.key, each.value, tuple(each.headers), each.timestamp, each.offset) for each in read_records(Batch(data))
    ]


def sent(piece: Piece) -> Batch:
    """As it goes to the target: a broker takes it."""
    set_producer(piece.data, 0, 7, 2, 100)
    found = Batch(piece.data)
    found.check()
    assert (found.base_offset, found.record_count, found.last_offset_delta) == (0, piece.records, piece.records - 1)
    assert (found.producer_id, found.producer_epoch, found.base_sequence) == (7, 2, 100)
    assert not found.attributes & ~Attributes.COMPRESSION
    assert sum(count for _, count in piece.runs) == piece.records
    return found


def large(first: int, count: int = 3, **how: object) -> bytes:
    return batch(first, *[Record(b"k", random.randbytes(40_000), (), T0 + each) for each in range(count)], **how)


@pytest.mark.parametrize("compression", list(Compression))
def test_a_large_batch_goes_as_it_is(compression: Compression) -> None:
    source = large(40, compression=compression, producer_id=5, producer_epoch=1, base_sequence=9, transactional=True)
    (piece,) = made(source, first=40)
    found = sent(piece)
    assert bytes(found.records) == bytes(Batch(source).records)
    assert found.compression is compression
    assert found.max_timestamp == Batch(source).max_timestamp
    assert (piece.runs, piece.next_offset) == ([(40, 3)], 43)
    assert [each[:4] for each in content(piece.data)] == [each[:4] for each in content(source)]


@pytest.mark.parametrize("compression", list(Compression))
def test_small_batches_are_put_together(compression: Compression) -> None:
    sources = [batch(10 + 3 * each, *KNOWN, compression=compression) for each in range(50)]
    (piece,) = made(*sources, first=10)
    found = sent(piece)
    assert found.compression is compression
    assert (piece.records, piece.runs, piece.next_offset) == (150, [(10, 150)], 160)
    expected = [each[:4] for source in sources for each in content(source)]
    assert [each[:4] for each in content(piece.data)] == expected
    assert [each[4] for each in content(piece.data)] == list(range(150))
    assert found.max_timestamp == T0 + 70_000
    # What a client library would have made of them.
    records = [record for source in sources for record in read_records(Batch(source))]
    for record in records:
        record.offset = -1
    assert bytes(piece.data) == build_batch(
        records, compression=compression, producer_id=7, producer_epoch=2, base_sequence=100
    )


def test_how_much_goes_together() -> None:
    small = [batch(3 * each, *KNOWN) for each in range(10)]
    size = len(small[0])
    assert [piece.records for piece in made(*small, batch_bytes=3 * size)] == [9, 9, 9, 3]
    assert [piece.records for piece in made(*small, batch_bytes=1)] == [3] * 10
    # In their order, whatever their size and codec.
    mixed = [
        batch(0, *KNOWN),
        large(3),
        batch(6, *KNOWN, compression=Compression.GZIP),
        batch(9, *KNOWN),
        batch(12, *KNOWN),
    ]
    pieces = made(*mixed)
    assert [piece.runs for piece in pieces] == [[(0, 3)], [(3, 3)], [(6, 3)], [(9, 6)]]
    assert [piece.next_offset for piece in pieces] == [3, 6, 9, 15]


def test_what_compaction_has_thinned_is_made_anew() -> None:
    records = [Record(b"k", b"v", (), T0 + each, each) for each in (1, 2, 7)]
    thinned = build_batch(records, base_offset=0, last_offset=9, compression=Compression.LZ4)
    emptied = build_empty_batch(
        base_offset=10, last_offset=19, max_timestamp=T0, producer_id=1, producer_epoch=0, base_sequence=0
    )
    (piece,) = made(thinned, emptied, batch(20, *KNOWN, compression=Compression.LZ4))
    assert sent(piece).compression is Compression.LZ4
    assert piece.runs == [(1, 2), (7, 1), (20, 3)]
    assert [each[3] for each in content(piece.data)][:3] == [T0 + 1, T0 + 2, T0 + 7]
    assert made(emptied) == []
    horizon = build_batch(records[:1], base_offset=1, delete_horizon_ms=T0 + 9_000_000)
    (piece,) = made(horizon)
    sent(piece)
    assert [each[3] for each in content(piece.data)] == [T0 + 1]


def test_times_that_a_broker_has_stamped_are_those_of_the_records() -> None:
    source = batch(0, *KNOWN, timestamp_type=TimestampType.LOG_APPEND_TIME, append_time_ms=T0 + 99)
    (piece,) = made(source)
    sent(piece)
    assert [each[3] for each in content(piece.data)] == [T0 + 99] * 3


def test_it_begins_with_the_offset_and_not_with_the_batch() -> None:
    (piece,) = made(batch(0, *KNOWN), batch(3, *KNOWN), first=2)
    sent(piece)
    assert (piece.runs, piece.next_offset) == ([(2, 4)], 6)
    (piece,) = made(large(0), first=1)
    sent(piece)
    assert piece.runs == [(1, 2)]
    assert made(batch(0, *KNOWN), first=3) == []


def test_a_batch_that_is_damaged_is_not_copied() -> None:
    source = bytearray(batch(0, *KNOWN))
    source[-1] ^= 1
    with pytest.raises(MalformedFrame):
        made(bytes(source))


def test_messages_of_old_formats_are_made_anew() -> None:
    for magic in (0, 1):
        (piece,) = made(message(5, magic=magic, key=b"k", value=b"v", timestamp=T0))
        sent(piece)
        assert content(piece.data) == [(b"k", b"v", (), T0 if magic else -1, 0)]
        assert (piece.runs, piece.next_offset) == ([(5, 1)], 6)


# Runs


def test_where_an_offset_is_at_the_target() -> None:
    runs = Runs()
    assert runs.translate(5, 0) is None
    # 10 to 14, a hole, 17 to 18, and somebody else's record before 19.
    assert [runs.add(10, 100), runs.add(17, 105), runs.add(19, 108)] == [True, True, True]
    expected = {0: 100, 10: 100, 14: 104, 15: 105, 16: 105, 17: 105, 18: 106, 19: 108, 20: 109, 21: 109, 99: 109}
    assert {offset: runs.translate(offset, 109) for offset in expected} == expected
    assert runs.pairs() == [(10, 100), (17, 105), (19, 108)]


def test_runs_are_forgotten_when_the_source_has_deleted_them() -> None:
    runs = Runs([(0, 0), (10, 5), (20, 10)])
    assert runs.forget_before(9) is None
    assert runs.forget_before(10) == 10
    assert runs.translate(3, 50) == 5
    assert runs.forget_before(1000) == 20
    assert runs.translate(25, 50) == 15


@given(st.lists(st.tuples(st.integers(1, 4), st.integers(0, 3), st.integers(0, 3)), max_size=12))
def test_an_offset_leads_to_the_first_record_from_there_on(steps: list[tuple[int, int, int]]) -> None:
    """Each step is some records, a hole at the source behind them, and some of others at the target."""
    runs, places, source, target = Runs(), {}, 0, 0
    end = 0
    for count, hole, others in steps:
        for _ in range(count):
            runs.add(source, target)
            places[source] = target
            source, target = source + 1, target + 1
        end = target
        source, target = source + hole, target + others
    for offset in range(source + 2):
        first = min((at for at in places if at >= offset), default=None)
        told = runs.translate(offset, end)
        if not places:
            assert told is None
        elif first is None:
            assert told == end
        else:
            # Where others' records fill a hole exactly it may be before them, and never behind.
            assert told is not None
            assert told <= places[first]
            assert not any(told <= places[at] for at in places if at < offset)


# The map


def position(following: int = 10) -> Position:
    return Position(str(Uuid(b"a" * 16)), str(Uuid(b"b" * 16)), following, 20, (7, 0), 10, ((10, 5),), 15, 3)


def read(*records: Record) -> Map:
    found = Map()
    for record in records:
        found.read(record)
    return found


def test_the_map_is_read_as_it_was_written() -> None:
    mirror, beat = Mirror("cluster", "one.", "first"), Heartbeat(T0, 5, 3, 1000, 2000)
    found = read(
        record_of(mirror, T0, session="first"),
        record_of(position(), T0, at=ORDERS, session="first"),
        runs_record(ORDERS, "id", [(0, 0), (7, 5)], T0),
        runs_record(ORDERS, "id", [(20, 11)], T0),
        runs_record(ORDERS, "another", [(1, 1)], T0),
        record_of(beat, T0, session="first"),
    )
    assert (found.mirror, found.heartbeat, found.positions) == (mirror, beat, {ORDERS: position()})
    assert found.runs(ORDERS, "id").pairs() == [(0, 0), (7, 5), (20, 11)]
    assert found.written(ORDERS, "id") == {0: 7, 20: 20}
    assert found.runs(ORDERS, "none").pairs() == []
    found.read(forgotten_runs(ORDERS, "id", 0, T0))
    assert found.runs(ORDERS, "id").pairs() == [(20, 11)]


def test_who_was_succeeded_has_no_say() -> None:
    """It learns of that with its next write; what it planned there it has not sent."""
    old, new = Mirror("cluster", "", "old"), Mirror("cluster", "", "new")
    late = record_of(position(12), T0, at=ORDERS, session="old")
    own = record_of(position(13), T0, at=ORDERS, session="new")
    before = record_of(position(), T0, at=ORDERS, session="old")
    takes_over = record_of(new, T0, session="new")
    assert read(record_of(old, T0, session="old"), before, takes_over, late).positions[ORDERS].next == 10
    assert read(record_of(old, T0, session="old"), before, takes_over, late, own).positions[ORDERS].next == 13
    # Compaction has taken who wrote what was before.
    assert read(before, takes_over).positions[ORDERS].next == 10
    # And maybe the one before, too: better that than none.
    assert read(takes_over, late).positions[ORDERS].next == 12


@pytest.mark.parametrize(
    "record",
    [
        Record(b"orders", b"1"),
        Record(b"{}", b"{}"),
        Record(None, b"{}"),
        Record(b'{"kind":"position","topic":"x","partition":0}', b"{}"),
        Record(b'{"kind":"runs","topic":"x","partition":0,"id":"y","from":0}', b'{"runs":[[1]]}'),
        Record(b"[]", b"{}"),
    ],
)
def test_another_topic_is_no_map(record: Record) -> None:
    record.offset = 5
    with pytest.raises(MapError, match="the record at offset 5 is none of a mirror's map"):
        read(record)


# One partition


def lane(**changed: object) -> Lane:
    fields: dict[str, object] = {"next": 10, "target_next": 100, "producer": (7, 0), "sequence": 50} | changed
    return Lane(ORDERS, ORDERS, Uuid(b"a" * 16), Uuid(b"b" * 16), **fields)  # type: ignore[arg-type]


def load(end: int, *runs: Sequence[tuple[int, int]]) -> Load:
    return Load(
        [Piece(bytearray(), list(each), sum(count for _, count in each), sum(each[-1])) for each in runs], end, 4
    )


def test_a_lane_goes_from_plan_to_plan() -> None:
    one = lane()
    one.loads += [load(22, [(10, 5), (17, 2)], [(19, 1)]), load(25)]
    assert one.begin_next()
    assert (one.planned, one.plan_end, one.epoch, one.next) == (8, 22, 4, 10)
    one.arrived(7, 100)
    assert (one.next, one.target_next, one.sequence, list(one.plan)) == (19, 107, 57, [(19, 1)])
    assert one.new_pairs == [(10, 100), (17, 105)]
    # Somebody else has written in between.
    one.arrived(1, 110)
    assert (one.next, one.target_next, one.sequence, one.planned) == (22, 111, 58, 0)
    assert one.runs.pairs() == [(10, 100), (17, 105), (19, 110)]
    one.pieces.clear()
    # Nothing but markers.
    assert not one.begin_next()
    assert (one.next, one.moved) == (25, True)


def test_a_lane_is_found_again_by_its_position() -> None:
    one = lane()
    one.loads.append(load(22, [(10, 5), (17, 2)]))
    one.begin_next()
    again = Lane.of_position(ORDERS, ORDERS, one.position(), Runs())
    assert again.position() == one.position()
    again.arrived(6, 200)
    assert (again.next, again.planned) == (18, 1)
    again.read_again()
    assert (again.next, again.fetch_offset, again.planned, again.plan_end) == (18, 18, 0, 18)
    # In which epoch the last of that was nobody knows; where all has arrived it is known.
    assert (again.position().next, again.position().epoch, again.fetched_epoch) == (18, -1, -1)
    whole = Lane.of_position(ORDERS, ORDERS, one.position(), Runs())
    whole.arrived(7, 200)
    whole.read_again()
    assert (whole.next, whole.position().epoch, whole.fetched_epoch) == (22, 4, 4)


def test_sequence_numbers_begin_anew_behind_the_last_one() -> None:
    one = lane(sequence=MAX_SEQUENCE - 1)
    one.loads.append(load(15, [(10, 5)]))
    one.begin_next()
    one.arrived(5, 0)
    assert one.sequence == 3


def test_how_far_a_lane_is_behind() -> None:
    one = lane()
    assert one.lag == 0
    one.readable_end = 25
    assert one.lag == 15


def test_patterns() -> None:
    found = pattern_of(["orders", "pay.*"], "TOPIC")
    assert found is not None
    assert [bool(found.fullmatch(each)) for each in ("orders", "payments", "orders2")] == [True, True, False]
    assert pattern_of([], "TOPIC") is None
    with pytest.raises(WrongUsage, match="--exclude \\( is no regular expression"):
        pattern_of(["("], "--exclude")
