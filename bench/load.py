"""A raw client: so many connections with so many requests in flight each, for some seconds, as fast as they are
answered. The frames are built once, so that little but the broker is measured. Prints one line of JSON.

Answers are counted, and the last of each connection is looked at: refusals are no work that a broker has done.
"""

from __future__ import annotations

import json
import selectors
import socket
import time
from argparse import ArgumentParser
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from itertools import cycle, islice
from typing import Any

from bench.figures import percentile
from compat.twin.batches import batch
from compat.wire.codec import with_length
from compat.wire.connection import read_answer, request_frame
from compat.wire.schemas import Api, api

RECORD_BYTES = 100
READ_BYTES = 1 << 18
TIMEOUT_MS = 30_000

Values = dict[str, Any]


def produce(topic: str, number: int) -> Values:
    """One record to the partition of that number."""
    data = [{"Index": number, "Records": batch(bytes(RECORD_BYTES))}]
    return {"Acks": -1, "TimeoutMs": TIMEOUT_MS, "TopicData": [{"Name": topic, "PartitionData": data}]}


def metadata(topic: str, number: int) -> Values:  # noqa: ARG001
    return {"Topics": [{"Name": topic}], "AllowAutoTopicCreation": False}


def offset_commit(topic: str, number: int) -> Values:
    """Of one partition, by a group of that number, which has no members."""
    partitions = [{"PartitionIndex": 0, "CommittedOffset": number}]
    return {
        "GroupId": f"group-{number}",
        "GenerationIdOrMemberEpoch": -1,
        "Topics": [{"Name": topic, "Partitions": partitions}],
    }


def fetch(topic: str, number: int) -> Values:
    """One batch at that offset of the first partition."""
    partitions = [{"Partition": 0, "FetchOffset": number, "PartitionMaxBytes": 1}]
    return {"MaxWaitMs": 0, "MinBytes": 0, "MaxBytes": 1, "Topics": [{"Topic": topic, "Partitions": partitions}]}


REQUESTS: Mapping[str, tuple[str, int, Callable[[str, int], Values]]] = {
    "produce": ("Produce", 9, produce),
    "metadata": ("Metadata", 12, metadata),
    "offset-commit": ("OffsetCommit", 8, offset_commit),
    "fetch": ("Fetch", 12, fetch),
}


@dataclass(slots=True)
class Client:
    socket: socket.socket
    frames: Iterator[bytes]
    rest: bytes = b""
    last_answer: bytes = b""
    sent_at: float = 0.0
    latencies_us: list[float] = field(default_factory=list)

    def send(self, count: int) -> None:
        self.sent_at = time.perf_counter()
        self.socket.sendall(b"".join(islice(self.frames, count)))

    def receive(self) -> int:
        """How many answers there are now."""
        data = self.socket.recv(READ_BYTES)
        if not data:
            raise ConnectionError("the broker closed a connection")
        count, last, self.rest = answers_in(self.rest + data)
        if count:
            self.last_answer = last
        return count


def answers_in(data: bytes) -> tuple[int, bytes, bytes]:
    """How many whole answers there are, the last of them without its length, and what follows."""
    count = position = last = 0
    while len(data) - position >= 4:
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        if end > len(data):
            break
        count, last, position = count + 1, position, end
    return count, data[last + 4 : position], data[position:]


def errors_in(answer: Any) -> list[int]:
    """All error codes, however deep, that are some."""
    if isinstance(answer, list):
        return [code for each in answer for code in errors_in(each)]
    if not isinstance(answer, dict):
        return []
    here = [answer["ErrorCode"]] if answer.get("ErrorCode") else []
    return here + [code for each in answer.values() for code in errors_in(each)]


def frames_for(name: str, topic: str, numbers: range) -> tuple[Api, int, list[bytes]]:
    api_name, version, values = REQUESTS[name]
    one = api(api_name)
    return (
        one,
        version,
        [with_length(request_frame(one, version, 1, "load", values(topic, number))) for number in numbers],
    )


def run(
    address: tuple[str, int],
    request: tuple[Api, int, list[bytes]],
    *,
    connections: int,
    in_flight: int,
    seconds: float,
) -> dict[str, float]:
    """The frames are shared out over the connections; each sends its own in turns."""
    one, version, frames = request
    clients = []
    with selectors.DefaultSelector() as selector:
        for number in range(connections):
            connected = socket.create_connection(address)
            connected.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            own = frames[number::connections] or [frames[number % len(frames)]]
            clients.append(Client(connected, cycle(own)))
            selector.register(connected, selectors.EVENT_READ, clients[-1])
        began = now = time.perf_counter()
        for client in clients:
            client.send(in_flight)
        done = 0
        while now < began + seconds or not done:
            for key, _ in selector.select(1):
                client = key.data
                count = client.receive()
                if count:
                    done += count
                    if in_flight == 1:
                        client.latencies_us.append((time.perf_counter() - client.sent_at) * 1e6)
                    client.send(count)
            now = time.perf_counter()
    for client in clients:
        if client.last_answer and (refusals := errors_in(read_answer(one, version, client.last_answer)[1])):
            raise RuntimeError(f"the broker refused {one.name} with error {refusals[0]}")
        client.socket.close()
    result = {"answers": done, "per_second": done / (now - began)}
    latencies_us = [latency_us for client in clients for latency_us in client.latencies_us]
    if latencies_us:
        result |= {"p50": percentile(latencies_us, 0.5), "p99": percentile(latencies_us, 0.99)}
    return result


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("bootstrap")
    parser.add_argument("request", choices=REQUESTS)
    parser.add_argument("topic")
    parser.add_argument("--connections", type=int, default=1)
    parser.add_argument("--in-flight", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=5.0)
    parser.add_argument(
        "--numbers", type=int, default=1, help="over how many partitions, groups or offsets the requests are spread"
    )
    parser.add_argument("--step", type=int, default=1, help="from one of these to the next")
    options = parser.parse_args()
    host, _, port = options.bootstrap.rpartition(":")
    request = frames_for(options.request, options.topic, range(0, options.numbers * options.step, options.step))
    result = run(
        (host, int(port)),
        request,
        connections=options.connections,
        in_flight=options.in_flight,
        seconds=options.seconds,
    )
    print(json.dumps(result))


if __name__ == "__main__":
    main()
