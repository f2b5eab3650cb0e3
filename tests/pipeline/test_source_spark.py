"""The source in Spark, beside Spark's own Kafka source: the same rows of the same topics."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.client.cluster import Partition
from barnabas.protocol.compression import Compression
from barnabas.protocol.record import Record
from barnabas.testing import Broker
from compat.spark.stream import SPARK_S
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker
from tests.pipeline.source_broker import LONG_AGO, add_partitions, cluster, delete_before, numbered, produce

pytestmark = pytest.mark.slow

OURS, THEIRS = "barnabas", "kafka"
Rows = list[tuple[Any, ...]]


@pytest.fixture(scope="module", autouse=True)
def registered(spark: Any) -> None:
    from barnabas.pipeline.source import BarnabasSource

    spark.dataSource.register(BarnabasSource)


@pytest.fixture
def broker() -> Iterator[Broker]:
    with Broker() as running:
        running.create_topic("orders", 3)
        yield running


def read(spark: Any, source: str, bootstrap: str, **options: str) -> Any:
    if not {"subscribe", "subscribePattern", "assign"} & options.keys():
        options["subscribe"] = "orders"
    return spark.read.format(source).options(**{"kafka.bootstrap.servers": bootstrap}, **options).load()


def rows(frame: Any) -> Rows:
    """As tuples, in the order of topics, partitions and offsets. Times as numbers: Python's have no years before 1."""
    from pyspark.sql.functions import unix_micros

    told = frame.withColumn("timestamp", unix_micros("timestamp")).collect()
    return sorted((tuple(row) for row in told), key=lambda row: row[2:5])


def fill(broker: Broker) -> None:
    """Every compression, batches of several sizes, records of every kind, and a topic with the broker's times."""
    for number, compression in enumerate(Compression):
        partition = Partition("orders", number % 3)
        produce(broker.bootstrap_servers, partition, numbered(number * 100, number * 100 + 90), compression=compression)
    odd = [
        Record(None, None, [], LONG_AGO),
        Record(b"", b"", [("", b""), ("n", None), ("n", b"2")], 0),
        Record(bytes(range(256)), bytes(100_000), [("ü" * 40, bytes(300))], LONG_AGO + 1),
    ]
    produce(broker.bootstrap_servers, Partition("orders", 1), odd)
    broker.create_topic("orders-appended", 1, {"message.timestamp.type": "LogAppendTime"})
    produce(broker.bootstrap_servers, Partition("orders-appended", 0), numbered(0, 5))


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"includeHeaders": "true"},
        {"includeHeaders": "true", "minPartitions": "11", "subscribePattern": "orders.*"},
        {"maxRecordsPerPartition": "17", "assign": '{"orders": [1], "orders-appended": [0]}'},
        {
            "startingOffsets": '{"orders": {"0": 17, "1": -2, "2": 30}}',
            "endingOffsets": '{"orders": {"0": 101, "1": 5, "2": -1}}',
        },
        {"startingTimestamp": str(LONG_AGO + 50), "endingTimestamp": str(LONG_AGO + 320)},
        {"startingOffsetsByTimestamp": json.dumps({"orders": {str(each): LONG_AGO + 60 for each in range(3)}})},
        {"startingTimestamp": str(LONG_AGO + 400), "startingOffsetsByTimestampStrategy": "latest"},
    ],
    ids=lambda options: "-".join(options) or "all",
)
def test_a_batch_has_the_rows_of_sparks_own_source(spark: Any, broker: Broker, options: dict[str, str]) -> None:
    fill(broker)
    ours = read(spark, OURS, broker.bootstrap_servers, **options)
    theirs = read(spark, THEIRS, broker.bootstrap_servers, **options)
    assert ours.schema == theirs.schema
    found = rows(ours)
    assert len(found) > 5
    assert found == rows(theirs)


def test_a_topic_without_records_has_no_rows(spark: Any, broker: Broker) -> None:
    assert rows(read(spark, OURS, broker.bootstrap_servers)) == []


