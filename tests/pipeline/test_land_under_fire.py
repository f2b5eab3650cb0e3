"""kill -9 of the job, its JVM, an executor and the broker while records come in: the lake has each of them once."""

from __future__ import annotations

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.clients.broker_process import BrokerProcess
from tests.clients.waiting import wait_until
from tests.pipeline.fire import EXECUTORS, LOCAL, JobProcess, Writing, kafka_and_spark, kill_by_turns

pytestmark = pytest.mark.slow

TOPIC = "orders"
PARTITIONS = 3


def value_of(number: int) -> bytes:
    return b'{"n": %d}' % number if number % 50 else b"bad %d" % number


def write_settings(directory: Path, bootstrap: str, master: str, jars: str) -> None:
    (directory / "orders.ddl").write_text("n INT NOT NULL")
    (directory / "pipeline.toml").write_text(
        kafka_and_spark(directory, bootstrap, master, jars)
        + f"""
[lake]
merge-after = 4
[land]
topics = ["{TOPIC}"]
every-seconds = 0.2
records-per-batch = 2000
[topics.{TOPIC}]
schema = "orders.ddl"
"""
    )


def check(world: Callable[[], Any], acknowledged: dict[tuple[int, int], bytes]) -> None:
    lake = world()
    landed = [((row.partition, row.offset), bytes(row.value)) for row in lake.raw]
    assert len(landed) == len(dict(landed)), "a record has landed twice"
    assert dict(landed) == acknowledged
    good = {place for place, value in acknowledged.items() if value.startswith(b"{")}
    assert sorted((row.kafka.partition, row.kafka.offset) for row in lake.decoded) == sorted(good)
    assert sorted((row.partition, row.offset) for row in lake.bad) == sorted(acknowledged.keys() - good)


@pytest.mark.parametrize(
    ("master", "victims"),
    [(LOCAL, ("driver", "jvm", "broker")), (EXECUTORS, ("executor", "driver"))],
    ids=["local", "executors"],
)
def test_the_lake_has_what_was_acknowledged(
    spark: Any, spark_jars: str, tmp_path: Path, master: str, victims: tuple[str, ...], figure: Callable[[str], None]
) -> None:
    from barnabas.pipeline.lake import Lake
    from barnabas.pipeline.tables import decoded, quarantine, raw

    with BrokerProcess(tmp_path / "broker", {"num.partitions": str(PARTITIONS)}) as broker:
        write_settings(tmp_path, broker.bootstrap, master, spark_jars)
        with Writing(broker.bootstrap, TOPIC, value_of, PARTITIONS) as writing:
            wait_until(lambda: len(writing.acknowledged) > 100, "the first records")
            done = kill_by_turns(tmp_path, "land", broker, victims)
        write_settings(tmp_path, broker.bootstrap, LOCAL, spark_jars)
        with JobProcess(tmp_path, "land", "--catch-up") as last:
            assert last.wait() == 0, last.complaint()
        until = (datetime.now(UTC) + timedelta(minutes=1)).strftime("%Y-%m-%dT%H:%M")
        with JobProcess(tmp_path, "audit", "--until", until) as audit:
            assert audit.wait() == 0, audit.said.read_text()[-2000:]
        (total,) = json.loads(audit.said.read_bytes().splitlines()[-1])["totals"]

    class Tables:
        def __init__(self) -> None:
            lake = Lake(spark, str(tmp_path / "lake"))
            self.raw = raw(spark, lake).select("partition", "offset", "value").collect()
            self.decoded = decoded(spark, lake, TOPIC).select("kafka").collect()
            self.bad = quarantine(spark, lake).select("partition", "offset").collect()

    check(Tables, writing.acknowledged)
    everything = len(writing.acknowledged)
    assert (total["produced"], total["broker"], total["landed"]) == (everything, everything, everything)
    assert (total["in_broker"], total["in_lake"], total["in_tables"], total["duplicates"]) == (1, 1, 1, 0)
    figure(f"{master}: {done}, {everything} records")
