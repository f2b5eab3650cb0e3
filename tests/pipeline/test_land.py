"""land: what is in the topic is in the lake, once, as it was, and as what its schema makes of it."""

from __future__ import annotations

import json
from datetime import UTC, datetime, timedelta

import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.pipeline.world import World, schema_table

pytestmark = pytest.mark.slow

# The broker takes no time that is ahead of its own, and retention would take one that is long ago.
NOW = datetime.now(UTC).replace(minute=30, second=0, microsecond=0) - timedelta(hours=6)
NOW_MS = int(NOW.timestamp() * 1000)
VIEWS = "user STRING NOT NULL, page STRING NOT NULL, took INT, at TIMESTAMP"


def hour_of(moment: datetime) -> str:
    return moment.strftime("date=%Y-%m-%d/hour=%H")


def view(**fields: object) -> dict[str, object]:
    return {"user": "ada", "page": "/", "took": 5, "at": NOW.isoformat(), **fields}


def test_every_record_is_landed_as_it_was(world: World) -> None:
    world.broker.create_topic(world.topic, 3)
    for number in range(200):
        world.broker.produce(
            world.topic,
            [b"\x00\xff raw", None, b"", "text", {"n": number}][number % 5],
            key=[None, b"", f"key {number}"][number % 3],
            headers=[(), (("n", b"%d" % number), ("n", b"again"), ("none", None), ("empty", b""))][number % 2],
            partition=number % 3,
            timestamp=NOW_MS + number * 60_000,
        )
    world.land()
    landed = world.raw()
    assert landed == world.in_topic()
    assert len(landed) == 200
    hours = {
        path.parent.relative_to(world.directory / "lake" / "raw" / f"topic={world.topic}") for path in world.files()
    }
    assert sorted(map(str, hours)) == [hour_of(NOW + timedelta(hours=hours)) for hours in range(4)]


def test_a_second_run_lands_what_is_new_and_nothing_twice(world: World) -> None:
    world.produce(range(50))
    world.land()
    world.land()
    assert [fact["records"] for fact in world.said] == [50]
    world.produce(range(50, 80))
    world.land()
    assert [fact["records"] for fact in world.said] == [50, 30]
    assert world.raw() == world.in_topic()


def test_days_of_absence_are_caught_up_in_batches_of_the_size_that_is_set(world: World) -> None:
    world.produce(range(1_000))
    world.land(world.settings(land="records-per-batch = 300"))
    assert [fact["records"] for fact in world.said] == [300, 300, 300, 100]
    assert world.raw() == world.in_topic()


def test_topics_by_a_pattern_and_new_ones_among_them(world: World) -> None:
    first, second, other = (f"{world.topic}.{name}" for name in ("first", "second", "other"))
    settings = world.settings(land=f"pattern = '{world.topic}\\.(first|second)'")
    world.broker.produce(first, "1")
    world.broker.produce(other, "1")
    world.land(settings)
    world.broker.produce(second, "2")
    world.land(settings)
    assert [len(world.raw(topic)) for topic in (first, second, other)] == [1, 1, 0]


@pytest.mark.parametrize(
    ("value", "reason"),
    [
        (b"{broken", "the value is not JSON"),
        (b"", "the value is not JSON"),
        (b"\xff\xfe\x00", "the value is not JSON"),
        (None, "the record has no value"),
        ([view()], "the value is not an object"),
        (b'"text"', "the value is not an object"),
        (view(took="soon"), "the field took is not of type int"),
        (view(took={"ms": 3}), "the field took is not of type int"),
        (view(at="yesterday"), "the field at is not of type timestamp"),
        ({"page": "/"}, "the field user is missing"),
        (view(user=None), "the field user is missing"),
        (view(at="2001-01-01T00:00:00Z"), "the event is more than 168 hours older than its record"),
        (view(at="2096-01-01T00:00:00Z"), "the event is more than 24 hours newer than its record"),
    ],
    ids=lambda value: "" if isinstance(value, str) else str(value)[:40],
)
def test_a_value_that_is_no_event_is_quarantined_with_the_reason(world: World, value: object, reason: str) -> None:
    world.write("views.ddl", VIEWS)
    world.produce([view(), value, view(user="bob")], timestamp=NOW_MS)
    world.land(world.settings(schema_table(world.topic, "views.ddl", event_time="at")))
    ((bad, why),) = world.quarantined()
    assert why == reason
    assert bad == world.in_topic()[1].value
    assert [row["user"] for row in world.decoded()] == ["ada", "bob"]
    assert world.raw() == world.in_topic()
    assert world.said[0]["quarantined"] == 1