def run(spark: Any, source: str, bootstrap: str, directory: Path, **options: str) -> Rows:
    """All there is from the checkpoint on; what the lake has after that."""
    given = {"kafka.bootstrap.servers": bootstrap, "subscribe": "orders", "startingOffsets": "earliest"} | options
    lake = directory / source
    stream = spark.readStream.format(source).options(**given, includeHeaders="true").load().writeStream
    stream = stream.format("parquet").options(path=str(lake / "rows"), checkpointLocation=str(lake / "checkpoint"))
    query = stream.trigger(availableNow=True).start()
    query.awaitTermination()
    return rows(spark.read.parquet(str(lake / "rows")))


def test_a_stream_has_the_rows_of_sparks_own_source(spark: Any, broker: Broker, tmp_path: Path) -> None:
    """From its checkpoint on, with partitions that come meanwhile, and records that go."""
    fill(broker)
    first = run(spark, OURS, broker.bootstrap_servers, tmp_path)
    assert first == run(spark, THEIRS, broker.bootstrap_servers, tmp_path)
    add_partitions(broker, "orders", 4)
    for number in range(4):
        produce(broker.bootstrap_servers, Partition("orders", number), numbered(1000, 1050))
    delete_before(broker, Partition("orders", 0), 10)  # read already: nobody misses them
    second = run(spark, OURS, broker.bootstrap_servers, tmp_path)
    assert len(second) == len(first) + 200
    assert second == run(spark, THEIRS, broker.bootstrap_servers, tmp_path)


def test_once_with_a_bound_takes_one_bounded_batch(spark: Any, broker: Broker, tmp_path: Path) -> None:
    """Spark 4.0 does not tell a source in Python that a query ends; docs/PIPELINE-SOURCE.md says what comes of it."""
    produce(broker.bootstrap_servers, Partition("orders", 0), numbered(0, 25))
    lengths = [len(run(spark, OURS, broker.bootstrap_servers, tmp_path, maxOffsetsPerTrigger="10")) for _ in range(3)]
    assert lengths == [10, 20, 25]


def test_records_that_went_are_lost_data_for_both(spark: Any, broker: Broker, tmp_path: Path) -> None:
    fill(broker)
    delete_before(broker, Partition("orders", 0), 33)
    start = {"startingOffsets": '{"orders": {"0": 11, "1": -2, "2": -2}}'}
    for source in (OURS, THEIRS):
        with pytest.raises(Exception, match="Some data may have been lost") as raised:
            read(spark, source, broker.bootstrap_servers, **start).collect()
        assert "orders-0" in str(raised.value)
        assert "11" in str(raised.value)
    kept = rows(read(spark, OURS, broker.bootstrap_servers, failOnDataLoss="false", **start))
    assert kept == rows(read(spark, THEIRS, broker.bootstrap_servers, failOnDataLoss="false", **start))
    before = run(spark, OURS, broker.bootstrap_servers, tmp_path)
    produce(broker.bootstrap_servers, Partition("orders", 2), numbered(2000, 2010))
    broker.delete_topic("orders")
    broker.create_topic("orders", 3)
    produce(broker.bootstrap_servers, Partition("orders", 2), numbered(3000, 3005))
    with pytest.raises(Exception, match="The topic of orders-0 has been deleted and created again"):
        run(spark, OURS, broker.bootstrap_servers, tmp_path)
    after = run(spark, OURS, broker.bootstrap_servers, tmp_path, failOnDataLoss="false")
    assert [int(row[1]) for row in after if row not in before] == list(range(3000, 3005))
    assert len(after) == len(before) + 5


def test_what_is_wrong_is_said_in_sparks_exception(spark: Any, broker: Broker) -> None:
    with pytest.raises(Exception, match="startingOffsets is tomorrow: write earliest"):
        read(spark, OURS, broker.bootstrap_servers, startingOffsets="tomorrow").collect()
    with pytest.raises(Exception, match="The topic nothing is not there"):
        read(spark, OURS, broker.bootstrap_servers, subscribe="nothing").collect()
    columns = "value binary, topic string, partition int, offset bigint, timestamp timestamp, timestampType int"
    for schema in ("value string", f"key string, {columns}"):
        own = spark.read.format(OURS).schema(schema).option("subscribe", "orders")
        with pytest.raises(Exception, match="This source has a schema of its own"):
            own.option("kafka.bootstrap.servers", broker.bootstrap_servers).load().collect()


