"""`barnabas perf consume`: what kafka-consumer-perf-test.sh does."""

from __future__ import annotations

import argparse
import random
import re
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, NamedTuple

from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments

__all__ = ["add_arguments", "java_date", "run"]

_MIB = 1 << 20
_POLL_S = 0.1
_AT_ONCE = 10_000
_PATIENCE_MS = 10_000
_FIELDS = (
    "start.time, end.time, data.consumed.in.MB, MB.sec, data.consumed.in.nMsg, nMsg.sec, "
    "rebalance.time.ms, fetch.time.ms, fetch.MB.sec, fetch.nMsg.sec"
)
_DETAILED_FIELDS = _FIELDS.replace("start.time, end.time", "time, threadId")
_DATE_FORMAT = "yyyy-MM-dd HH:mm:ss:SSS"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    from barnabas.cli.clients.arguments import add_client_arguments
    from barnabas.cli.clients.choosing import FASTEST, add_client_argument

    parser.add_argument("words", nargs="*", metavar="TOPIC", help="the topic, instead of --topic")
    parser.add_argument("--topic", metavar="TOPIC", help="what to read")
    parser.add_argument("--include", metavar="PATTERN", help="all topics whose whole name matches")
    parser.add_argument("--num-records", metavar="N", type=int, help="how many (all that are there)")
    parser.add_argument("--messages", metavar="N", type=int, help="the old name of that")
    parser.add_argument("--group", metavar="GROUP", help="as which group (one of its own)")
    parser.add_argument("--from-latest", action="store_true", help="only what comes from now on")
    parser.add_argument(
        "--timeout",
        dest="patience_ms",
        metavar="MS",
        nargs="?",
        type=int,
        default=_PATIENCE_MS,
        const=_PATIENCE_MS,
        help=f"end when none has come for so long ({_PATIENCE_MS})",
    )
    parser.add_argument("--fetch-size", metavar="BYTES", type=int, default=_MIB, help="of a partition at once (1 MiB)")
    parser.add_argument("--socket-buffer-size", metavar="BYTES", type=int, default=2 * _MIB, help="to receive (2 MiB)")
    parser.add_argument("--show-detailed-stats", action="store_true", help="a line an interval instead of one")
    parser.add_argument("--reporting-interval", metavar="MS", type=int, default=5000, help="of those (5000)")
    parser.add_argument("--date-format", metavar="PATTERN", default=_DATE_FORMAT, help="as Java has it")
    parser.add_argument("--hide-header", action="store_true", help="no line of names")
    parser.add_argument("--print-metrics", action="store_true", help="what the library counts, at the end")
    add_client_arguments(parser, "consumer", "--consumer-property", timeout=False)
    add_client_argument(parser, FASTEST)
    add_output_arguments(parser)


class _Moment(NamedTuple):
    seconds: float
    """Since 1970."""
    records: int
    bytes: int


def run(arguments: argparse.Namespace) -> None:
    from barnabas.cli.clients.arguments import bootstrap_from, properties_from, reach, tell_of_ignored
    from barnabas.cli.clients.choosing import chosen_client
    from barnabas.cli.clients.consuming import made_consumer
    from barnabas.cli.clients.topics import partitions_of
    from barnabas.client.cluster import Partition
    from barnabas.client.offsets import EARLIEST, LATEST

    output = Output(as_json=arguments.json)
    topic, most = _check(arguments)
    show_date = java_date(arguments.date_format)
    properties = _properties(arguments, properties_from(arguments))
    bootstrap = bootstrap_from(arguments, properties)
    client = chosen_client(arguments)
    with reach(bootstrap, properties, arguments.timeout) as cluster:
        if topic is None:
            cluster.metadata(topics=[])
        else:
            partitions = [Partition(topic, number) for number in partitions_of(cluster, topic)]
            if most is None:
                from barnabas.cli.consume.bounds import offsets_at

                first, last = (offsets_at(cluster, partitions, when, committed=False) for when in (EARLIEST, LATEST))
                most = sum(last[each] - first[each] for each in partitions)
    output.note(f"Records go through {client}.")
    consumer, ignored = made_consumer(client, bootstrap, properties)
    if note := tell_of_ignored(ignored, client):
        output.note(note)
    run_ = _Run(arguments, client, consumer, output, show_date)
    if not arguments.hide_header:
        output.line(_DETAILED_FIELDS if arguments.show_detailed_stats else _FIELDS)
    try:
        run_.read(topic, most if most is not None else 0)
        run_.tell()
    finally:
        consumer.close()


