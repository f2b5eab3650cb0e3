"""Many idempotent producers at once, in every codec, and transactional ones where a broker has transactions, until they
are told to stop or their broker is gone. What was acknowledged is remembered with its place."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from typing import Any, Self

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from tests.clients.waiting import wait_until

PARTITIONS = 3
CODECS = ("none", "gzip", "snappy", "lz4", "zstd")
TRANSACTIONAL = ("none", "zstd")


class Load:
    def __init__(self, bootstrap: str, topic: str, seed: int, *, transactions: bool) -> None:
        self._topic = topic
        self._seed = seed
        # Later than any marker that a coordinator writes meanwhile.
        self._first_timestamp = int(time.time() * 1000) + 1_800_000
        self._stop = threading.Event()
        self._ending = threading.Event()
        self.acknowledged: dict[tuple[int, int], bytes] = {}
        """By partition and offset."""
        self.failures: list[str] = []
        settings: dict[str, Any] = {"bootstrap.servers": bootstrap, "linger.ms": 3, "batch.size": 16_384}
        settings["log_level"] = 0  # of a broker that is gone nobody need be told
        self._threads = []
        for number, codec in enumerate(CODECS):
            producer = Producer(settings | {"compression.type": codec, "enable.idempotence": True})
            self._threads.append(threading.Thread(target=self._run, args=(self._send_some, producer, number)))
        for number, codec in enumerate(TRANSACTIONAL if transactions else (), len(CODECS)):
            producer = Producer(settings | {"compression.type": codec, "transactional.id": f"{topic}-{number}"})
            self._threads.append(threading.Thread(target=self._run, args=(self._take_turns, producer, number)))

    def __enter__(self) -> Self:
        for thread in self._threads:
            thread.start()
        return self

    def __exit__(self, *_error: object) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def wait_for(self, records: int) -> None:
        def enough() -> bool:
            assert not self.failures
            return len(self.acknowledged) >= records

        wait_until(enough, lambda: f"{records} records, of which {len(self.acknowledged)} came", patience_s=120)

    def ends(self) -> None:
        """Whatever fails from now on is no failure: the broker is about to be ended, and the load goes on."""
        self._ending.set()

    def _run(self, work: Callable[[Producer, random.Random], None], producer: Producer, number: int) -> None:
        chance = random.Random(f"{self._seed} {number}")
        try:
            work(producer, chance)
        except KafkaException as error:
            # Its broker may have been ended in the middle, which is what the load is for.
            if not self._ending.is_set():
                self.failures.append(str(error))
        finally:
            producer.flush(3)
            producer.purge()

    def _send_some(self, producer: Producer, chance: random.Random) -> None:
        while not self._stop.is_set():
            self._send(producer, chance, chance.randrange(PARTITIONS))
            producer.poll(0 if len(producer) < 300 else 0.02)

    def _take_turns(self, producer: Producer, chance: random.Random) -> None:
        """Some transactions of each are aborted."""
        producer.init_transactions(30)
        while not self._stop.is_set():
            producer.begin_transaction()
            for _ in range(chance.randint(1, 30)):
                self._send(producer, chance, chance.randrange(PARTITIONS))
            producer.flush(10)
            if chance.random() < 0.4:
                producer.abort_transaction(10)
            else:
                producer.commit_transaction(10)

    def _send(self, producer: Producer, chance: random.Random, partition: int) -> None:
        # Half of it can be compressed, and the times go back and forth.
        value = chance.randbytes(chance.randint(1, 500)) + bytes(chance.randint(0, 500))

        def on_delivery(error: KafkaError | None, message: Message) -> None:
            offset = message.offset()
            if error is None and offset is not None:
                self.acknowledged[partition, offset] = value

        timestamp = self._first_timestamp + chance.randrange(600_000)
        producer.produce(self._topic, value, partition=partition, timestamp=timestamp, on_delivery=on_delivery)
