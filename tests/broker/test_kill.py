"""kill -9 of a node under load, many times: every record that was acknowledged is there once, in its place, also where
the client sent it again because the answer was lost."""

from __future__ import annotations

import random
import threading
from pathlib import Path

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from tests.kafka.client import RawClient

from .node_process import NodeProcess
from .test_produce_and_fetch import create

KILLS = 20
PARTITIONS = 3
NOW = 1_700_000_000_000

BUSY = {
    "log_flush_offset_checkpoint_interval_ms": "20",
    "replica_high_watermark_checkpoint_interval_ms": "20",
    "log_retention_ms": "-1",
}
"""So that kills meet duties at work."""


class Producer:
    """One partition's: it sends a batch until that is acknowledged, and only then the next."""

    def __init__(self, client: RawClient, partition: int, chance: random.Random) -> None:
        self.partition = partition
        self.acknowledged = 0
        self.failure: AssertionError | None = None
        self._chance = chance
        request = InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
        answer = client.ask(request, 4, InitProducerIdResponse)
        assert answer.error_code == 0
        self._producer_id, self._epoch = answer.producer_id, answer.producer_epoch
        self._batch = b""
        self._count = 0

    def produce(self, port: int, batches: int, on_done: threading.Event) -> None:
        """So many batches and then on, until the node is gone."""
        try:
            with RawClient("127.0.0.1", port) as client:
                while True:
                    self._send(client)
                    batches -= 1
                    if batches == 0:
                        on_done.set()
        except OSError:
            """That is what happens to clients of nodes that are killed."""
        except AssertionError as error:
            self.failure = error
        finally:
            on_done.set()

    def _send(self, client: RawClient) -> None:
        if not self._count:
            self._count = self._chance.randint(1, 5)
            records = [
                Record(value=b"%d " % number + bytes(self._chance.randint(0, 2000)), timestamp=NOW)
                for number in range(self.acknowledged, self.acknowledged + self._count)
            ]
            self._batch = build_batch(
                records,
                producer_id=self._producer_id,
                producer_epoch=self._epoch,
                base_sequence=self.acknowledged,
            )
        data = PartitionProduceData(index=self.partition, records=self._batch)
        topics = [TopicProduceData(name="orders", partition_data=[data])]
        request = ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=topics)
        (answer,) = client.ask(request, 12, ProduceResponse).responses[0].partition_responses
        assert answer.error_code == 0
        assert answer.base_offset == self.acknowledged
        self.acknowledged += self._count
        self._count = 0


def numbers_of(port: int, partition: int) -> list[int]:
    found: list[int] = []
    with RawClient("127.0.0.1", port) as client:
        while True:
            wanted = FetchPartition(partition=partition, fetch_offset=len(found), partition_max_bytes=1 << 24)
            topics = [FetchTopic(topic="orders", partitions=[wanted])]
            request = FetchRequest(max_wait_ms=0, min_bytes=1, topics=topics, session_epoch=-1)
            (data,) = client.ask(request, 12, FetchResponse).responses[0].partitions
            assert data.error_code == 0
            if not data.records:
                return found
            for batch in iterate_batches(data.records):  # type: ignore[arg-type] # it came over a socket
                assert batch.base_offset == len(found)
                for record in read_records(batch):
                    assert record.value is not None
                    found.append(int(record.value.split(b" ")[0]))


@pytest.mark.slow
@pytest.mark.parametrize("durability", ["kafka", "fsync"])
def test_what_was_acknowledged_is_there_once_after_every_kill(tmp_path: Path, durability: str) -> None:
    chance = random.Random(durability)
    settings = BUSY | {"barnabas_durability": durability}
    producers: list[Producer] = []
    for _ in range(KILLS):
        with NodeProcess(tmp_path / "data", **settings) as node:
            if not producers:
                with RawClient("127.0.0.1", node.port) as client:
                    create(client, partitions=PARTITIONS, configs={"internal.segment.bytes": "30000"})
                    producers = [Producer(client, number, chance) for number in range(PARTITIONS)]
            check(node.port, producers)
            threads, events = [], []
            for producer in producers:
                events.append(threading.Event())
                arguments = (node.port, chance.randint(1, 40), events[-1])
                threads.append(threading.Thread(target=producer.produce, args=arguments))
                threads[-1].start()
            chance.choice(events).wait(60)
            node.kill()
            for thread in threads:
                thread.join()
        assert [producer.failure for producer in producers] == [None] * PARTITIONS
    with NodeProcess(tmp_path / "data", **settings) as node:
        check(node.port, producers)
        assert node.stop() == 0
    assert min(producer.acknowledged for producer in producers) > KILLS
    assert (tmp_path / "data" / ".kafka_cleanshutdown").exists()


def check(port: int, producers: list[Producer]) -> None:
    for producer in producers:
        found = numbers_of(port, producer.partition)
        assert found == list(range(len(found)))
        # The last batch may be there and not have been acknowledged; it is sent again.
        assert producer.acknowledged <= len(found) <= producer.acknowledged + producer._count
