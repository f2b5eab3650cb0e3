"""librdkafka at work, in a process of its own: so many producers or consumers at once, or one record after the other.

Prints one line of JSON. A producer's time ends when all that it sent is acknowledged; consumers' begins when each of
them has its partitions.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from threading import Event, Lock
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, OFFSET_END, Consumer, KafkaException, Message, Producer, TopicPartition

from bench.figures import percentile

A_TIME = 1000
POLL_S = 0.1
PATIENCE_S = 120.0
QUICK = {"linger.ms": 0, "socket.nagle.disable": True}
FULL_QUEUE_MS = 10
"""librdkafka asks for nothing for a second once more records wait in its queue than it wants: the sooner a broker fills
it, the longer the reading takes."""


def produce(options: Namespace) -> dict[str, float]:
    share = options.records // options.clients

    def one(_: int) -> None:
        producer = Producer({"bootstrap.servers": options.bootstrap, "acks": "all"})
        value = bytes(options.record_bytes)
        left = share
        while left:
            batch: list[dict[str, Any]] = [{"value": value} for _ in range(min(left, A_TIME))]
            producer.produce_batch(options.topic, batch)
            # Where its queue is full the message has the reason, and is not sent.
            refused = sum("_error" in message for message in batch)
            left -= len(batch) - refused
            producer.poll(POLL_S if refused else 0)
        if producer.flush(PATIENCE_S):
            raise TimeoutError(f"not all is acknowledged after {PATIENCE_S:.0f} s")

    took_s = _together(options.clients, one)
    return {"records": share * options.clients, "per_second": share * options.clients / took_s}


def consume(options: Namespace) -> dict[str, float]:
    """Each partition is one consumer's, of the group or by turns."""
    reading = Reading(options)
    _together(options.clients, reading.one)
    if reading.count < options.records:
        raise TimeoutError(f"{reading.count} records came of {options.records}")
    return {"records": reading.count, "per_second": reading.count / (reading.ended - reading.began)}


class Reading:
    """What several consumers share. None reads before all have their partitions."""

    def __init__(self, options: Namespace) -> None:
        self.options = options
        self.count = 0
        self.began = self.ended = 0.0
        self._held: dict[int, list[TopicPartition]] = {}
        self._all_have_theirs = Event()
        self._lock = Lock()

    def one(self, number: int) -> None:
        options = self.options
        consumer = Consumer(
            {
                "bootstrap.servers": options.bootstrap,
                "group.id": options.group or "none",
                "auto.offset.reset": "earliest",
                "enable.auto.commit": bool(options.group),
                "fetch.queue.backoff.ms": FULL_QUEUE_MS,
                "socket.nagle.disable": True,
            }
        )
        try:
            if options.group:
                consumer.subscribe(
                    [options.topic],
                    on_assign=lambda who, them: self._assigned(number, who, them),
                    on_revoke=lambda _who, _them: self._revoked(number),
                )
            else:
                mine = range(number, options.partitions, options.clients)
                them = [TopicPartition(options.topic, each, OFFSET_BEGINNING) for each in mine]
                self._assigned(number, consumer, them)
            self._wait(consumer)
            consumer.resume(self._held[number])
            self._read(consumer)
        finally:
            consumer.close()

    def _assigned(self, number: int, consumer: Consumer, partitions: list[TopicPartition]) -> None:
        if self._all_have_theirs.is_set():
            # Paused now, they would stay so; and to read on at the commit would be another measurement.
            raise RuntimeError("the group was balanced anew while it was read")
        consumer.assign(partitions)
        consumer.pause(partitions)
        with self._lock:
            self._held[number] = partitions
            evenly = self.options.partitions // self.options.clients
            held = self._held.values()
            if len(held) == self.options.clients and all(len(each) == evenly for each in held):
                self.began = time.perf_counter()
                self._all_have_theirs.set()

    def _revoked(self, number: int) -> None:
        """Before it joins again. What it had while there were fewer of them is not what it will have."""
        with self._lock:
            self._held.pop(number, None)

    def _wait(self, consumer: Consumer) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not self._all_have_theirs.is_set():
            for message in consumer.consume(1, POLL_S):
                _raise_if_error(message)
            if time.monotonic() > deadline:
                raise TimeoutError(f"not every consumer has its partitions after {PATIENCE_S:.0f} s")

    def _read(self, consumer: Consumer) -> None:
        quiet_since = time.monotonic()
        while self.count < self.options.records and time.monotonic() < quiet_since + PATIENCE_S:
            messages = consumer.consume(A_TIME, POLL_S)
            if messages:
                _raise_if_error(messages[-1])
                with self._lock:
                    self.count += len(messages)
                    self.ended = time.perf_counter()
                quiet_since = time.monotonic()


def latency(options: Namespace) -> dict[str, float]:
    """From `produce` until the consumer has the record; then the next is sent."""
    producer = Producer({"bootstrap.servers": options.bootstrap, "acks": "all", **QUICK})
    consumer = Consumer(
        {"bootstrap.servers": options.bootstrap, "group.id": "none", "enable.auto.commit": False, **QUICK}
    )
    consumer.assign([TopicPartition(options.topic, 0, OFFSET_END)])
    # Nobody says when the consumer stands at the end: records go until it gets one. Those on their way are passed over.
    deadline = time.monotonic() + PATIENCE_S
    while consumer.poll(POLL_S) is None:
        if time.monotonic() > deadline:
            raise TimeoutError("the consumer gets nothing")
        producer.produce(options.topic, bytes(options.record_bytes), partition=0)
        producer.flush(PATIENCE_S)
    took_us = []
    for number in range(1, options.records + 1):
        value = number.to_bytes(options.record_bytes, "big")
        began = time.perf_counter()
        producer.produce(options.topic, value, partition=0)
        while (message := consumer.poll(PATIENCE_S)) is not None:
            _raise_if_error(message)
            if message.value() == value:
                break
        else:
            raise TimeoutError("a record did not come")
        took_us.append((time.perf_counter() - began) * 1e6)
        producer.poll(0)
    consumer.close()
    return {name: percentile(took_us, share) for name, share in (("p50", 0.5), ("p99", 0.99), ("p99.9", 0.999))}


def _together(count: int, work: Callable[[int], None]) -> float:
    """Seconds until the last is done."""
    began = time.perf_counter()
    with ThreadPoolExecutor(count) as pool:
        for done in [pool.submit(work, number) for number in range(count)]:
            done.result()
    return time.perf_counter() - began


def _raise_if_error(message: Message) -> None:
    error = message.error()
    if error is not None:
        raise KafkaException(error)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("produce", "consume", "latency"))
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--record-bytes", type=int, default=100)
    parser.add_argument("--clients", type=int, default=1)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--group", default="")
    options = parser.parse_args()
    work = {"produce": produce, "consume": consume, "latency": latency}[options.what]
    print(json.dumps(work(options)))


if __name__ == "__main__":
    main()
