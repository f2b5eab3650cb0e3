"""Apache Kafka follows a leader of ours: what counts, who is in sync, and a consumer that reads from the follower."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_records import (
    DeleteRecordsPartition,
    DeleteRecordsRequest,
    DeleteRecordsResponse,
    DeleteRecordsTopic,
)
from tests.broker.controller_door.kafka_cluster import KafkaCluster
from tests.clients.waiting import wait_until
from tests.cluster.asking import produce
from tests.kafka.client import RawClient

pytestmark = [pytest.mark.slow, pytest.mark.java]

OURS, KAFKA = 1, 2
RECORDS = 50
SELECTOR = "org.apache.kafka.common.replica.RackAwareReplicaSelector"


def test_kafka_follows(kafka_classpath: str, tmp_path: Path) -> None:
    settings = {"broker_rack": "a", "replica_selector_class": SELECTOR, "replica_lag_time_max_ms": "3000"}
    with KafkaCluster(kafka_classpath, tmp_path, cordoned=False, **settings) as cluster:
        follower = cluster.broker(KAFKA, broker_rack="b")
        with cluster.node.client() as client:
            cluster.create(client, "orders", [OURS, KAFKA], min_insync_replicas="2")
            for number in range(RECORDS):
                assert produce(client, "orders", 0, b"record %d" % number) == (0, number)
            ours = cluster.node.do(lambda node: node.partition("orders", 0).log.directory)
            name = "00000000000000000000.log"
            theirs = follower.data_directory / "orders-0"
            assert (theirs / name).read_bytes() == (ours / name).read_bytes()
            _read_from_follower(cluster.node.bootstrap)

            follower.kill()
            cluster.until_in_sync("orders", 0, OURS)
            assert produce(client, "orders", 0, b"for two")[0] == ErrorCode.NOT_ENOUGH_REPLICAS
            assert produce(client, "orders", 0, b"for one", acks=1) == (0, RECORDS)
            assert cluster.node.do(lambda node: node.partition("orders", 0).high_watermark.offset) == RECORDS

            follower.start()
            cluster.until_in_sync("orders", 0, OURS, KAFKA)
            assert produce(client, "orders", 0, b"for two") == (0, RECORDS + 1)
            assert _delete_all(client) == (0, RECORDS + 2)
            assert cluster.node.do(lambda node: node.partition("orders", 0).log.start_offset) == RECORDS + 2


def _read_from_follower(bootstrap: str) -> None:
    read_from: set[int] = set()

    def look(text: str) -> None:
        for broker in json.loads(text)["brokers"].values():
            if "orders-0" in broker["toppars"]:
                read_from.add(broker["nodeid"])

    consumer = Consumer(
        {
            "bootstrap.servers": bootstrap,
            "group.id": "nearby",
            "client.rack": "b",
            "auto.offset.reset": "earliest",
            "statistics.interval.ms": 100,
            "stats_cb": look,
        }
    )
    try:
        consumer.assign([TopicPartition("orders", 0, 0)])
        values: list[bytes | None] = []

        def has_read_all() -> bool:
            values.extend(record.value() for record in consumer.consume(RECORDS, 0.1) if not record.error())
            return len(values) >= RECORDS and KAFKA in read_from

        wait_until(has_read_all, "all records, from the follower")
        assert values == [b"record %d" % number for number in range(RECORDS)]
    finally:
        consumer.close()


def _delete_all(client: RawClient) -> tuple[int, int]:
    partition = DeleteRecordsPartition(partition_index=0, offset=-1)
    topics = [DeleteRecordsTopic(name="orders", partitions=[partition])]
    answer = client.ask(DeleteRecordsRequest(topics=topics, timeout_ms=20_000), 2, DeleteRecordsResponse)
    (one,) = answer.topics[0].partitions
    return one.error_code, one.low_watermark