def _check(arguments: argparse.Namespace) -> tuple[str | None, int | None]:
    names = [*([arguments.topic] if arguments.topic else []), *arguments.words]
    if len(names) + (arguments.include is not None) != 1:
        raise WrongUsage("name one topic: perf consume TOPIC, or --include PATTERN")
    if arguments.include is not None:
        try:
            re.compile(arguments.include)
        except re.error as error:
            raise WrongUsage(f"--include {arguments.include} is no regular expression ({error})") from None
    if arguments.num_records is not None and arguments.messages is not None:
        raise WrongUsage("--num-records and --messages cannot be given together")
    most = arguments.num_records if arguments.num_records is not None else arguments.messages
    if most is None and (arguments.from_latest or arguments.include is not None):
        raise WrongUsage("say how many with --num-records")
    if arguments.reporting_interval <= 0:
        raise WrongUsage("--reporting-interval has to be above 0")
    return (names[0] if names else None), most


def _properties(arguments: argparse.Namespace, properties: dict[str, str]) -> dict[str, str]:
    found = {"client.id": "perf-consumer-client"} | properties
    found["group.id"] = arguments.group or f"perf-consumer-{random.randrange(100_000)}"  # noqa: S311 - a name
    found["receive.buffer.bytes"] = str(arguments.socket_buffer_size)
    found["max.partition.fetch.bytes"] = str(arguments.fetch_size)
    found["auto.offset.reset"] = "latest" if arguments.from_latest else "earliest"
    found["check.crcs"] = "false"
    found.setdefault("enable.auto.commit", "true")
    if arguments.print_metrics:
        found.setdefault("statistics.interval.ms", "1000")
    return found


class _Run:
    def __init__(
        self,
        arguments: argparse.Namespace,
        client: str,
        consumer: Any,
        output: Output,
        show_date: Callable[[float], str],
    ) -> None:
        from barnabas.cli.clients.choosing import CONFLUENT_KAFKA

        self._arguments = arguments
        self._client = client
        self._is_confluent = client == CONFLUENT_KAFKA
        self._consumer = consumer
        self._output = output
        self._show_date = show_date
        self._joined_ms = 0
        self._joined_in_interval_ms = 0
        self._join_began_s = time.time()
        self._has_partitions = False

    # The group: how long it takes until partitions are there

    def assigned(self, partitions: Any) -> None:
        if not self._has_partitions:
            took_ms = int((time.time() - self._join_began_s) * 1000)
            self._joined_ms += took_ms
            self._joined_in_interval_ms += took_ms
        self._has_partitions = self._has_partitions or bool(partitions)

    def revoked(self) -> None:
        self._has_partitions = False
        self._join_began_s = time.time()

    def _subscribe(self, topic: str | None) -> None:
        if self._is_confluent:
            # librdkafka takes a name that begins so for a pattern.
            names = [topic] if topic is not None else [f"^(?:{self._arguments.include})$"]
            self._consumer.subscribe(
                names, on_assign=lambda _, found: self.assigned(found), on_revoke=lambda *_: self.revoked()
            )
            return
        from kafka import ConsumerRebalanceListener

        run = self

        class Listener(ConsumerRebalanceListener):  # type: ignore[misc]
            def on_partitions_assigned(self, found: Any) -> None:
                run.assigned(found)

            def on_partitions_revoked(self, _: Any) -> None:
                run.revoked()

        if topic is not None:
            self._consumer.partitions_for_topic(topic)  # See consume: without it, some wait for ever.
            self._consumer.subscribe([topic], listener=Listener())
        else:
            self._consumer.subscribe(pattern=f"(?:{self._arguments.include})$", listener=Listener())

    def _poll(self, most: int) -> tuple[int, int]:
        """How many records came, and how many bytes. librdkafka waits until they are as many as they may be."""
        if self._is_confluent:
            messages = [each for each in self._consumer.consume(most, _POLL_S) if each.error() is None]
            return len(messages), sum(len(each) + len(each.key() or b"") for each in messages)
        found = self._consumer.poll(timeout_ms=int(_POLL_S * 1000), max_records=most)
        records = [each for own in found.values() for each in own]
        return len(records), sum(len(each.value or b"") + len(each.key or b"") for each in records)

    def read(self, topic: str | None, most: int) -> None:
        self._subscribe(topic)
        self._begun = last = _Moment(time.time(), 0, 0)
        now_s = last_record_s = last.seconds
        records = size = 0
        while records < most and (now_s - last_record_s) * 1000 <= self._arguments.patience_ms:
            new_records, new_bytes = self._poll(min(_AT_ONCE, most - records))
            now_s = time.time()
            records += new_records
            size += new_bytes
            if new_records:
                last_record_s = now_s
                if (now_s - last.seconds) * 1000 >= self._arguments.reporting_interval:
                    now = _Moment(now_s, records, size)
                    if self._arguments.show_detailed_stats:
                        self._tell_interval(last, now)
                    self._joined_in_interval_ms = 0
                    last = now
        if records < most:
            self._output.line(
                "WARNING: Exiting before consuming the expected number of records: timeout "
                f"({self._arguments.patience_ms} ms) exceeded. "
                "You can use the --timeout option to increase the timeout."
            )
        self._ended = _Moment(time.time(), records, size)

    # What is said

    def _tell_interval(self, last: _Moment, now: _Moment) -> None:
        elapsed_ms = max((now.seconds - last.seconds) * 1000, 1e-9)
        mib, new_mib = now.bytes / _MIB, (now.bytes - last.bytes) / _MIB
        new = now.records - last.records
        fetch_ms = int(elapsed_ms) - self._joined_in_interval_ms
        per_fetch_s = 0.0 if fetch_ms <= 0 else 1000 / fetch_ms
        self._output.line(
            f"{self._show_date(now.seconds)}, 0, {mib:.4f}, {1000 * new_mib / elapsed_ms:.4f}, {now.records}, "
            f"{1000 * new / elapsed_ms:.4f}, {self._joined_in_interval_ms}, {fetch_ms}, {new_mib * per_fetch_s:.4f}, "
            f"{new * per_fetch_s:.4f}"
        )

    def tell(self) -> None:
        found = self._figures()
        metrics = self._metrics() if self._arguments.print_metrics else {}
        if self._output.as_json:
            self._output.json(found | ({"metrics": metrics} if metrics else {}))
            return
        if not self._arguments.show_detailed_stats:
            self._output.line(
                f"{self._show_date(self._begun.seconds)}, {self._show_date(self._ended.seconds)}, "
                f"{found['mib']:.4f}, {found['mib_per_second']:.4f}, {found['records']}, "
                f"{found['records_per_second']:.4f}, {found['rebalance_ms']}, {found['fetch_ms']}, "
                f"{found['fetch_mib_per_second']:.4f}, {found['fetch_records_per_second']:.4f}"
            )
        from barnabas.cli.perf.produce import tell_metrics

        tell_metrics(self._output, metrics)

    def _figures(self) -> dict[str, Any]:
        begun, ended = self._begun, self._ended
        elapsed_s = max(ended.seconds - begun.seconds, 1e-9)
        fetch_ms = max(int(elapsed_s * 1000) - self._joined_ms, 1)
        mib = ended.bytes / _MIB
        return {
            "client": self._client,
            "records": ended.records,
            "mib": mib,
            "seconds": round(elapsed_s, 6),
            "mib_per_second": mib / elapsed_s,
            "records_per_second": ended.records / elapsed_s,
            "rebalance_ms": self._joined_ms,
            "fetch_ms": fetch_ms,
            "fetch_mib_per_second": mib * 1000 / fetch_ms,
            "fetch_records_per_second": ended.records * 1000 / fetch_ms,
        }

    def _metrics(self) -> dict[str, float]:
        if self._is_confluent:
            return {}
        return {
            f"{group}:{name}": value
            for group, own in self._consumer.metrics().items()
            for name, value in own.items()
            if isinstance(value, int | float)
        }