def test_an_event_lies_in_the_hour_in_which_it_happened(world: World) -> None:
    world.write("views.ddl", VIEWS)
    late = NOW - timedelta(hours=30)
    world.produce([view(), view(at=late.isoformat()), view(at=None)], timestamp=NOW_MS)
    world.land(world.settings(schema_table(world.topic, "views.ddl", event_time="at")))
    for table in ("raw", "decoded"):
        hours = sorted(str(path.parent)[-23:] for path in world.files(f"{table}/**/*.parquet"))
        assert hours == [hour_of(late), hour_of(NOW)]
    events = world.decoded()
    assert [row["kafka"].event_time.replace(tzinfo=None) for row in events] == [
        moment.replace(tzinfo=None) for moment in (NOW, late, NOW)
    ]


def test_milliseconds_since_1970_are_a_time_too(world: World) -> None:
    world.write("ticks.ddl", "at BIGINT")
    world.produce([{"at": NOW_MS - 3_600_000}], timestamp=NOW_MS)
    world.land(world.settings(schema_table(world.topic, "ticks.ddl", event_time="at")))
    (path,) = world.files("decoded/**/*.parquet")
    assert str(path.parent).endswith(hour_of(NOW - timedelta(hours=1)))


def test_small_files_of_an_hour_become_one(world: World) -> None:
    world.write("views.ddl", VIEWS)
    settings = world.settings(
        f"{schema_table(world.topic, 'views.ddl')}\n[lake]\nmerge-after = 4", land="records-per-batch = 10"
    )
    for number in range(12):
        world.produce([view(took=number * 10 + each) for each in range(10)], timestamp=NOW_MS)
    world.land(settings)
    assert world.raw() == world.in_topic()
    assert sorted(row["took"] for row in world.decoded()) == list(range(120))
    assert len(world.files()) < 6
    assert len(world.files("decoded/**/*.parquet")) < 6
    assert sum(fact["merged"] for fact in world.said) >= 8
    assert not list((world.directory / "lake").glob("_staging/**/*.parquet"))


def test_a_schema_that_changes_does_not_stop_the_job(world: World) -> None:
    settings = world.settings(schema_table(world.topic, "views.ddl"))
    for schema, event in (
        ("user STRING, took INT", {"user": "ada", "took": 5}),
        ("user STRING, took INT, page STRING", {"user": "bob", "took": 6, "page": "/"}),
        ("user STRING, took STRING, page STRING", {"user": "cleo", "took": "7 ms", "page": "/a"}),
        ("user STRING, took STRING", {"user": "dora", "took": "8 ms", "page": "/b"}),
        ("user STRING, took INT", {"user": "eve", "took": 9}),
    ):
        world.write("views.ddl", schema)
        world.produce([event])
        world.land(settings)
    # As the newest schema has it; what an older file has of another type is null where it is not to be converted.
    assert [(row["user"], row["took"]) for row in world.decoded()] == [
        ("ada", 5),
        ("bob", 6),
        ("cleo", None),
        ("dora", None),
        ("eve", 9),
    ]
    assert world.quarantined() == []
    world.write("views.ddl", "user STRING, took STRING, page STRING")
    world.produce([{"user": "fay", "took": "1", "page": "/c"}])
    world.land(settings)
    assert [(row["took"], row["page"]) for row in world.decoded()] == [
        ("5", None),
        ("6", "/"),
        ("7 ms", "/a"),
        ("8 ms", None),
        ("9", None),
        ("1", "/c"),
    ]


