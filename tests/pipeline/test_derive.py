"""derive: each window's result once, under its own key, whatever is killed; and what the settings may not ask for."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.kafka.broker import KafkaBroker
from tests.pipeline.world import World, schema_table

pytestmark = pytest.mark.slow

NOW = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=6)
SCHEMA = "user STRING NOT NULL, page STRING, status INT, at TIMESTAMP NOT NULL"


def feed(world: World, bootstrap: str = "", **wanted: object) -> Any:
    world.write("views.ddl", SCHEMA)
    table = {"source": world.topic, "topic": f"{world.topic}.out", "kind": "count", "by": "page", **wanted}
    lines = "\n".join(f"{key} = {json.dumps(value)}" for key, value in table.items())
    return world.settings(
        f"{schema_table(world.topic, 'views.ddl', event_time='at')}\n[derive.feed]\n{lines}", bootstrap=bootstrap
    )


def views(world: World, moments: Iterable[tuple[float, str, str]], status: int = 200) -> None:
    for seconds, user, page in moments:
        at = NOW + timedelta(seconds=seconds)
        world.broker.produce(
            world.topic,
            {"user": user, "page": page, "status": status, "at": at.isoformat()},
            timestamp=int(at.timestamp() * 1000),
        )


def run(world: World, settings: Any) -> None:
    from barnabas.pipeline.derive import derive

    derive(world.spark, settings, [], catch_up=True, say=world.say)


def results(world: World) -> dict[str, dict[str, Any]]:
    """By key; each key is there once."""
    there = world.broker.records(f"{world.topic}.out")
    keys = Counter(record.key_text for record in there)
    assert max(keys.values(), default=1) == 1, keys.most_common(3)
    return {record.key_text or "": record.json() for record in there}


def start_of(minutes: float) -> str:
    return (NOW + timedelta(minutes=minutes)).strftime("%Y-%m-%dT%H:%M:%S.000Z")


def test_the_top_pages_of_each_minute(world: World) -> None:
    settings = feed(world, top=2)
    views(world, [(second, "u", page) for second in range(0, 60, 5) for page in "aab"])
    views(world, [(70, "u", page) for page in "cccddde"])
    views(world, [(600, "u", "later")])
    world.broker.produce(world.topic, b"no event")
    run(world, settings)
    found = results(world)
    assert found == {
        f"{start_of(0)}|a": {"start": start_of(0), "end": start_of(1), "page": "a", "count": 24, "rank": 1},
        f"{start_of(0)}|b": {"start": start_of(0), "end": start_of(1), "page": "b", "count": 12, "rank": 2},
        f"{start_of(1)}|c": {"start": start_of(1), "end": start_of(2), "page": "c", "count": 3, "rank": 1},
        f"{start_of(1)}|d": {"start": start_of(1), "end": start_of(2), "page": "d", "count": 3, "rank": 2},
    }
    views(world, [(1200, "u", "latest")])
    run(world, settings)
    run(world, settings)
    assert results(world).keys() - found.keys() == {f"{start_of(10)}|later"}


def test_sessions_end_when_nothing_happens_for_a_while(world: World) -> None:
    settings = feed(world, kind="sessions", by="user", window="5 minutes", watermark="1 minute")
    views(world, [(0, "ada", "/"), (60, "bob", "/"), (200, "ada", "/a"), (400, "ada", "/b"), (800, "bob", "/")])
    views(world, [(3_600, "eve", "/")])
    run(world, settings)
    assert {key: value["count"] for key, value in results(world).items()} == {
        f"{start_of(0)}|ada": 3,
        f"{start_of(1)}|bob": 1,
        f"{start_of(800 / 60)}|bob": 1,
    }
    assert results(world)[f"{start_of(0)}|ada"]["end"] == start_of((400 + 300) / 60)


def test_the_rate_of_errors(world: World) -> None:
    settings = feed(world, kind="errors", failed="status >= 500")
    views(world, [(second, "u", "/") for second in range(9)])
    views(world, [(9, "u", "/")], status=503)
    views(world, [(600, "u", "/")])
    run(world, settings)
    assert results(world) == {
        f"{start_of(0)}|/": {
            "start": start_of(0),
            "end": start_of(1),
            "page": "/",
            "count": 10,
            "failed": 1,
            "rate": 0.1,
        }
    }


def test_an_event_that_comes_too_late_is_told_and_changes_no_result(world: World) -> None:
    settings = feed(world)
    views(world, [(0, "u", "/")])
    views(world, [(600, "u", "/")])
    run(world, settings)
    before = results(world)
    views(world, [(10, "u", "/"), (20, "u", "/"), (10, "u", "/a"), (10, "u", "/b"), (70, "u", "/b")])
    views(world, [(1200, "u", "/")])
    run(world, settings)
    assert results(world).items() >= before.items()
    assert [fact["late"] for fact in world.said if fact.get("event") == "late"] == [4]


def test_what_has_landed_is_derived_once_more_under_the_same_keys(world: World) -> None:
    from barnabas.pipeline.derive import derive_from_lake

    settings = feed(world)
    views(world, [(0, "u", "/"), (5, "u", "/"), (70, "u", "/")])
    world.land(settings)
    derive_from_lake(world.spark, settings, [], NOW, NOW + timedelta(minutes=1), world.say)
    assert results(world) == {f"{start_of(0)}|/": {"start": start_of(0), "end": start_of(1), "page": "/", "count": 2}}
    derive_from_lake(world.spark, settings, ["feed"], NOW, NOW + timedelta(hours=1), world.say)
    keys = [record.key_text for record in world.broker.records(f"{world.topic}.out")]
    assert keys == [f"{start_of(0)}|/", f"{start_of(0)}|/", f"{start_of(1)}|/"]
    views(world, [(10, "u", "/")])
    world.land(settings)
    derive_from_lake(world.spark, settings, ["feed"], NOW, NOW + timedelta(minutes=1), world.say)
    assert world.broker.records(f"{world.topic}.out")[-1].json()["count"] == 3


class Dies(Exception):  # noqa: N818 - what happens to the job
    """Nothing of ours catches it."""


@pytest.mark.parametrize("transactional", [False, True], ids=["idempotent", "transactional"])
@pytest.mark.java
def test_a_batch_that_comes_again_is_sent_once(
    world: World, kafka_broker: KafkaBroker, transactional: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ended in the middle of what it sends, and behind it. On Apache Kafka, for its transactions."""
    from confluent_kafka import Consumer, Producer

    from barnabas.pipeline.writing import Writer

    bootstrap = f"{kafka_broker.host}:{kafka_broker.port}"
    settings = feed(world, bootstrap, transactional=transactional)
    producer = Producer({"bootstrap.servers": bootstrap})
    for number in range(50):
        at = (NOW + timedelta(seconds=number % 50)).isoformat()
        producer.produce(world.topic, json.dumps({"user": "u", "page": f"/{number}", "status": 1, "at": at}))
    producer.flush()
    later = {"user": "u", "page": "/", "status": 1, "at": (NOW + timedelta(hours=1)).isoformat()}
    producer.produce(world.topic, json.dumps(later))
    producer.flush()

    real = Writer.send

    def half(self: Writer, rows: Any) -> Any:
        def some() -> Any:
            for count, row in enumerate(rows):
                if count == 20:
                    self._producer.flush()
                    raise Dies
                yield row

        return real(self, some())

    def whole(self: Writer, rows: Any) -> Any:
        real(self, rows)
        raise Dies

    for ends in (half, whole):
        with monkeypatch.context() as patch, pytest.raises(Dies):
            patch.setattr(Writer, "send", ends)
            run(world, settings)
    run(world, settings)
    consumer = Consumer(
        {"bootstrap.servers": bootstrap, "group.id": world.topic, "auto.offset.reset": "earliest", "log_level": 0}
    )
    consumer.subscribe([f"{world.topic}.out"])
    keys: list[bytes | None] = []
    while len(keys) < 50:
        message = consumer.poll(20)
        assert message is not None, f"only {len(keys)} came"
        keys.append(message.key())
    assert consumer.poll(1) is None
    consumer.close()
    assert sorted(keys, key=str) == sorted((f"{start_of(0)}|/{number}".encode() for number in range(50)), key=str)


@pytest.mark.parametrize(
    ("wanted", "sentence"),
    [
        ({"source": "unknown"}, "give the topic unknown a schema"),
        ({"by": "nobody"}, "has no field nobody, but user, page, status, at"),
        ({"window": "soon"}, "cannot work with its window"),
        ({"kind": "errors"}, "failed = '...' says what an error is"),
        ({"failed": "status > 1"}, "failed = '...' says what an error is"),
        ({"kind": "errors", "failed": "no such ("}, "cannot work with its window, watermark or failed"),
        ({"watermark": "a while"}, "cannot work with its"),
    ],
)
def test_a_feed_that_cannot_be_is_refused(world: World, wanted: dict[str, object], sentence: str) -> None:
    world.produce([1])
    with pytest.raises(PipelineFailed, match=r"derive.feed") as failed:
        run(world, feed(world, "", **wanted))
    assert sentence in str(failed.value)


def test_a_feed_that_nobody_knows_is_refused(world: World) -> None:
    from barnabas.pipeline.derive import derive

    with pytest.raises(PipelineFailed, match=r"no feed other: name one .* which are feed"):
        derive(world.spark, feed(world), ["other"], catch_up=True, say=world.say)
