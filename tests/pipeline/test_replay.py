"""Replays of a lake: record for record, at a rate, killed again and again; and what they say where they cannot be."""

from __future__ import annotations

import re
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.failures import PipelineFailed
from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.pipeline.jobs import JOB_S, run, started
from tests.pipeline.jvm import short_lived

pytest.importorskip("pyspark")
pytest.importorskip("confluent_kafka")

from barnabas.pipeline.settings import read_settings
from tests.pipeline.kafka import Cluster, Seen

pytestmark = pytest.mark.slow

T = 1_700_000_000_000
COUNT = 30_000
PARTITIONS = 3
OTHERS = {"retention.ms": "-1"}


class Land:
    """A topic that has been landed, and the cluster where it still is."""

    def __init__(self, directory: Path, process: BrokerProcess) -> None:
        self.directory = directory
        self.process = process
        self.cluster = Cluster(process.bootstrap)
        self.file = directory / "pipeline.toml"
        self.file.write_text(
            f"""
            [kafka]
            "bootstrap.servers" = "{process.bootstrap}"
            [spark]
            "spark.master" = "local[2]"
            {short_lived()}
            [land]
            topics = ["orders"]
            records-per-batch = 20000
            """
        )

    def wanted(self, since: int, until: int) -> dict[int, list[Seen]]:
        found = self.cluster.read("orders", PARTITIONS)
        return {
            number: [seen for seen in records if since <= seen.timestamp_ms < until]
            for number, records in found.items()
        }


@pytest.fixture(scope="module")
def landed(spark: Any, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Land]:
    directory = tmp_path_factory.mktemp("replay")
    with BrokerProcess(directory / "broker", {"auto.create.topics.enable": "false"}) as process:
        from barnabas.pipeline.land import land

        found = Land(directory, process)
        found.cluster.create("orders", PARTITIONS, OTHERS)
        found.cluster.produce("orders", map(record, range(COUNT)))
        land(spark, read_settings(found.file), catch_up=True, say=lambda *_, **__: None)
        yield found


def record(number: int) -> tuple[int, dict[str, Any]]:
    """Not quite in the order of its time; two hours long."""
    headers = [("n", b"%d" % number), ("n", b"\xff\x00"), ("null", None)] if number % 5 else []
    return number % PARTITIONS, {
        "key": b"\x00key %d" % (number % 101) if number % 3 else None,
        "value": None if number % 7 == 0 else b"value %d " % number * 5,
        "headers": headers,
        "timestamp": T + (number + number * 37 % 500) * 240,
    }


Replay = Callable[..., list[dict[str, Any]]]


@pytest.fixture
def replay(spark: Any, landed: Land) -> Replay:
    """In this process; what it has said."""

    def replay(
        to: str,
        since: int = T,
        until: int = T + 10**9,
        *,
        topic: str = "orders",
        rate: float | None = None,
        dry_run: bool = False,
        **more: Any,
    ) -> list[dict[str, Any]]:
        from barnabas.pipeline.replay import Asked
        from barnabas.pipeline.replay import replay as job

        said: list[dict[str, Any]] = []
        asked = Asked(topic=topic, to_topic=to, since_ms=since, until_ms=until, **more)
        settings = read_settings(landed.file)
        job(spark, settings, asked, rate=rate, dry_run=dry_run, say=lambda _, **facts: said.append(facts))
        return said

    return replay


@pytest.mark.parametrize("by", ["event", "record"])
def test_a_range_record_for_record(by: str, landed: Land, replay: Replay) -> None:
    to = f"range-{by}"
    landed.cluster.create(to, PARTITIONS + 1, OTHERS)
    landed.cluster.produce(to, [(1, {"value": b"it was there before"})])
    since, until = T + 1_000_007, T + 5_000_003
    planned = replay(to, since, until, by=by, dry_run=True)
    assert sum(map(len, landed.cluster.read(to, PARTITIONS + 1).values())) == 1
    said = replay(to, since, until, by=by)
    wanted, found = landed.wanted(since, until), landed.cluster.read(to, PARTITIONS + 1)
    assert found[1].pop(0).value == b"it was there before"
    for number in range(PARTITIONS):
        assert len(wanted[number]) > 1_000
        assert [seen.content for seen in found[number]] == [seen.content for seen in wanted[number]]
    assert not found[PARTITIONS]
    total = sum(map(len, wanted.values()))
    assert [said[-1][key] for key in ("event", "records", "sent")] == ["done", total, total]
    assert [(each["partition"], each["records"], each["offset"]) for each in planned] == [
        (number, len(wanted[number]), 1 if number == 1 else 0) for number in range(PARTITIONS)
    ]


