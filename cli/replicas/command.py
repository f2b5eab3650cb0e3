"""`barnabas verify-replicas`: whether all replicas have the same; what kafka-replica-verification.sh does, once."""

from __future__ import annotations

import argparse
import time
from pathlib import Path

from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output, add_output_arguments, progress
from barnabas.cli.partition_words import PartitionFilter, read_rules, read_topic_and_numbers
from barnabas.cli.replicas.brokers import Brokers
from barnabas.cli.replicas.following import follow
from barnabas.cli.replicas.looking import begin, look, topic_ids
from barnabas.cli.replicas.rounds import Rounds
from barnabas.cli.replicas.telling import tell
from barnabas.cli.times import moment_ms
from barnabas.client.cluster import Cluster
from barnabas.client.offsets import EARLIEST, LATEST

__all__ = ["add_arguments", "run"]

_FETCH_BYTES = 1 << 20
_MAX_WAIT_MS = 1000
_SHORT_WAIT_MS = 100
_REPORT_MS = 30_000


def add_arguments(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("words", nargs="*", metavar="TOPIC", help="only these: orders, pay.*, orders:0-3 (all)")
    parser.add_argument("--topics-include", metavar="PATTERN", help="only these, as Kafka's tool has it")
    parser.add_argument(
        "--time", metavar="TIME", help="from then on: a time, 10m, 2h, 1d ago, -2 for all, -1 for what comes (-2)"
    )
    parser.add_argument("--verbose", action="store_true", help="each partition, and not only those that differ")
    parser.add_argument(
        "--data",
        metavar="DIR",
        action="append",
        type=Path,
        default=[],
        help="log directories of nodes instead of a cluster, each with --data",
    )
    group = parser.add_argument_group("over the network")
    group.add_argument("--fetch-size", metavar="BYTES", type=int, help=f"of a partition at a time ({_FETCH_BYTES})")
    group.add_argument("--max-wait-ms", metavar="MS", type=int, help="for records that are not there yet")
    group.add_argument(
        "--continuous", action="store_true", help="go on with what comes, from --time -1 on, until Ctrl-C"
    )
    group.add_argument(
        "--report-interval-ms", metavar="MS", type=int, help=f"with --continuous: say how far it is ({_REPORT_MS})"
    )
    add_connection_arguments(parser, "--broker-list")
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> int:
    wanted = _filter(arguments)
    for name in ("fetch_size", "max_wait_ms", "report_interval_ms"):
        if (value := getattr(arguments, name)) is not None and value < 1:
            raise WrongUsage(f"--{name.replace('_', '-')} {value} has to be above 0")
    if arguments.data:
        for name in ("bootstrap_server", "continuous", "time"):
            if getattr(arguments, name):
                raise WrongUsage(f"--{name.replace('_', '-')} goes with a cluster, not with --data")
        return _verify_directories(arguments, wanted)
    if arguments.report_interval_ms is not None and not arguments.continuous:
        raise WrongUsage("--report-interval-ms goes with --continuous")
    timestamp = _timestamp(arguments)
    wait_ms = arguments.max_wait_ms or (_MAX_WAIT_MS if arguments.continuous else _SHORT_WAIT_MS)
    with connect(arguments) as cluster:
        ids = topic_ids(cluster, wanted)
        with Brokers(cluster, ids, max_wait_ms=wait_ms, fetch_bytes=arguments.fetch_size or _FETCH_BYTES) as brokers:
            if not arguments.continuous:
                return _verify(cluster, brokers, wanted, timestamp, arguments)
            interval_s = (arguments.report_interval_ms or _REPORT_MS) / 1000
            return follow(cluster, brokers, wanted, timestamp, interval_s, Output(as_json=arguments.json))


def _filter(arguments: argparse.Namespace) -> PartitionFilter:
    if arguments.topics_include is not None and arguments.words:
        raise WrongUsage("name the topics as words or with --topics-include, not both")
    if arguments.words:
        return read_rules(",".join(arguments.words))
    return read_topic_and_numbers(arguments.topics_include, None)


def _timestamp(arguments: argparse.Namespace) -> int:
    if arguments.time is None:
        return LATEST if arguments.continuous else EARLIEST
    if arguments.time in (str(LATEST), str(EARLIEST)):
        return int(arguments.time)
    return moment_ms(arguments.time, "--time")


def _verify(
    cluster: Cluster, brokers: Brokers, wanted: PartitionFilter, timestamp: int, arguments: argparse.Namespace
) -> int:
    checked = look(cluster, brokers.topic_ids, wanted)
    began_s = time.monotonic()
    begin(cluster, brokers, checked, timestamp, to_end=True)
    total = sum((each.end_offset or 0) - each.first_offset for each in checked)
    with progress("comparing", total) as bar:
        Rounds(brokers, checked, wait_for_all=False).to_the_end(bar.advance)
    output = Output(as_json=arguments.json)
    return tell(checked, "broker", time.monotonic() - began_s, output, verbose=arguments.verbose)


def _verify_directories(arguments: argparse.Namespace, wanted: PartitionFilter) -> int:
    # Here, for it reads files as a broker does.
    from barnabas.cli.log.open_files import allow_all_files
    from barnabas.cli.replicas.directories import comparisons

    allow_all_files()
    found = comparisons(arguments.data, wanted)
    began_s = time.monotonic()
    with progress("comparing") as bar:
        for each in found:
            each.go_on(bar.advance)
    output = Output(as_json=arguments.json)
    checked = [each.checked for each in found]
    return tell(checked, "node", time.monotonic() - began_s, output, verbose=arguments.verbose)
