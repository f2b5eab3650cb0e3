"""A raw producer: so many connections with so many Produce requests in flight each, for some seconds, as fast as they
are answered. One record of 100 bytes a request, acks=all. Prints one line of JSON. bench/broker.py runs it.

Answers are counted, and the last of each connection is looked at: refusals are no work that a broker has done.
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
from barnabas.protocol.frames import decode_response, encode_request
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
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
    last_answer: bytes = b""
    sent_at: float = 0.0
    latencies: list[float] = field(default_factory=list)


def produce_frame(topic: str, partition: int) -> bytes:
    records = build_batch([Record(value=bytes(RECORD_BYTES), timestamp=time.time_ns() // 1_000_000)])
    data = PartitionProduceData(index=partition, records=records)
    request = ProduceRequest(
        acks=-1, timeout_ms=30_000, topic_data=[TopicProduceData(name=topic, partition_data=[data])]
    )
    return b"".join(encode_request(APIS[PRODUCE], VERSION, 1, "load", request))  # type: ignore[arg-type]


def answers_in(data: bytes) -> tuple[int, bytes, bytes]:
    """How many whole answers there are, the last of them, and what follows."""
    count = position = last = 0
    while len(data) - position >= 4:
        end = position + 4 + int.from_bytes(data[position : position + 4], "big")
        if end > len(data):
            break
        count, last, position = count + 1, position, end
    return count, data[last:position], data[position:]


def check(answer: bytes) -> None:
    _, response = decode_response(APIS[PRODUCE], VERSION, answer)
    assert isinstance(response, ProduceResponse)
    code = response.responses[0].partition_responses[0].error_code
    if code:
        raise RuntimeError(f"the broker refused a record with error {code}")


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
    while (now := time.perf_counter()) < began + seconds or not done:
        for key, _ in selector.select(1):
            client = key.data
            data = client.socket.recv(READ_BYTES)
            if not data:
                raise ConnectionError("the broker closed a connection")
            count, last_answer, client.rest = answers_in(client.rest + data)
            if count:
                client.last_answer = last_answer
                done += count
                if in_flight == 1:
                    now = time.perf_counter()
                    client.latencies.append(now - client.sent_at)
                    client.sent_at = now
                client.socket.sendall(client.frame * count)
    took = now - began
    for client in clients:
        if client.last_answer:
            check(client.last_answer)
    latencies = sorted(latency for client in clients for latency in client.latencies)
    result = {"per_second": done / took}
    for name, share in (("p50_us", 0.5), ("p99_us", 0.99)):
        if latencies:
            result[name] = latencies[int(len(latencies) * share)] * 1e6
    print(json.dumps(result))


if __name__ == "__main__":
    host, port, topic, *numbers, seconds = sys.argv[1:]
    partitions, connections, in_flight = map(int, numbers)
    run(host, int(port), topic, partitions, connections, in_flight, float(seconds))
