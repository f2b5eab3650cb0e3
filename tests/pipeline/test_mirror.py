"""The mirror as a program: killed again and again, its target too; and what it says where it cannot be."""

from __future__ import annotations

import re
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.pipeline.jobs import JOB_S, Job, run, started
from tests.pipeline.jvm import short_lived

pytest.importorskip("pyspark")
pytest.importorskip("confluent_kafka")

from barnabas.pipeline.copying.map_topic import MapTopic
from barnabas.pipeline.settings import Mirror, Settings
from tests.pipeline.kafka import Cluster, rd

pytestmark = pytest.mark.slow

T = 1_700_000_000_000
PARTITIONS = 3


@pytest.fixture(scope="module")
def source(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("source")) as running:
        yield running


@pytest.fixture(scope="module")
def target(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("target")) as running:
        yield running


def record(number: int) -> tuple[int, dict[str, Any]]:
    headers = [("n", b"%d" % number), ("n", b"\xff\x00"), ("null", None)] if number % 5 else []
    value = None if number % 7 == 0 else b"value %d " % number * 8
    return number % PARTITIONS, {
        "key": b"\x00key %d" % (number % 11) if number % 3 else None,
        "value": value,
        "headers": headers,
        "timestamp": T + number * 13 % 1_000,
    }


def settings_file(directory: Path, source: Cluster, target: Cluster, more: str) -> Path:
    file = directory / "pipeline.toml"
    file.write_text(
        f"""
        [kafka]
        "bootstrap.servers" = "{source.bootstrap}"
        [spark]
        "spark.master" = "local[2]"
        {short_lived()}
        [mirror]
        kafka = {{"bootstrap.servers" = "{target.bootstrap}"}}
        every-seconds = 0.1
        {more}
        """
    )
    return file


