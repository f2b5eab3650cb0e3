"""A task of the mirror, without Spark: killed at any place and begun anew, beside others who write, over holes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.clients.broker_process import BrokerProcess

pytest.importorskip("confluent_kafka")

from barnabas.pipeline.copying import mirroring
from barnabas.pipeline.copying.map_topic import MapTopic
from barnabas.pipeline.copying.mirroring import Copying, Position, copy
from barnabas.pipeline.writing import Writer
from tests.pipeline.kafka import Cluster

pytestmark = pytest.mark.slow

T = 1_700_000_000_000
ID = "an-id"


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    with BrokerProcess(tmp_path_factory.mktemp("mirroring")) as running:
        yield Cluster(running.bootstrap)


@pytest.fixture
def topic(cluster: Cluster, request: pytest.FixtureRequest) -> str:
    name: str = request.node.name
    cluster.create(name, 2)
    cluster.create(f"{name}.offsets", 1, {"cleanup.policy": "compact"})
    return name


class Killed(BaseException):
    pass


def row(topic: str, offset: int, value: bytes | None = None) -> tuple[Any, ...]:
    """As Spark has it: bytes that can be changed."""
    value = b"value %d" % offset if value is None else value
    return (topic, 1, offset, bytearray(b"key"), bytearray(value), ["a", "a"], [bytearray(b"\xff"), None], T + offset)


def position(cluster: Cluster, topic: str) -> Position:
    """As the driver finds it."""
    known = MapTopic(f"{topic}.offsets", {"bootstrap.servers": cluster.bootstrap})
    end = cluster.bounds(topic, 1)[1]
    known.refresh()
    copied = known.of(topic, 1)
    assert copied.sure <= end <= copied.planned_end
    arrived = copied.arrived(end)
    next_source = arrived.next_source(ID)
    last = arrived.runs[-1] if arrived.runs else None
    return Position(ID, end, next_source, last, arrived.last_runs(ID, next_source - 10_000))


def copying(cluster: Cluster, topic: str, at: Position) -> Copying:
    properties = {"bootstrap.servers": cluster.bootstrap}
    return Copying(properties, properties, f"{topic}.offsets", {topic: topic}, {(topic, 1): at})


def mapped(cluster: Cluster, topic: str) -> list[int]:
    """The offset at the source of each record that is at the target."""
    return [offset for run in position(cluster, topic).again for offset in range(run.source, run.source_end)]


def test_killed_after_any_chunk_with_the_source_compacted_meanwhile(
    cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(mirroring, "_CHUNK_RECORDS", 7)
    offsets = [offset for offset in range(300) if offset % 10 != 3]  # markers of transactions, or a compaction's holes
    for killed_at in range(20, 260, 40):
        sending = position(cluster, topic)

        def until_killed(limit: int = killed_at) -> Iterator[tuple[Any, ...]]:
            for offset in offsets:
                if offset >= limit:
                    raise Killed
                yield row(topic, offset)

        with pytest.raises(Killed):
            list(copy(copying(cluster, topic, sending), until_killed()))
        there = len(cluster.read(topic, 2)[1])
        # Another chunk was planned, and only two of its records came through.
        planned = position(cluster, topic)
        chunk = [offset for offset in offsets if offset >= planned.next_source][:7]
        with pytest.raises(Killed), monkeypatch.context() as patched:
            patched.setattr(Writer, "send", _only_two(Writer.send, topic))
            list(copy(copying(cluster, topic, planned), [row(topic, offset) for offset in chunk]))
        assert len(cluster.read(topic, 2)[1]) == there + 2
        # Of what was to come a record is taken by compaction.
        offsets.remove(chunk[4])
    there = len(cluster.read(topic, 2)[1])
    (last,) = copy(copying(cluster, topic, position(cluster, topic)), [row(topic, offset) for offset in offsets])
    assert last.records == len(offsets) - there
    seen = cluster.read(topic, 2)
    assert [one.timestamp_ms - T for one in seen[1]] == mapped(cluster, topic) == offsets
    assert [one.value for one in seen[1]] == [b"value %d" % offset for offset in offsets]
    assert all(one.key == b"key" and one.headers == (("a", b"\xff"), ("a", None)) for one in seen[1])
    assert not seen[0]


def _only_two(real: Any, topic: str) -> Any:
    def send(writer: Any, rows: Any) -> Any:
        rows = list(rows)
        if rows[0].topic != topic:
            return real(writer, rows)
        real(writer, rows[:2])
        raise Killed

    return send


def test_a_batch_that_comes_again_whole_is_passed_over(cluster: Cluster, topic: str) -> None:
    rows = [row(topic, offset) for offset in range(100)]
    assert [sent.records for sent in copy(copying(cluster, topic, position(cluster, topic)), rows)] == [100]
    assert [sent.records for sent in copy(copying(cluster, topic, position(cluster, topic)), rows)] == [0]
    assert len(cluster.read(topic, 2)[1]) == 100


def test_another_record_where_ours_should_be(cluster: Cluster, topic: str) -> None:
    list(copy(copying(cluster, topic, position(cluster, topic)), [row(topic, offset) for offset in range(10)]))
    again = [row(topic, offset, b"other" if offset == 6 else None) for offset in range(20)]
    with pytest.raises(PipelineFailed, match=r"-1 has another record at offset 6 than its source at 6: somebody else"):
        list(copy(copying(cluster, topic, position(cluster, topic)), again))
    assert len(cluster.read(topic, 2)[1]) == 10


def test_somebody_who_writes_before_or_meanwhile(cluster: Cluster, topic: str, monkeypatch: pytest.MonkeyPatch) -> None:
    found = position(cluster, topic)
    monkeypatch.setattr(mirroring, "_CHUNK_RECORDS", 5)

    def somebody_writes() -> Iterator[tuple[Any, ...]]:
        for offset in range(20):
            if offset == 7:
                cluster.produce(topic, [(1, {"value": b"theirs"})])
            yield row(topic, offset)

    with pytest.raises(PipelineFailed, match=r"^Somebody else writes into .*-1, from offset 5 on\. Let nobody else"):
        list(copy(copying(cluster, topic, found), somebody_writes()))
    with pytest.raises(PipelineFailed, match=r"-1 is not where it was when this batch began: it ended at 0, "):
        list(copy(copying(cluster, topic, found), [row(topic, 0)]))


def test_retention_at_the_target_between_two_starts(cluster: Cluster, topic: str) -> None:
    list(copy(copying(cluster, topic, position(cluster, topic)), [row(topic, offset) for offset in range(50)]))
    cluster.delete_before(topic, 1, 45)
    found = position(cluster, topic)
    assert [sent.records for sent in copy(copying(cluster, topic, found), [row(topic, n) for n in range(60)])] == [10]
    assert [one.offset for one in cluster.read(topic, 2)[1]] == list(range(45, 60))
