"""Clients that behave, in a process of their own: `python -m tests.broker.healthy_clients HOST PORT`.

Each of some producers sends numbered records to a topic of its own, one request at a time, and a consumer beside it
takes them by long polls and looks at each. They stay connected from the beginning to the end. A line on stdin, with a
number of seconds, asks for a line of JSON about so many seconds from now on: how many records came through in each
second, and how long the middle one and the slowest ones of a hundred took from Produce to its answer and from Produce
to the consumer. What goes wrong is an error in the next line.
"""

from __future__ import annotations

import json
import sys
import threading
import time
from itertools import count

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from tests.kafka.client import RawClient

PAIRS = 4
PAUSE_S = 0.002
"""So that there is room for the crowd's requests on a machine with two cores."""


class Pair:
    """One producer and its consumer."""

    def __init__(self, address: tuple[str, int], number: int) -> None:
        self.topic = f"healthy-{number}"
        self.answered: list[float] = []
        """Seconds from Produce to its answer."""
        self.arrived: list[float] = []
        """And to the consumer."""
        self.error: str | None = None
        self._sent: dict[int, float] = {}
        self._producer, self._consumer = RawClient(*address), RawClient(*address)
        for work in (self._produce, self._consume):
            threading.Thread(target=self._guarded, args=(work,), daemon=True).start()

    def _guarded(self, work: object) -> None:
        try:
            work()  # type: ignore[operator]
        except Exception as error:  # noqa: BLE001 - told to the test
            self.error = f"{self.topic}: {error!r}"

    def _produce(self) -> None:
        pause = threading.Event()
        for number in count():
            value = b"%d %s" % (number, b"x" * 200)
            records = build_batch([Record(value=value, timestamp=time.time_ns() // 1_000_000)])
            data = TopicProduceData(self.topic, partition_data=[PartitionProduceData(index=0, records=records)])
            request = ProduceRequest(acks=-1, timeout_ms=30_000, topic_data=[data])
            began = self._sent[number] = time.monotonic()
            (answer,) = self._producer.ask(request, 12, ProduceResponse).responses[0].partition_responses
            assert (answer.error_code, answer.base_offset) == (0, number), answer
            self.answered.append(time.monotonic() - began)
            pause.wait(PAUSE_S)

    def _consume(self) -> None:
        offset = 0
        while True:
            partition = FetchPartition(partition=0, fetch_offset=offset, partition_max_bytes=1 << 20)
            topics = [FetchTopic(topic=self.topic, partitions=[partition])]
            request = FetchRequest(max_wait_ms=500, min_bytes=1, topics=topics, session_epoch=-1)
            (data,) = self._consumer.ask(request, 12, FetchResponse).responses[0].partitions
            assert data.error_code == 0, data
            for batch in iterate_batches(data.records or b""):  # type: ignore[arg-type] # it came over a socket
                for record in read_records(batch):
                    assert record.offset == offset, f"{record.offset} instead of {offset}"
                    number = int((record.value or b"").split()[0])
                    assert number == offset, f"{number} at {offset}"
                    self.arrived.append(time.monotonic() - self._sent.pop(number))
                    offset += 1


def measured(seconds: list[float]) -> dict[str, float]:
    ordered = sorted(seconds) or [0.0]
    return {
        "p50_ms": round(ordered[len(ordered) // 2] * 1000, 2),
        "p99_ms": round(ordered[len(ordered) * 99 // 100] * 1000, 2),
        "longest_ms": round(ordered[-1] * 1000, 2),
    }


def main(host: str, port: int) -> None:
    pairs = [Pair((host, port), number) for number in range(PAIRS)]
    for line in sys.stdin:
        duration_s = float(line)
        for pair in pairs:
            pair.answered, pair.arrived = [], []
        threading.Event().wait(duration_s)
        answered = [each for pair in pairs for each in pair.answered]
        arrived = [each for pair in pairs for each in pair.arrived]
        told = {
            "records_each_s": round(len(arrived) / duration_s),
            "answer": measured(answered),
            "arrival": measured(arrived),
            "fewest": min(len(pair.arrived) for pair in pairs),
            "errors": [pair.error for pair in pairs if pair.error],
        }
        print(json.dumps(told), flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
