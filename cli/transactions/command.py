"""`barnabas transactions`: its options, and the actions that show or end a transaction."""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence

from barnabas.cli.actions import Actions
from barnabas.cli.connecting import add_connection_arguments, connect
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output, add_output_arguments, columns_of_kafka, confirm
from barnabas.cli.transactions.asking import abort, describe, listed, producers
from barnabas.cli.transactions.hanging import find_hanging
from barnabas.client.cluster import TRANSACTION, Cluster, Partition, check
from barnabas.protocol.apis import APIS
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse

__all__ = ["add_arguments", "run"]

_FORCE = "forceTerminateTransaction"
_ACTIONS = Actions(
    {
        "list": "all transactions of all coordinators",
        "describe": "one, by its transactional id",
        "describe-producers": "the producers that write to a partition",
        "find-hanging": "open transactions that nobody will end",
        "abort": "end one of those, by a marker in its partition",
        _FORCE: "end a transaction that its producer has left open",
        "force-terminate": f"the same as {_FORCE}",
    },
    operand="TRANSACTIONAL-ID",
    default="list",
)
_END_TXN = APIS[26]
_MAX_TIMEOUT_MIN = 15
_DESCRIBED = (
    "CoordinatorId",
    "TransactionalId",
    "ProducerId",
    "ProducerEpoch",
    "TransactionState",
    "TransactionTimeoutMs",
    "CurrentTransactionStartTimeMs",
    "TransactionDurationMs",
    "TopicPartitions",
)
_PRODUCERS = (
    "ProducerId",
    "ProducerEpoch",
    "LatestCoordinatorEpoch",
    "LastSequence",
    "LastTimestamp",
    "CurrentTransactionStartOffset",
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    _ACTIONS.add_to(parser)
    parser.add_argument(
        "--transactional-id", "--transactionalId", metavar="ID", help="describe, force-terminate: which"
    )
    parser.add_argument("--duration-filter", metavar="MS", type=int, help="list: only those that run longer")
    parser.add_argument("--transactional-id-pattern", metavar="REGEX", help="list: only those with such an id")
    parser.add_argument("--topic", help="describe-producers, find-hanging, abort: of this topic")
    parser.add_argument("--partition", type=int, help="of this partition")
    parser.add_argument("--broker-id", metavar="ID", type=int, help="as this broker knows it, instead of the leader")
    parser.add_argument(
        "--max-transaction-timeout",
        metavar="MINUTES",
        type=int,
        default=_MAX_TIMEOUT_MIN,
        help=f"find-hanging: shorter ones cannot hang ({_MAX_TIMEOUT_MIN})",
    )
    parser.add_argument("--start-offset", metavar="OFFSET", type=int, help="abort: where the transaction begins")
    parser.add_argument("--producer-id", metavar="ID", type=int, help="abort, before Kafka 3.0: whose it is")
    parser.add_argument("--producer-epoch", metavar="EPOCH", type=int, help="abort, before Kafka 3.0")
    parser.add_argument("--coordinator-epoch", metavar="EPOCH", type=int, help="abort, before Kafka 3.0")
    parser.add_argument("--yes", action="store_true", help="do not ask")
    add_connection_arguments(parser)
    add_output_arguments(parser)


def run(arguments: argparse.Namespace) -> None:
    action, words = _ACTIONS.chosen(arguments)
    output = Output(as_json=arguments.json)
    with connect(arguments) as cluster:
        if action == "list":
            _list(cluster, arguments, output)
        elif action == "describe":
            _describe(cluster, _id_of(arguments, words), output)
        elif action == "describe-producers":
            _describe_producers(cluster, _partition_of(arguments), arguments.broker_id, output)
        elif action == "find-hanging":
            find_hanging(cluster, arguments, output)
        elif action == "abort":
            _abort(cluster, arguments, output)
        else:
            _force(cluster, _id_of(arguments, words), arguments, output)


def _id_of(arguments: argparse.Namespace, words: Sequence[str]) -> str:
    ids = [*([arguments.transactional_id] if arguments.transactional_id else []), *words]
    if len(ids) != 1:
        raise WrongUsage("name one transaction: --transactional-id ID")
    return str(ids[0])


def _partition_of(arguments: argparse.Namespace) -> Partition:
    if arguments.topic is None or arguments.partition is None:
        raise WrongUsage("name the partition: --topic TOPIC --partition NUMBER")
    return Partition(arguments.topic, arguments.partition)


def _list(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    found = listed(cluster, duration_ms=arguments.duration_filter, pattern=arguments.transactional_id_pattern)
    if output.as_json:
        output.json(
            [
                {
                    "transactional_id": each.transactional_id,
                    "coordinator": node_id,
                    "producer_id": each.producer_id,
                    "state": each.transaction_state,
                }
                for node_id, each in found
            ]
        )
    rows = [(each.transactional_id, node_id, each.producer_id, each.transaction_state) for node_id, each in found]
    for line in columns_of_kafka(("TransactionalId", "Coordinator", "ProducerId", "TransactionState"), rows):
        output.line(line)


def _describe(cluster: Cluster, transactional_id: str, output: Output) -> None:
    node_id, state = describe(cluster, transactional_id)
    began_ms = state.transaction_start_time_ms if state.transaction_start_time_ms >= 0 else None
    duration_ms = None if began_ms is None else int(time.time() * 1000) - began_ms
    partitions = sorted(Partition(topic.topic, number) for topic in state.topics for number in topic.partitions)
    if output.as_json:
        output.json(
            {
                "transactional_id": transactional_id,
                "coordinator": node_id,
                "producer_id": state.producer_id,
                "producer_epoch": state.producer_epoch,
                "state": state.transaction_state,
                "timeout_ms": state.transaction_timeout_ms,
                "began_ms": began_ms,
                "duration_ms": duration_ms,
                "partitions": [str(each) for each in partitions],
            }
        )
    row = (
        node_id,
        transactional_id,
        state.producer_id,
        state.producer_epoch,
        state.transaction_state,
        state.transaction_timeout_ms,
        began_ms,
        duration_ms,
        ",".join(map(str, partitions)),
    )
    for line in columns_of_kafka(_DESCRIBED, [row]):
        output.line(line)


def _describe_producers(cluster: Cluster, partition: Partition, broker_id: int | None, output: Output) -> None:
    states = producers(cluster, [partition], broker_id).get(partition, [])
    rows = [
        (
            each.producer_id,
            each.producer_epoch,
            each.coordinator_epoch,
            each.last_sequence,
            each.last_timestamp,
            each.current_txn_start_offset if each.current_txn_start_offset >= 0 else None,
        )
        for each in states
    ]
    if output.as_json:
        names = ("producer_id", "producer_epoch", "coordinator_epoch", "last_sequence", "last_timestamp")
        output.json([dict(zip((*names, "transaction_start_offset"), row, strict=True)) for row in rows])
    for line in columns_of_kafka(_PRODUCERS, rows):
        output.line(line)


def _abort(cluster: Cluster, arguments: argparse.Namespace, output: Output) -> None:
    partition = _partition_of(arguments)
    if arguments.start_offset is not None:
        producer_id, epoch, coordinator_epoch = _producer_at(cluster, partition, arguments.start_offset)
    else:
        given = [arguments.producer_id, arguments.producer_epoch, arguments.coordinator_epoch]
        if None in given:
            raise WrongUsage(
                "name the transaction: --start-offset, or, for brokers older than 3.0, "
                "--producer-id, --producer-epoch and --coordinator-epoch"
            )
        producer_id, epoch, coordinator_epoch = given
    confirm(f"Abort the transaction of producer {producer_id} in {partition}? Its records are lost.", yes=arguments.yes)
    # Of a producer whose first transaction hangs the partition knows no epoch; 0 is at most that of any coordinator.
    abort(cluster, partition, producer_id, epoch, max(0, coordinator_epoch))
    output.note(f"The transaction of producer {producer_id} in {partition} is aborted.")
    if output.as_json:
        output.json({"aborted": str(partition), "producer_id": producer_id, "producer_epoch": epoch})


def _producer_at(cluster: Cluster, partition: Partition, start_offset: int) -> tuple[int, int, int]:
    for each in producers(cluster, [partition]).get(partition, []):
        if each.current_txn_start_offset == start_offset:
            return each.producer_id, each.producer_epoch, each.coordinator_epoch
    raise CommandFailed(
        f"Could not find any open transactions starting at offset {start_offset} on partition {partition}: "
        "barnabas transactions describe-producers shows those that are open."
    )


def _force(cluster: Cluster, transactional_id: str, arguments: argparse.Namespace, output: Output) -> None:
    """Who begins with the same id ends what was open under it."""
    confirm(f"End what {transactional_id} has left open? Its records are lost.", yes=arguments.yes)
    request = InitProducerIdRequest(
        transactional_id=transactional_id, transaction_timeout_ms=int(cluster.timeout_s * 1000)
    )

    cluster.version_of(_END_TXN)  # A producer's id is given also where no transactions are.

    def ask() -> InitProducerIdResponse:
        answer = cluster.ask_coordinator(transactional_id, request, InitProducerIdResponse, kind=TRANSACTION)
        check(answer.error_code, f"transactional id {transactional_id}")
        return answer

    answer = cluster.retry(ask)
    output.note(f"What {transactional_id} had open is ended, and its producer is fenced.")
    if output.as_json:
        output.json({"ended": transactional_id, "producer_id": answer.producer_id, "epoch": answer.producer_epoch})