AVRO = {
    "type": "record",
    "name": "View",
    "fields": [
        {"name": "user", "type": "string"},
        {"name": "took", "type": ["null", "int"], "default": None},
        {"name": "at", "type": {"type": "long", "logicalType": "timestamp-millis"}},
    ],
}


def zigzag(number: int) -> bytes:
    number, out = (number << 1) ^ (number >> 63), bytearray()
    while number > 127:
        out.append(number & 127 | 128)
        number >>= 7
    return bytes([*out, number])


def avro(user: str, took: int | None, at_ms: int) -> bytes:
    took_bytes = b"\x00" if took is None else b"\x02" + zigzag(took)
    return zigzag(len(user)) + user.encode() + took_bytes + zigzag(at_ms)


def test_avro_by_its_schema_file(world: World) -> None:
    world.write("view.avsc", json.dumps(AVRO))
    good = [avro("ada", 5, NOW_MS), avro("", None, NOW_MS - 3_600_000)]
    bad = [b"\xff\xff\xff\xff", b"", avro("ada", 5, NOW_MS)[:3]]
    world.produce([*good, *bad], timestamp=NOW_MS)
    world.land(world.settings(schema_table(world.topic, "view.avsc", format="avro", event_time="at")))
    assert [(row["user"], row["took"]) for row in world.decoded()] == [("ada", 5), ("", None)]
    assert [row["at"].replace(tzinfo=UTC) for row in world.decoded()] == [NOW, NOW - timedelta(hours=1)]
    assert world.quarantined() == [(value, "the value is not Avro of this schema") for value in bad]


def test_avro_of_which_all_may_be_null(world: World) -> None:
    optional = {**AVRO, "fields": [AVRO["fields"][1]]}
    world.write("view.avsc", json.dumps(optional))
    world.produce([b"\x00", b"\x02\x0a", b"\x09\x09"], timestamp=NOW_MS)
    world.land(world.settings(schema_table(world.topic, "view.avsc", format="avro")))
    assert [row["took"] for row in world.decoded()] == [None, 5]
    assert world.quarantined() == [(b"\x09\x09", "the value is not Avro of this schema")]


@pytest.mark.parametrize(
    ("table", "file", "sentence"),
    [
        ({}, None, "cannot be read: No such file or directory"),
        ({}, "user STRNG", "is no schema, such as"),
        ({}, "hour INT", "a field cannot be called hour"),
        ({"event_time": "when"}, "user STRING", "there is no field when; the schema has user"),
        ({"event_time": "user"}, "user STRING", "user is string; it should be TIMESTAMP, or BIGINT"),
        ({"format": "avro"}, "user STRING", "is no Avro schema: it is not JSON"),
        ({"format": "avro"}, '{"type": "string"}', 'it should be a "record"'),
        ({"format": "avro"}, '{"type": "record", "name": "A", "fields": [{"name": "a"}]}', "that Spark can read"),
    ],
)
def test_a_wrong_schema_is_said_before_anything_is_read(
    world: World, table: dict[str, str], file: str | None, sentence: str
) -> None:
    if file is not None:
        world.write("schema", file)
    world.produce([view()])
    with pytest.raises(PipelineFailed, match="schema") as failed:
        world.land(world.settings(schema_table(world.topic, "schema", **table)))
    assert sentence in str(failed.value)
    assert not (world.directory / "lake").exists()


def test_no_broker_is_said_at_once(world: World) -> None:
    with pytest.raises(PipelineFailed, match=r"No broker answers at 127.0.0.1:1 .*mend bootstrap.servers"):
        world.land(world.settings(bootstrap="127.0.0.1:1"))


def test_a_property_that_is_wrong_is_said(world: World) -> None:
    world.produce([1])
    with pytest.raises(PipelineFailed, match=r"property of \[kafka\] .*default.api.timeout.ms"):
        world.land(world.settings(kafka='"default.api.timeout.ms" = 5'))


def test_no_topic_is_said(world: World) -> None:
    with pytest.raises(PipelineFailed, match="is not there"):
        world.land(world.settings(land='topics = ["nobody.made.it"]'))
