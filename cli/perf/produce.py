"""`barnabas perf produce`: what kafka-producer-perf-test.sh does."""

from __future__ import annotations

import argparse
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments

if TYPE_CHECKING:
    from barnabas.cli.perf.payloads import Payloads
    from barnabas.cli.perf.sending import PerfProducer
    from barnabas.cli.perf.statistics import Statistics

__all__ = ["add_arguments", "run"]

_RECORDS, _RECORD_BYTES = 100_000, 100
_AT_ONCE = 1000
_SHORTEST_PAUSE_S = 0.002
_TRANSACTION_MS = 3000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.arguments import add_client_arguments
    from barnabas.cli.clients.choosing import FASTEST, add_client_argument

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the topic, instead of --topic")
    parser.add_argument("--topic", metavar="TOPIC", help="where the records go")
    parser.add_argument("--num-records", metavar="N", type=int, default=_RECORDS, help=f"how many ({_RECORDS:,})")
    payload = parser.add_mutually_exclusive_group()
    payload.add_argument("--record-size", metavar="BYTES", type=int, help=f"letters by chance ({_RECORD_BYTES})")
    payload.add_argument("--payload-file", metavar="FILE", type=Path, help="parts of a file by chance")
    payload.add_argument("--payload-monotonic", action="store_true", help="0, 1, 2 and so on")
    parser.add_argument("--payload-delimiter", metavar="PATTERN", default="\\n", help="between those parts (\\n)")
    parser.add_argument(
        "--throughput",
        metavar="N",
        type=float,
        default=-1,
        help="at most so many records a second; -1: all it can",
    )
    parser.add_argument("--warmup-records", metavar="N", type=int, default=0, help="the first, counted apart")
    parser.add_argument("--reporting-interval", metavar="MS", type=int, default=5000, help="of lines in between (5000)")
    parser.add_argument("--print-metrics", action="store_true", help="what the library counts, at the end")
    parser.add_argument("--transactional-id", metavar="ID", help="send in transactions")
    parser.add_argument("--transaction-duration-ms", metavar="MS", type=int, help=f"of each ({_TRANSACTION_MS})")
    add_client_arguments(parser, "producer", "--producer-props", many=True)
    add_client_argument(parser, FASTEST)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.clients.arguments import bootstrap_from, properties_from, reach, tell_of_ignored
    from barnabas.cli.clients.choosing import chosen_client
    from barnabas.cli.clients.topics import made_by_itself
    from barnabas.cli.perf.sending import open_perf_producer

    output = Output(as_json=arguments.json)
    topic = topic_of(arguments)
    _check(arguments)
    payloads = _payloads(arguments, output)
    properties = _properties(arguments, properties_from(arguments))
    bootstrap = bootstrap_from(arguments, properties)
    client = chosen_client(arguments)
    with reach(bootstrap, properties, arguments.timeout) as cluster:
        made_by_itself(cluster, topic)
    output.note(f"Records go through {client}.")
    producer = open_perf_producer(client, bootstrap, properties, topic)
    if note := tell_of_ignored(producer.ignored, client):
        output.note(note)
    try:
        run_ = Run(arguments, producer, payloads, output, "transactional.id" in properties)
        run_.send_all()
        run_.tell(output, client, arguments.print_metrics)
    finally:
        producer.close()
    if producer.failed and producer.first_failure is not None:
        from barnabas.cli.clients.words import sentence_for

        raise CommandFailed(f"{producer.failed:,} records were not taken: {sentence_for(producer.first_failure)}.")


def topic_of(arguments: argparse.Namespace) -> str:
    names = [*([arguments.topic] if arguments.topic else []), *arguments.words]
    if len(names) != 1:
        raise WrongUsage("name one topic" if not names else f"name one topic, and not {len(names)}")
    return str(names[0])


def _check(arguments: argparse.Namespace) -> None:
    """In the order of Kafka's tool."""
    if arguments.num_records <= 0:
        raise WrongUsage("--num-records has to be above 0")
    if max(arguments.warmup_records, 0) >= arguments.num_records:
        raise WrongUsage("--warmup-records has to be below --num-records")
    if arguments.record_size is not None and arguments.record_size <= 0:
        raise WrongUsage("--record-size has to be above 0")
    if arguments.transaction_duration_ms is not None and arguments.transaction_duration_ms <= 0:
        raise WrongUsage("--transaction-duration-ms has to be above 0")
    if arguments.reporting_interval <= 0:
        raise WrongUsage("--reporting-interval has to be above 0")
    if arguments.throughput == 0:
        raise WrongUsage("--throughput 0 would never send anything: -1 is as fast as it can")
    for pair in [*arguments.command_property, *arguments.old_property]:
        if pair.count("=") != 1:
            raise WrongUsage(f"{pair} is no property: write KEY=VALUE")


