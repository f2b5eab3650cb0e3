"""librdkafka sends so many records a second and consumes them, in a process of its own: how long after it was due each
was acknowledged, and was with the consumer.

Prints one line of JSON. A record is due when its turn is, whether or not those before it have come: who is late makes
the next ones late, too.
"""

from __future__ import annotations

import json
import time
from argparse import ArgumentParser, Namespace
from functools import partial

from confluent_kafka import OFFSET_END, Consumer, KafkaError, KafkaException, Message, Producer, TopicPartition

from bench.figures import percentile

QUICK = {"linger.ms": 0, "socket.nagle.disable": True}
POLL_S = 0.1
PATIENCE_S = 60.0
SETTLING = 100
"""Records that come first, and are not counted."""
NUMBER_BYTES = 8


class Steady:
    def __init__(self, options: Namespace) -> None:
        self._options = options
        self._producer = Producer({"bootstrap.servers": options.bootstrap, "acks": "all", **QUICK})
        self._consumer = Consumer(
            {"bootstrap.servers": options.bootstrap, "group.id": "none", "enable.auto.commit": False, **QUICK}
        )
        self._due: list[float] = []
        self.acknowledged_us: dict[int, float] = {}
        self.consumed_us: dict[int, float] = {}

    def run(self) -> None:
        options = self._options
        partitions = range(options.partitions)
        self._consumer.assign([TopicPartition(options.topic, each, OFFSET_END) for each in partitions])
        self._wait_until_it_consumes()
        count = options.records + SETTLING
        began = time.perf_counter()
        while len(self._due) < count:
            due = began + len(self._due) / options.a_second
            self._consume(due)
            if time.perf_counter() >= due:
                self._send(due)
        deadline = time.perf_counter() + PATIENCE_S
        while len(self.consumed_us) < count or len(self.acknowledged_us) < count:
            self._producer.poll(0)
            self._consume(time.perf_counter() + POLL_S)
            if time.perf_counter() > deadline:
                raise TimeoutError(f"{len(self.acknowledged_us)} acknowledged, {len(self.consumed_us)} came of {count}")
        self._consumer.close()

    def _wait_until_it_consumes(self) -> None:
        """Nobody says when it stands at the end of a partition: records go to each until one comes."""
        waiting = set(range(self._options.partitions))
        deadline = time.monotonic() + PATIENCE_S
        while waiting:
            for each in waiting:
                self._producer.produce(self._options.topic, b"", partition=each)
            self._producer.flush(PATIENCE_S)
            while (message := self._consumer.poll(POLL_S)) is not None:
                _raise_if(message.error())
                waiting.discard(message.partition())
            if time.monotonic() > deadline:
                raise TimeoutError("the consumer gets nothing")

    def _send(self, due: float) -> None:
        number = len(self._due)
        self._due.append(due)
        value = number.to_bytes(NUMBER_BYTES, "big") + bytes(self._options.record_bytes - NUMBER_BYTES)
        self._producer.produce(
            self._options.topic,
            value,
            partition=number % self._options.partitions,
            on_delivery=partial(self._acknowledged, number),
        )

    def _acknowledged(self, number: int, error: KafkaError | None, _: Message) -> None:
        _raise_if(error)
        self.acknowledged_us[number] = self._late_us(number)

    def _consume(self, until: float) -> None:
        """What comes until then; once at least."""
        while True:
            # One waits for the consumer's records; acknowledgements are looked at every millisecond at the latest.
            message = self._consumer.poll(min(max(until - time.perf_counter(), 0), 0.001))
            self._producer.poll(0)
            if message is not None:
                _raise_if(message.error())
                value = message.value()
                if value:
                    number = int.from_bytes(value[:NUMBER_BYTES], "big")
                    self.consumed_us[number] = self._late_us(number)
            if time.perf_counter() >= until:
                return

    def _late_us(self, number: int) -> float:
        return (time.perf_counter() - self._due[number]) * 1e6


def _raise_if(error: KafkaError | None) -> None:
    if error is not None:
        raise KafkaException(error)


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("topic")
    parser.add_argument("--records", type=int, required=True)
    parser.add_argument("--a-second", type=int, required=True)
    parser.add_argument("--record-bytes", type=int, default=100)
    parser.add_argument("--partitions", type=int, default=1)
    steady = Steady(parser.parse_args())
    steady.run()
    told: dict[str, float] = {}
    for what, late_us in (("acknowledged", steady.acknowledged_us), ("end to end", steady.consumed_us)):
        counted = [late for number, late in late_us.items() if number >= SETTLING]
        told |= {f"{what}: {name}": percentile(counted, share) for name, share in (("p50", 0.5), ("p99", 0.99))}
    print(json.dumps(told))


if __name__ == "__main__":
    main()
