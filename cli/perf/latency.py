"""`barnabas perf latency`: what kafka-e2e-latency.sh does: how long a record takes through a broker to a consumer."""

from __future__ import annotations

import argparse
import random
import threading
import time
from typing import TYPE_CHECKING

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments

if TYPE_CHECKING:
    from barnabas.cli.clients.consuming import Incoming, RecordConsumer
    from barnabas.cli.clients.producing import Outgoing, RecordProducer
    from barnabas.client.cluster import Cluster, Partition

__all__ = ["add_arguments", "run"]

_RECORDS, _RECORD_BYTES = 1000, 100
_PATIENCE_S = 60.0
_POLL_S = 0.2
_EVERY = 1000
_LEGACY_COUNTS = (5, 6)
_LEGACY = ("bootstrap_server", "topic", "num_records", "producer_acks", "record_size", "command_config")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.choosing import FASTEST, add_client_argument
    from barnabas.cli.connecting import add_connection_arguments

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the topic, instead of --topic")
    parser.add_argument("--topic", metavar="TOPIC", help="through which; it is made if it is not there")
    parser.add_argument(
        "--num-records", metavar="N", type=int, default=_RECORDS, help=f"one after the other ({_RECORDS})"
    )
    parser.add_argument("--producer-acks", metavar="ACKS", default="all", help="1 or all (all)")
    parser.add_argument("--record-size", metavar="BYTES", type=int, default=_RECORD_BYTES, help="of a value (100)")
    parser.add_argument("--record-key-size", metavar="BYTES", type=int, default=0, help="of a key (0)")
    parser.add_argument("--num-headers", metavar="N", type=int, default=0, help="of a record (0)")
    parser.add_argument("--record-header-key-size", metavar="BYTES", type=int, default=0, help="of a header's name (0)")
    parser.add_argument("--record-header-size", metavar="BYTES", type=int, default=0, help="of a header; -1: null (0)")
    add_connection_arguments(parser)
    add_client_argument(parser, FASTEST)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.clients.arguments import reach
    from barnabas.cli.clients.choosing import chosen_client
    from barnabas.cli.clients.consuming import open_consumer
    from barnabas.cli.clients.producing import open_producer
    from barnabas.cli.connecting import bootstrap_of
    from barnabas.cli.consume.bounds import offsets_at
    from barnabas.client.offsets import LATEST
    from barnabas.client.properties import read_client_properties

    output = Output(as_json=arguments.json)
    topic = _topic(arguments, output)
    _check(arguments)
    properties = read_client_properties(arguments.command_config) if arguments.command_config else {}
    bootstrap = bootstrap_of(arguments)
    client = chosen_client(arguments)
    with reach(bootstrap, properties, arguments.timeout) as cluster:
        partitions = _partitions(cluster, topic, output)
        ends = offsets_at(cluster, partitions, LATEST, committed=False)
    output.note(f"Records go through {client}.")
    # No batches, neither on the way in nor on the way out.
    consumer = open_consumer(client, bootstrap, properties | {"fetch.max.wait.ms": "1", "fetch.wait.max.ms": "1"}, ends)
    try:
        sending = {"linger.ms": "0", "acks": arguments.producer_acks, "max.block.ms": "60000"}
        producer = open_producer(client, bootstrap, properties | sending)
        try:
            latencies = _measure(arguments, topic, producer, consumer, output)
        finally:
            producer.close()
    finally:
        consumer.close()
    _tell(output, client, latencies)


def _topic(arguments: argparse.Namespace, output: Output) -> str:
    """Also as Kafka's tool once took it: five or six words, and no flags."""
    words = list(arguments.words)
    if arguments.topic is None and len(words) in _LEGACY_COUNTS:
        for name, word in zip(_LEGACY, words, strict=False):
            setattr(arguments, name, word)
        for name in ("num_records", "record_size"):
            if not getattr(arguments, name).isdigit():
                raise WrongUsage(f"{getattr(arguments, name)} is no number")
            setattr(arguments, name, int(getattr(arguments, name)))
        if arguments.command_config is not None:
            from pathlib import Path

            arguments.command_config = Path(arguments.command_config)
        output.note("Words in their order are the old way: write --bootstrap-server, --topic, --num-records and so on.")
        words = []
    names = [*([arguments.topic] if arguments.topic else []), *words]
    if len(names) != 1:
        raise WrongUsage("name one topic: perf latency TOPIC")
    return str(names[0])


