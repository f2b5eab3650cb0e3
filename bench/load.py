"""A raw producer: so many connections with so many Produce requests in flight each, for some seconds, as fast as they
are answered. One record of 100 bytes a request, acks=all. Prints one line of JSON. bench/broker.py runs it.
"""

from __future__ import annotations

import json
import selectors
import socket
import sys
import time
from dataclasses import dataclass, field

from barnabas.protocol.apis import APIS
from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.frames import encode_request
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, TopicProduceData
from barnabas.protocol.record import Record

PRODUCE = 0
VERSION = 9
RECORD_BYTES = 100
READ_BYTES = 1 << 16


@dataclass(slots=True)
class Client:
    socket: socket.socket
    frame: bytes
    rest: bytes = b""
    sent_at: float = 0.0
    latencies: list[float] = field(default_factory=list)


def produce_frame(topic: str, partition: int) -> bytes:
    records = build_batch([Record(value=bytes(RECORD_BYTES), timestamp=time.time_ns() // 1_000_000)])
    data = PartitionProduceData(index=partition, records=records)
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    return b"".join(encode_request(APIS[PRODUCE], VERSION, 1, "load", request))  # type: ignore[arg-type]


def answers_in(data: bytes) -> tuple[int, bytes]:
    """How many whole answers there are, and what follows them."""
    count = position = 0
    while len(data) - position >= 4:
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        if end > len(data):
            break
        count, position = count + 1, end
    return count, data[position:]


def run(host: str, port: int, topic: str, partitions: int, connections: int, in_flight: int, seconds: float) -> None:
    selector = selectors.DefaultSelector()
    clients = []
    for number in range(connections):
        sock = socket.create_connection((host, port))
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        client = Client(sock, produce_frame(topic, number % partitions))
        clients.append(client)
        selector.register(sock, selectors.EVENT_READ, client)
    began = time.perf_counter()
    for client in clients:
        client.sent_at = time.perf_counter()
        client.socket.sendall(client.frame * in_flight)
    done = 0
    while (now := time.perf_counter()) < began + seconds:
        for key, _ in selector.select(1):
            client = key.data
            data = client.socket.recv(READ_BYTES)
            if not data:
                raise ConnectionError("the broker closed a connection")
            count, client.rest = answers_in(client.rest + data)
            if count:
                done += count
                if in_flight == 1:
                    now = time.perf_counter()
                    client.latencies.append(now - client.sent_at)
                    client.sent_at = now
                client.socket.sendall(client.frame * count)
    took = now - began
    latencies = sorted(latency for client in clients for latency in client.latencies)
    result = {"per_second": done / took}
    for name, share in (("p50_us", 0.5), ("p99_us", 0.99)):
        if latencies:
            result[name] = latencies[int(len(latencies) * share)] * 1e6
    print(json.dumps(result))


if __name__ == "__main__":
    host, port, topic, *numbers = sys.argv[1:]
    partitions, connections, in_flight, seconds = map(int, numbers)
    run(host, int(port), topic, partitions, connections, in_flight, seconds)