def _payloads(arguments: argparse.Namespace, output: Output) -> Payloads:
    from barnabas.cli.perf.payloads import counting, of_a_file, random_letters

    if arguments.payload_monotonic:
        return counting
    if arguments.payload_file is None:
        return random_letters(arguments.record_size or _RECORD_BYTES)
    output.line(f"Reading payloads from: {arguments.payload_file.absolute()}")
    delimiter = "\n" if arguments.payload_delimiter == "\\n" else arguments.payload_delimiter
    payloads, count = of_a_file(arguments.payload_file, delimiter)
    output.line(f"Number of records read: {count}")
    return payloads


def _properties(arguments: argparse.Namespace, properties: dict[str, str]) -> dict[str, str]:
    found = dict(properties)
    found.setdefault("client.id", "perf-producer-client")
    # Long enough for a broker that is slow, and half as long as Java's for one that has gone.
    found.setdefault("delivery.timeout.ms", "60000")
    if arguments.transactional_id is not None:
        found["transactional.id"] = arguments.transactional_id
    elif arguments.transaction_duration_ms is not None and "transactional.id" not in found:
        import uuid

        found["transactional.id"] = f"performance-producer-{uuid.uuid4()}"
    if arguments.print_metrics:
        # librdkafka's statistics, which kafka-python has always.
        found.setdefault("statistics.interval.ms", "1000")
    return found


class Run:
    def __init__(
        self,
        arguments: argparse.Namespace,
        producer: PerfProducer,
        payloads: Payloads,
        output: Output,
        in_transactions: bool,
    ) -> None:
        from barnabas.cli.perf.statistics import Statistics

        self._count: int = arguments.num_records
        self._warmup = max(0, arguments.warmup_records)
        self._throughput: float = arguments.throughput
        self._producer = producer
        self._payloads = payloads
        self._interval_ms: int = arguments.reporting_interval
        self._say = output.line
        self._transaction_s = (arguments.transaction_duration_ms or _TRANSACTION_MS) / 1000 if in_transactions else None
        if self._warmup:
            self._say(
                f"Warmup first {self._warmup} records. Steady state results will print after the complete test summary."
            )
        self.whole = Statistics(self._count, self._interval_ms, self._say)
        self.steady: Statistics | None = None

    def send_all(self) -> None:
        if self._transaction_s is not None:
            self._producer.begin(is_first=True)
        began_s = transaction_s = time.monotonic()
        sent = 0
        while sent < self._count:
            wanted = self._wanted(sent, began_s)
            if wanted <= 0:
                time.sleep(max(_SHORTEST_PAUSE_S, (sent + 1) / self._throughput - (time.monotonic() - began_s)))
                self._producer.send([])
            else:
                self._producer.send(self._payloads(sent, sent + wanted))
                sent += wanted
            self._gather()
            if self.steady is None and 0 < self._warmup <= sent:
                self._begin_steady_state()
            if self._transaction_s is not None and time.monotonic() - transaction_s >= self._transaction_s:
                self._producer.commit()
                self._gather()
                transaction_s = time.monotonic()
                if sent < self._count:
                    self._producer.begin(is_first=False)
                else:
                    self._transaction_s = None
        if self._transaction_s is not None:
            self._producer.commit()
        self._producer.flush()
        self._gather()

    def _wanted(self, sent: int, began_s: float) -> int:
        """How many are due now: no more than keeps to the rate, nor beyond the warm-up."""
        left = (self._warmup if sent < self._warmup else self._count) - sent
        if self._throughput > 0:
            left = min(left, int((time.monotonic() - began_s) * self._throughput) + 1 - sent)
        return min(left, _AT_ONCE)

    def _begin_steady_state(self) -> None:
        from barnabas.cli.perf.statistics import Statistics

        self.whole.is_silent = True
        self.steady = Statistics(self._count - self._warmup, self._interval_ms, self._say, is_steady=True)

    def _gather(self) -> None:
        """As in Kafka's tool, what was sent before the steady state and is answered in it counts there."""
        latencies, size = self._producer.done()
        for each in (self.whole, self.steady):
            if each is not None:
                each.add(latencies, size)

    def tell(self, output: Output, client: str, with_metrics: bool) -> None:
        metrics = self._producer.metrics() if with_metrics else {}
        if output.as_json:
            told: dict[str, Any] = {"client": client, **self.whole.total(), "failed": self._producer.failed}
            if self.steady is not None:
                told["steady_state"] = self.steady.total()
            output.json(told | ({"metrics": metrics} if with_metrics else {}))
            return
        self.whole.tell_total()
        if self.steady is not None:
            self.steady.tell_total()
        tell_metrics(output, metrics)


def tell_metrics(output: Output, metrics: dict[str, float]) -> None:
    if metrics:
        output.line()
        output.table(["metric name", "value"], [[name, f"{value:.3f}"] for name, value in sorted(metrics.items())])