class Stream:
    """A query that hands its batches to Python; the first so many calls of it fail."""

    def __init__(self, spark: Any, broker: Broker, checkpoint: Path, *, failures: int = 0, **options: str) -> None:
        self.batches: list[list[int]] = []
        self._failures = failures
        given = {"kafka.bootstrap.servers": broker.bootstrap_servers, "subscribe": "orders"} | options
        frame = spark.readStream.format(OURS).options(**given).load()
        stream = frame.writeStream.foreachBatch(self._take).option("checkpointLocation", str(checkpoint))
        self.query = stream.trigger(processingTime="0 seconds").start()

    def _take(self, frame: Any, _: int) -> None:
        if self._failures:
            self._failures -= 1
            raise RuntimeError("the test wanted it")
        self.batches.append(sorted(int(row["value"]) for row in frame.select("value").collect()))

    @property
    def values(self) -> list[int]:
        return sorted(value for batch in self.batches for value in batch)

    def wait_for(self, count: int) -> None:
        wait_until(
            lambda: len(self.values) >= count or not self.query.isActive,
            lambda: f"{count} records; there are {len(self.values)}",
            SPARK_S,
        )
        assert self.query.isActive, self.query.exception()

    def stop(self) -> None:
        """When its last batch is in the checkpoint, too: one that is not comes again."""
        self.query.processAllAvailable()
        self.query.stop()


def test_a_stream_from_the_latest_on_that_fails_at_once_begins_where_it_did(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    produce(broker.bootstrap_servers, Partition("orders", 0), numbered(0, 10))
    failed = Stream(spark, broker, tmp_path, failures=1)
    wait_until(lambda: not failed.query.isActive, "the query to fail", SPARK_S)
    assert failed.batches == []
    produce(broker.bootstrap_servers, Partition("orders", 0), numbered(10, 20))
    again = Stream(spark, broker, tmp_path)
    again.wait_for(10)
    again.stop()
    assert again.values == list(range(10, 20))


def test_a_stream_bears_a_broker_that_dies_and_its_batches_are_bounded(
    spark: Any, broker: Broker, tmp_path: Path
) -> None:
    for number in range(3):
        produce(broker.bootstrap_servers, Partition("orders", number), numbered(number * 10, number * 10 + 10))
    stream = Stream(spark, broker, tmp_path, startingOffsets="earliest", maxOffsetsPerTrigger="12")
    stream.wait_for(30)
    broker.kill()
    broker.start()
    produce(broker.bootstrap_servers, Partition("orders", 1), numbered(30, 50))
    stream.wait_for(50)
    stream.stop()
    assert stream.values == list(range(50))
    assert max(map(len, stream.batches)) <= 12
    produce(broker.bootstrap_servers, Partition("orders", 2), numbered(50, 90))
    again = Stream(spark, broker, tmp_path, maxOffsetsPerTrigger="12")
    again.wait_for(40)
    again.stop()
    assert again.values == list(range(50, 90))
    assert max(map(len, again.batches)) <= 12


@pytest.mark.java
def test_transactions_are_seen_as_sparks_own_source_sees_them(spark: Any, kafka_broker: KafkaBroker) -> None:
    """Apache Kafka beside both: Barnabas has no transactions yet."""
    confluent_kafka = pytest.importorskip("confluent_kafka")
    producer = confluent_kafka.Producer(
        {"bootstrap.servers": kafka_broker.bootstrap, "transactional.id": "spark", "linger.ms": 0}
    )
    producer.init_transactions(30)
    topic = "orders-in-transactions"
    for number in range(12):
        producer.begin_transaction()
        for each in range(10):
            producer.produce(topic, b"%d" % (number * 10 + each))
        producer.flush()
        if number % 3 == 1:
            producer.abort_transaction(30)
        else:
            producer.commit_transaction(30)
    producer.begin_transaction()
    producer.produce(topic, b"open")
    producer.flush()
    found = {}
    for level in ("read_committed", "read_uncommitted"):
        options = {"subscribe": topic, "kafka.isolation.level": level}
        found[level] = rows(read(spark, OURS, kafka_broker.bootstrap, **options))
        assert found[level] == rows(read(spark, THEIRS, kafka_broker.bootstrap, **options))
    producer.abort_transaction(30)
    assert [len(each) for each in found.values()] == [80, 121]
    with cluster(kafka_broker.bootstrap) as asked:
        assert asked.topics([topic])