def _check(arguments: argparse.Namespace) -> None:
    if arguments.producer_acks not in ("1", "all"):
        raise WrongUsage(
            f"--producer-acks {arguments.producer_acks} is neither 1 nor all, which tell when a record is in"
        )
    if arguments.num_records <= 0:
        raise WrongUsage("--num-records has to be above 0")
    for name, least in (
        ("record_size", 0),
        ("record_key_size", 0),
        ("record_header_key_size", 0),
        ("record_header_size", -1),
        ("num_headers", 0),
    ):
        if getattr(arguments, name) < least:
            raise WrongUsage(f"--{name.replace('_', '-')} {getattr(arguments, name)} is below {least}")


def _partitions(cluster: Cluster, topic: str, output: Output) -> list[Partition]:
    from barnabas.cli.clients.topics import partitions_of
    from barnabas.client.cluster import Partition, check
    from barnabas.protocol.messages.create_topics import CreatableTopic, CreateTopicsRequest, CreateTopicsResponse

    if topic not in cluster.topics():
        output.line(f'Topic "{topic}" does not exist. Will create topic with 1 partition(s) and replication factor = 1')
        request = CreateTopicsRequest(
            topics=[CreatableTopic(name=topic, num_partitions=1, replication_factor=1)],
            timeout_ms=int(cluster.timeout_s * 1000),
        )
        (made,) = cluster.ask_controller(request, CreateTopicsResponse).topics
        check(made.error_code, made.error_message)
        cluster.retry(lambda: cluster.by_leader([Partition(topic, 0)]))
        return [Partition(topic, 0)]
    return [Partition(topic, number) for number in partitions_of(cluster, topic)]


def _measure(
    arguments: argparse.Namespace, topic: str, producer: RecordProducer, consumer: RecordConsumer, output: Output
) -> list[float]:
    """In milliseconds."""
    latencies = []
    chance = random.Random(0)  # noqa: S311 - for nothing secret
    for number in range(arguments.num_records):
        record = _record(arguments, topic, chance)
        began_s = time.perf_counter()
        _send(producer, record)
        (found, *more) = _receive(consumer)
        latencies.append((time.perf_counter() - began_s) * 1000)
        _compare(record, found, more)
        if number % _EVERY == 0:
            output.line(f"{number}\t{latencies[-1]}")
    return latencies


def _record(arguments: argparse.Namespace, topic: str, chance: random.Random) -> Outgoing:
    from barnabas.cli.clients.producing import Outgoing

    def letters(size: int) -> bytes:
        return bytes([chance.randrange(26) + 65]) * size

    header_size = arguments.record_header_size
    return Outgoing(
        topic,
        letters(arguments.record_key_size) if arguments.record_key_size else None,
        letters(arguments.record_size),
        [
            (letters(arguments.record_header_key_size).decode(), None if header_size < 0 else letters(header_size))
            for _ in range(arguments.num_headers)
        ],
    )


def _send(producer: RecordProducer, record: Outgoing) -> None:
    from barnabas.cli.clients.words import failed

    ended = threading.Event()
    failure: list[BaseException] = []

    def done(error: BaseException | None) -> None:
        if error is not None:
            failure.append(error)
        ended.set()

    producer.send(record, done)
    producer.flush()
    if not ended.wait(_PATIENCE_S):
        raise CommandFailed(f"A record was not answered in {_PATIENCE_S:g} s: see barnabas doctor.")
    if failure:
        raise failed("A record was not taken", failure[0])


def _receive(consumer: RecordConsumer) -> list[Incoming]:
    give_up_s = time.monotonic() + _PATIENCE_S
    while time.monotonic() < give_up_s:
        if found := consumer.poll(_POLL_S):
            return list(found)
    raise CommandFailed(f"A record that was sent did not come back in {_PATIENCE_S:g} s: see barnabas doctor.")


def _compare(sent: Outgoing, found: Incoming, more: list[Incoming]) -> None:
    if (found.key, found.value, list(found.headers)) != (sent.key, sent.value, list(sent.headers)):
        raise CommandFailed("Another record came than the one that was sent: use a topic that nobody else writes to.")
    if more:
        raise CommandFailed(f"{len(more)} records more came than were sent: use a topic that nobody else writes to.")


def _tell(output: Output, client: str, latencies: list[float]) -> None:
    from barnabas.cli.perf.statistics import percentile

    ordered = sorted(latencies)
    average = sum(latencies) / len(latencies)
    p50, p99, p999 = (percentile(ordered, share) for share in (0.5, 0.99, 0.999))
    if output.as_json:
        figures = {"average": average, "max": ordered[-1], "p50": p50, "p99": p99, "p99.9": p999}
        rounded = {name: round(value, 6) for name, value in figures.items()}
        output.json({"client": client, "records": len(latencies), "latency_ms": rounded})
        return
    output.line(f"Avg latency: {average:.4f} ms")
    output.line(f"Percentiles: 50th = {int(p50)}, 99th = {int(p99)}, 99.9th = {int(p999)}")