def test_killed_again_and_again(source: BrokerProcess, target: BrokerProcess, tmp_path: Path) -> None:
    one, other = Cluster(source.bootstrap), Cluster(target.bootstrap)
    one.create("killed", PARTITIONS, {"retention.ms": "-1", "segment.bytes": "2000000"})
    count = 60_000
    one.produce("killed", map(record, range(count)))
    one.delete_before("killed", 1, 1_000)
    file = settings_file(tmp_path, one, other, 'pattern = "killed.*"\nprefix = "from."\nrecords-per-batch = 20_000\n')

    def arrived() -> int:
        if "from.killed" not in other.topics():
            return 0
        return sum(other.bounds("from.killed", number)[1] for number in range(PARTITIONS))

    def wait_for(count: int, job: Job) -> None:
        wait_until(lambda: arrived() >= count, lambda: f"{count}, not {arrived()}: {job.complaint}", JOB_S)

    for killed_at in (1, 15_000, 32_000):
        with started(tmp_path, "mirror", f"--config={file}") as job:
            wait_for(killed_at, job)
            job.end(signal.SIGKILL)
    one.create("killed.too", 1, {"retention.ms": "-1"})
    one.produce("killed.too", ((0, {"value": b"%d" % number, "timestamp": T}) for number in range(100)))
    with started(tmp_path, "mirror", f"--config={file}") as job:
        wait_for(42_000, job)
        target.restart(kill=True)
        wait_for(count - 1_000, job)
        one.grow("killed", PARTITIONS + 1)
        one.produce("killed", ((PARTITIONS, {"value": b"grown", "timestamp": T}) for _ in range(10)))
        wait_until(lambda: other.topics().get("from.killed") == PARTITIONS + 1, lambda: job.complaint, JOB_S)
        job.end(signal.SIGTERM)
        assert job.wait() == 0, job.complaint
    _commit(one, "readers", {("killed", 0): 500, ("killed", 1): 1_500, ("killed", 2): count // PARTITIONS})
    job = run(tmp_path, "mirror", "--catch-up", "--groups", f"--config={file}")
    assert {"event": "group", "group": "readers", "offsets": 3} in job.events()

    wanted, found = one.read("killed", PARTITIONS + 1), other.read("from.killed", PARTITIONS + 1)
    mapped = MapTopic("mirror.offsets", {"bootstrap.servers": other.bootstrap})
    mapped.refresh()
    for number in range(PARTITIONS + 1):
        assert [seen.content for seen in found[number]] == [seen.content for seen in wanted[number]]
        copied = mapped.of("from.killed", number)
        (id_of_topic,) = {run.id for run in copied.runs}
        assert [copied.translate(id_of_topic, seen.offset) for seen in wanted[number]] == [
            seen.offset for seen in found[number]
        ]
    assert [seen.content for seen in other.read("from.killed.too", 1)[0]] == [
        seen.content for seen in one.read("killed.too", 1)[0]
    ]
    assert _committed(other, "readers") == {
        ("from.killed", 0): 500,
        ("from.killed", 1): 500,
        ("from.killed", 2): count // PARTITIONS,
    }
    config = other.config("from.killed")
    assert (config["retention.ms"], config["segment.bytes"]) == ("-1", "2000000")
    assert not target.new_failures()


def _commit(cluster: Cluster, group: str, offsets: dict[tuple[str, int], int]) -> None:
    places = [rd.TopicPartition(topic, number, offset) for (topic, number), offset in offsets.items()]
    asked = rd.ConsumerGroupTopicPartitions(group, places)
    cluster.admin.alter_consumer_group_offsets([asked])[group].result(30)


def _committed(cluster: Cluster, group: str) -> dict[tuple[str, int], int]:
    asked = rd.ConsumerGroupTopicPartitions(group)
    found = cluster.admin.list_consumer_group_offsets([asked])[group].result(30).topic_partitions
    return {(place.topic, place.partition): place.offset for place in found}


class Mirrored:
    """A mirror in this process, one catch-up after the other."""

    def __init__(self, spark: Any, one: Cluster, other: Cluster, directory: Path) -> None:
        self._spark = spark
        self._settings = Settings(kafka={"bootstrap.servers": one.bootstrap}, directory=str(directory))
        self._to = {"bootstrap.servers": other.bootstrap}

    def __call__(self, groups: str | None = None, **wanted: Any) -> list[dict[str, Any]]:
        from barnabas.pipeline.mirror import mirror

        said: list[dict[str, Any]] = []
        settings = msgspec.structs.replace(self._settings, mirror=Mirror(**{"kafka": self._to, **wanted}))
        mirror(self._spark, settings, catch_up=True, groups=groups, say=lambda _, **facts: said.append(facts))
        return said


@pytest.fixture
def mirrored(spark: Any, source: BrokerProcess, target: BrokerProcess, tmp_path: Path) -> Mirrored:
    return Mirrored(spark, Cluster(source.bootstrap), Cluster(target.bootstrap), tmp_path)


def test_what_cannot_be_mirrored(mirrored: Mirrored, source: BrokerProcess, target: BrokerProcess) -> None:
    one, other = Cluster(source.bootstrap), Cluster(target.bootstrap)
    one.create("here", 1)
    one.create("stamped", 1)
    other.create("stamped", 1, {"message.timestamp.type": "LogAppendTime"})
    for wanted, sentence in (
        ({}, "[mirror]: say which topics, by either topics = [...] or pattern = '...'."),
        ({"pattern": "("}, "( is no pattern: missing ), unterminated subpattern"),
        ({"topics": ["nowhere"]}, "There is no topic nowhere to mirror: create it, or take it out of [mirror]."),
        ({"topics": ["here"], "kafka": {}}, "[mirror] names no target: give it kafka"),
        ({"topics": ["here"], "kafka": {"bootstrap.servers": "127.0.0.1:9"}}, "No broker answers at 127.0.0.1:9"),
        ({"topics": ["here"], "kafka": {"bootstrap.servers": one.bootstrap}}, "[mirror] kafka is the cluster that is"),
        ({"topics": ["stamped"]}, "stamped gives its records timestamps of its own: set its message.timestamp.type"),
    ):
        with pytest.raises(PipelineFailed, match=f"^{re.escape(sentence)}"):
            mirrored(**wanted)


def test_a_target_that_is_not_as_it_was_left(mirrored: Mirrored, source: BrokerProcess, target: BrokerProcess) -> None:
    one, other = Cluster(source.bootstrap), Cluster(target.bootstrap)
    one.create("changed", 1)
    one.produce("changed", [(0, {"value": b"1"})] * 5)
    other.create("theirs.changed", 1)
    other.produce("theirs.changed", [(0, {"value": b"2"})])
    with pytest.raises(
        PipelineFailed, match=r"^theirs\.changed-0 ends at 1 at the target, and .* written up to 0: some"
    ):
        mirrored(topics=["changed"], prefix="theirs.")
    mirrored(topics=["changed"], prefix="ours.")
    other.produce("ours.changed", [(0, {"value": b"2"})])
    with pytest.raises(PipelineFailed, match=r"^ours\.changed-0 ends at 6 at the target, and .* written up to 5: some"):
        mirrored(topics=["changed"], prefix="ours.")
    other.admin.delete_topics(["ours.changed"])["ours.changed"].result(30)
    one.produce("changed", [(0, {"value": b"1"})])
    with pytest.raises(PipelineFailed, match=r"^ours\.changed-0 ends at 0 at the target, and was mirrored up to 5: it"):
        mirrored(topics=["changed"], prefix="ours.")


def test_a_lost_checkpoint_and_a_source_created_again(
    mirrored: Mirrored, source: BrokerProcess, target: BrokerProcess
) -> None:
    one, other = Cluster(source.bootstrap), Cluster(target.bootstrap)
    one.create("again", 1)
    one.produce("again", [(0, {"value": b"old %d" % number, "timestamp": T}) for number in range(30)])
    mirrored(topics=["again"], prefix="x.", checkpoint="first")
    one.produce("again", [(0, {"value": b"more %d" % number, "timestamp": T}) for number in range(10)])
    said = mirrored(topics=["again"], prefix="x.", checkpoint="second")
    assert [event["records"] for event in said if event["event"] == "batch"] == [10]
    assert len(other.read("x.again", 1)[0]) == 40
    one.admin.delete_topics(["again"])["again"].result(30)
    wait_until(lambda: "again" not in one.topics(), "the topic to be gone")
    one.create("again", 1)
    one.produce("again", [(0, {"value": b"new %d" % number, "timestamp": T}) for number in range(5)])
    with pytest.raises(PipelineFailed, match=r"again-0 ends at 5, and has been read up to 40: .* fail-on-data-loss"):
        mirrored(topics=["again"], prefix="x.", checkpoint="second")
    mirrored(topics=["again"], prefix="x.", checkpoint="third")
    values = [seen.value for seen in other.read("x.again", 1)[0]]
    assert values[:40] == [b"old %d" % number for number in range(30)] + [b"more %d" % number for number in range(10)]
    assert values[40:] == [b"new %d" % number for number in range(5)]
    # A group of the topic as it is now is behind what was copied of the old one.
    _commit(one, "newer", {("again", 0): 3})
    mirrored("newer", topics=["again"], prefix="x.", checkpoint="third")
    assert _committed(other, "newer") == {("x.again", 0): 43}
    # And it is never taken back.
    _commit(one, "newer", {("again", 0): 1})
    mirrored("newer", topics=["again"], prefix="x.", checkpoint="third")
    assert _committed(other, "newer") == {("x.again", 0): 43}