def test_by_key_each_key_in_its_own_order(landed: Land, replay: Replay) -> None:
    landed.cluster.create("keyed", 5, OTHERS)
    replay("keyed", T, T + 3_000_000, partitions="by-key")
    landed.cluster.create("keyed-by-librdkafka", 5, OTHERS)
    wanted = [seen for records in landed.wanted(T, T + 3_000_000).values() for seen in records]
    landed.cluster.produce(
        "keyed-by-librdkafka",
        ((-1, {"key": seen.key, "value": b"", "timestamp": T}) for seen in wanted if seen.key is not None),
        partitioner="murmur2_random",
    )
    partition_of = {
        seen.key: n for n, all_of in landed.cluster.read("keyed-by-librdkafka", 5).items() for seen in all_of
    }
    found = landed.cluster.read("keyed", 5)
    assert sorted(map(repr, (seen.content for each in found.values() for seen in each))) == sorted(
        repr(seen.content) for seen in wanted
    )
    for number, records in found.items():
        assert all(partition_of[seen.key] == number for seen in records if seen.key is not None)
        for origin in range(PARTITIONS):
            numbers = [n for n in map(_number, records) if n is not None and n % PARTITIONS == origin]
            assert numbers == sorted(numbers)


def _number(seen: Seen) -> int | None:
    header = dict(seen.headers[:1]).get("n")
    return int(header) if header is not None else None


def test_a_rate_is_kept_all_the_way(landed: Land, replay: Replay) -> None:
    landed.cluster.create("paced", PARTITIONS, OTHERS)
    arrivals = Arrivals(landed.cluster, "paced")
    with arrivals:
        (done,) = [event for event in replay("paced", T, T + 1_200_000, rate=1_000) if event["event"] == "done"]
    count = sum(map(len, landed.wanted(T, T + 1_200_000).values()))
    assert done["records"] == count > 4_000
    seconds = arrivals.times[-1] - arrivals.times[0]
    assert count / 1_000 * 0.9 < seconds < count / 1_000 * 1.5
    # Of any second no more than it should be, and what little a busy machine has held up.
    most = max(_within(arrivals.times, second) for second in range(int(seconds)))
    assert most < 2_000


def _within(times: list[float], second: int) -> int:
    return sum(1 for each in times if second <= each - times[0] < second + 1)


class Arrivals:
    """When a consumer, which asks all the time, got each record."""

    def __init__(self, cluster: Cluster, topic: str) -> None:
        self._cluster = cluster
        self._topic = topic
        self.times: list[float] = []

    def __enter__(self) -> None:
        self._stop = self._cluster.follow(self._topic, PARTITIONS, self.times)

    def __exit__(self, *_error: object) -> None:
        self._stop()


