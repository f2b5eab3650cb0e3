"""`python -m compat.spark --install | HOST:PORT`."""

from __future__ import annotations

import sys

from compat.checks import Stage, check, equal, main
from compat.client import TOO_MUCH
from compat.rounds.adapter import load
from compat.spark.stream import PARTITIONS, SPARK_S, Ask, SparkMissingError, Topics, find_jars, spark
from tests.clients.waiting import wait_until


def started(stage: Stage) -> tuple[Topics, Ask]:
    client = load("confluent-kafka")
    admin = client.administer(stage.bootstrap)
    topics = Topics(client, stage.bootstrap, stage.name)
    admin.create_topic(topics.source, PARTITIONS)
    wait_until(lambda: topics.source in admin.topics(), "the topic to come")
    checkpoint = str(stage.directory / "checkpoint")
    job = spark(stage.directory / "spark.log", find_jars(), stage.bootstrap, topics.source, topics.target, checkpoint)
    return topics, stage.until_the_end.enter_context(job)


@check("consume: a stream from the first record on and from its checkpoint, and a batch from a time on", quick=False)
def stream(stage: Stage) -> None:
    topics, ask = started(stage)
    topics.produce(range(1_000))
    equal(ask(take="on"), {})
    wait_until(lambda: topics.end() >= 1_000, "the stream to begin", SPARK_S)
    topics.produce(range(1_000, 1_600))
    wait_until(lambda: topics.end() >= 1_600, "the stream to go on", SPARK_S)
    equal(ask(take="stop"), {"rows": 1_600})
    topics.check(1_600)
    topics.produce(range(1_600, 1_900))
    equal(ask(take="all", fail_on_data_loss=True), {"rows": 300})
    topics.check(1_900)
    since = ask(since=topics.epoch_ms + 1_550)
    equal(sorted(map(int, since["values"])), list(range(1_550, 1_900)))


@check("produce: a sink has its topic made, and writes keys and headers", quick=False)
def sink(stage: Stage) -> None:
    topics, ask = started(stage)
    topics.produce(range(500))
    equal(ask(take="all", fail_on_data_loss=True), {"rows": 500})
    topics.check(500)
    admin = load("confluent-kafka").administer(stage.bootstrap)
    equal(admin.partitions(topics.target), 1)


@check("records: what is deleted before it is read is said to be lost, or passed over", quick=False)
def lost(stage: Stage) -> None:
    topics, ask = started(stage)
    topics.produce(range(1_900))
    equal(ask(take="all", fail_on_data_loss=True), {"rows": 1_900})
    topics.produce(range(1_900, 2_200))
    admin = load("confluent-kafka").administer(stage.bootstrap)
    less, before = 1_900 % PARTITIONS, 700
    equal(admin.delete_records(topics.source, less, before), before)
    failed = ask(take="all", fail_on_data_loss=True)["failed"].lower()
    assert "data" in failed and ("lost" in failed or "missed" in failed), failed
    read_again = ask(take="all", fail_on_data_loss=False)
    assert "failed" not in read_again, read_again
    left = [number for number in range(1_900, 2_200) if number % PARTITIONS != less or number // PARTITIONS >= before]
    found = [int(one.value or b"") for one in topics.read()]
    equal(sorted(number for number in found if number < 1_900), list(range(1_900)))
    # The batch that failed had written some of it: Spark's sink promises no more than once at least.
    equal(sorted({number for number in found if number >= 1_900}), left)


def install() -> int:
    """Half a gigabyte is not fetched without being asked for."""
    try:
        find_jars()
    except SparkMissingError as missing:
        print(f"PySpark is left out: {missing}")
        return TOO_MUCH
    return 0


if __name__ == "__main__":
    if sys.argv[1:] == ["--install"]:
        sys.exit(install())
    main(arguments=sys.argv[1:], at_once=1)