_LETTERS = {
    "yyyy": "%Y",
    "yy": "%y",
    "MM": "%m",
    "dd": "%d",
    "HH": "%H",
    "mm": "%M",
    "ss": "%S",
    "Z": "%z",
    "EEE": "%a",
    "MMM": "%b",
    "hh": "%I",
    "a": "%p",
    "DDD": "%j",
}


def java_date(pattern: str) -> Callable[[float], str]:
    """A pattern of Java's SimpleDateFormat as a function of seconds since 1970; WrongUsage for what it has beyond."""
    layout = []
    for match in re.finditer(r"'(?P<quoted>(?:[^']|'')*)'|(?P<letters>([a-zA-Z])\3*)|(?P<other>.)", pattern):
        if match["quoted"] is not None:
            layout.append((match["quoted"].replace("''", "'") or "'").replace("%", "%%"))
        elif match["other"] is not None:
            layout.append(match["other"].replace("%", "%%"))
        elif match["letters"] == "SSS":
            layout.append("\1")
        elif match["letters"] in _LETTERS:
            layout.append(_LETTERS[match["letters"]])
        else:
            known = ", ".join([*_LETTERS, "SSS"])
            raise WrongUsage(f"--date-format {pattern} has {match['letters']}: there are {known}, and text in quotes")
    whole = "".join(layout)

    def show(seconds: float) -> str:
        moment = datetime.fromtimestamp(seconds).astimezone()
        return moment.strftime(whole).replace("\1", f"{moment.microsecond // 1000:03}")

    return show