def test_killed_again_and_again(landed: Land, tmp_path: Path) -> None:
    landed.cluster.create("killed", PARTITIONS, OTHERS)
    arguments = ["replay", "orders", f"--since={T}", f"--until={T + 10**9}", "--to-topic=killed"]
    arguments += ["--rate=6000", f"--config={landed.file}"]

    def arrived() -> int:
        return sum(landed.cluster.bounds("killed", number)[1] for number in range(PARTITIONS))

    def has_come(count: int) -> bool:
        return arrived() >= count

    for killed_at in (1, 9_000, 16_000):
        with started(tmp_path, *arguments) as job:
            wait_until(partial(has_come, killed_at), lambda: f"records: {arrived()}; {job.complaint}", JOB_S)
            job.end(signal.SIGKILL)
    with started(tmp_path, *arguments) as job:
        wait_until(lambda: arrived() >= 19_000, lambda: f"records: {arrived()}; {job.complaint}", JOB_S)
        job.end(signal.SIGTERM)
        assert job.wait() == 1
        assert "The replay was told to end before it was done: start the same again" in job.complaint
    with started(tmp_path, *arguments) as job:
        wait_until(lambda: arrived() >= 22_000, lambda: f"records: {arrived()}; {job.complaint}", JOB_S)
        landed.process.restart(kill=True)
        assert job.wait() == 0, job.complaint
    (resumed,) = job.events("resumed")
    assert 19_000 <= resumed["records"] < resumed["of"] == COUNT
    (done,) = job.events("done")
    assert (done["records"], done["sent"]) == (COUNT, COUNT - resumed["records"])
    wanted, found = landed.wanted(0, 2 * T), landed.cluster.read("killed", PARTITIONS)
    for number in range(PARTITIONS):
        assert [seen.content for seen in found[number]] == [seen.content for seen in wanted[number]]
    # It has ended: to ask again is to replay again.
    again = run(tmp_path, *arguments, "--dry-run").events("plan")
    assert [plan["offset"] for plan in again] == [COUNT // PARTITIONS] * PARTITIONS


def test_what_cannot_be_replayed(landed: Land, replay: Replay) -> None:
    landed.cluster.create("narrow", PARTITIONS - 1)
    landed.cluster.create("stamped", PARTITIONS, {"message.timestamp.type": "LogAppendTime"})
    for arguments, sentence in (
        (
            {"to": "x", "since": T, "until": T},
            "--since 2023-11-14T22:13:20.000+00:00 is not before --until 2023",
        ),
        ({"to": "x", "topic": "unknown"}, "The lake file:"),
        ({"to": "x"}, "There is no topic x to replay into: create it."),
        ({"to": "narrow"}, "narrow has 2 partitions, and 3 are written to: add some, or spread the records anew with "),
        ({"to": "stamped"}, "stamped gives its records timestamps of its own: set its message.timestamp.type"),
        ({"to": "narrow", "since": 5, "until": 9}, "The lake has no record of orders in that range: mend --since and"),
        ({"to": "narrow", "since": 5, "until": 10**18}, "narrow has 2 partitions"),
    ):
        with pytest.raises(PipelineFailed, match=f"^{re.escape(sentence)}"):
            replay(**arguments)


def test_somebody_else_who_writes(landed: Land, replay: Replay, tmp_path: Path) -> None:
    landed.cluster.create("theirs", PARTITIONS, OTHERS)
    until = T + 10**6
    arguments = ["replay", "orders", f"--since={T}", f"--until={until}", "--to-topic=theirs", "--rate=500"]
    with started(tmp_path, *arguments, f"--config={landed.file}") as job:
        wait_until(lambda: landed.cluster.bounds("theirs", 2)[1] > 100, lambda: job.complaint, JOB_S)
        landed.cluster.produce("theirs", [(2, {"value": b"theirs"})])
        assert job.wait() == 1
        assert re.search(
            r"^barnabas pipeline replay: Somebody else writes into theirs-2, from \d+ on\.", job.complaint, re.MULTILINE
        )
    with pytest.raises(PipelineFailed, match=r"^theirs-2 has another record at offset \d+ than is replayed there"):
        replay("theirs", T, until)


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--since=2h", "--until=now"], "--since 2h is no fixed moment: write 2026-01-31T18:30:00.000"),
        (["--since=1", "--until=2", "--rate=0"], "--rate 0 is no number of records a second"),
        (["--since=1"], "--until has to be given."),
    ],
)
def test_wrong_usage(arguments: list[str], sentence: str, tmp_path: Path) -> None:
    with started(tmp_path, "replay", "orders", *arguments) as job:
        assert job.wait() == 2
        assert sentence in job.complaint
