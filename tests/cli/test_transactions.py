"""`barnabas transactions`: beside Kafka's own tool, with transactions that are open, ended, and hang."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator

import pytest

from barnabas.cli.transactions.hanging import Open, hanging_among
from barnabas.client.address import Address
from barnabas.client.cluster import TRANSACTION, Cluster, Partition, check
from barnabas.client.properties import ClientProperties
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnRequest, AddPartitionsToTxnResponse
from barnabas.protocol.messages.add_partitions_to_txn import AddPartitionsToTxnTopic as Topic
from barnabas.protocol.messages.describe_producers import ProducerState
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from tests.cli.beside import Side, run
from tests.cli.kafkas_tool import Kafkas
from tests.kafka.tool_runner import ToolRunner

TOOL = "TransactionsCommand"
TIMEOUT_MS = 600_000


def test_ours_has_none_and_says_so(ours: Side) -> None:
    refused = ours.attempt("transactions")
    assert refused.code == 1
    assert "does not offer ListTransactions" in refused.err
    assert "does not offer DescribeTransactions" in ours.attempt("transactions describe", "a").err
    assert "does not offer EndTxn" in ours.attempt("transactions force-terminate", "a").err


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["describe"], "name one transaction"),
        (["describe", "a", "b"], "name one transaction"),
        (["describe-producers", "--topic", "t"], "--topic TOPIC --partition NUMBER"),
        (["find-hanging"], "name --topic or --broker-id"),
        (["find-hanging", "--broker-id", "1", "--partition", "0"], "--partition goes with --topic"),
        (["abort", "--topic", "t", "--partition", "0"], "name the transaction: --start-offset"),
        (["abort", "--topic", "t", "--partition", "0", "--producer-id", "1"], "--producer-epoch"),
        (["abort"], "--topic TOPIC --partition NUMBER"),
        (["forceTerminateTransaction"], "name one transaction"),
        (["end"], "there is no action end"),
    ],
)
def test_what_cannot_be_meant(arguments: list[str], words: str) -> None:
    refused = run("transactions", *arguments)
    assert refused.code == 2
    assert words in refused.err


def test_hanging_is_what_no_coordinator_will_end() -> None:
    def opened(topic: str, producer_id: int) -> Open:
        return Open(Partition(topic, 0), ProducerState(producer_id=producer_id, current_txn_start_offset=5))

    known = {1: {Partition("a", 0)}, 2: set[Partition]()}
    candidates = [opened("a", 1), opened("b", 1), opened("a", 2), opened("a", 3)]
    assert hanging_among(candidates, known) == candidates[1:]


@pytest.fixture
def kafkas(kafka: Side, kafka_tools: ToolRunner) -> Callable[..., str]:
    tools = Kafkas(kafka_tools)

    def ask(*arguments: str) -> str:
        ran = tools(kafka, TOOL, "--bootstrap-server", "BROKER", *arguments)
        assert ran.code == 0, ran
        return ran.out

    return ask


@pytest.fixture
def begin(kafka: Side) -> Iterator[Callable[[str, str], int]]:
    """A transactional id, a topic: the producer's id, who has begun there and written nothing yet."""
    address = Address(kafka.broker.host, kafka.broker.port)
    with Cluster([address], ClientProperties(), 30) as cluster:

        def start(transactional_id: str, topic: str) -> int:
            request = InitProducerIdRequest(transactional_id=transactional_id, transaction_timeout_ms=TIMEOUT_MS)

            def init() -> InitProducerIdResponse:
                answer = cluster.ask_coordinator(transactional_id, request, InitProducerIdResponse, kind=TRANSACTION)
                check(answer.error_code)
                return answer

            made = cluster.retry(init)
            add = AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=transactional_id,
                v3_and_below_producer_id=made.producer_id,
                v3_and_below_producer_epoch=made.producer_epoch,
                v3_and_below_topics=[Topic(name=topic, partitions=[0])],
            )
            added = cluster.ask_coordinator(
                transactional_id, add, AddPartitionsToTxnResponse, kind=TRANSACTION, at_most=3
            )
            assert not added.results_by_topic_v3_and_below[0].results_by_partition[0].partition_error_code
            return made.producer_id

        yield start


def without_durations(text: str) -> str:
    return re.sub(r"(\d{13} *)\t\d+ *\t", r"\1\tDURATION\t", text)


@pytest.mark.java
@pytest.mark.slow
def test_transactions_are_listed_described_and_ended_as_by_kafkas_tool(
    kafka: Side, kafkas: Callable[..., str], begin: Callable[[str, str], int], name: str
) -> None:
    kafka.create(name)
    producer_id = begin(name, name)
    for flags in (
        ["list", "--transactional-id-pattern", f"{name}.*"],
        ["list", "--transactional-id-pattern", f"{name}.*", "--duration-filter", "10000000"],
        ["list", "--duration-filter", "0", "--transactional-id-pattern", f".*{name}"],
        ["find-hanging", "--topic", name],
        ["find-hanging", "--topic", name, "--partition", "0", "--max-transaction-timeout", "0"],
        ["find-hanging", "--broker-id", "1"],
        ["describe-producers", "--topic", name, "--partition", "0"],
        ["describe-producers", "--topic", name, "--partition", "0", "--broker-id", "1"],
    ):
        assert kafka.run("kafka-transactions.sh", *flags) == kafkas(*flags), flags
    assert name in kafka.run("transactions")
    described = kafka.run("transactions", "describe", name)
    assert without_durations(described) == without_durations(kafkas("describe", "--transactional-id", name))
    told = kafka.json("transactions", "describe", "--transactional-id", name)
    assert told["state"] == "Ongoing"
    assert told["producer_id"] == producer_id
    assert told["timeout_ms"] == TIMEOUT_MS
    assert told["partitions"] == [f"{name}-0"]
    assert kafka.json("transactions", "--transactional-id-pattern", name) == [
        {"transactional_id": name, "coordinator": 1, "producer_id": producer_id, "state": "Ongoing"}
    ]
    ended = kafka.attempt("transactions", "forceTerminateTransaction", "--transactionalId", name)
    assert ended.code == 0
    assert ended.err == f"What {name} had open is ended, and its producer is fenced.\n"
    assert kafka.json("transactions", "describe", name)["state"] != "Ongoing"


@pytest.mark.java
@pytest.mark.slow
def test_what_is_not_there(kafka: Side, name: str) -> None:
    kafka.create(name)
    refused = kafka.attempt("transactions", "describe", name)
    assert refused.code == 1
    assert refused.err.endswith("[TRANSACTIONAL_ID_NOT_FOUND].\n")
    flags = ["--topic", name, "--partition", "0", "--start-offset", "3"]
    refused = kafka.attempt("transactions", "abort", *flags)
    assert refused.code == 1
    assert f"Could not find any open transactions starting at offset 3 on partition {name}-0" in refused.err
    refused = kafka.attempt("transactions", "describe-producers", "--topic", name, "--partition", "8")
    assert refused.code == 1
    assert "[UNKNOWN_TOPIC_OR_PARTITION]" in refused.err


@pytest.mark.java
@pytest.mark.slow
def test_an_open_transaction_is_aborted_by_a_marker(kafka: Side, kafkas: Callable[..., str], name: str) -> None:
    """Past its coordinator, who still takes it for open; of a transaction that hangs nobody knows but the partition."""
    from kafka import KafkaProducer

    kafka.create(name)
    producer = KafkaProducer(bootstrap_servers=kafka.bootstrap, transactional_id=name)
    producer.init_transactions()
    producer.begin_transaction()
    producer.send(name, b"never committed").get(30)
    flags = ["describe-producers", "--topic", name, "--partition", "0"]
    assert kafka.run("transactions", *flags) == kafkas(*flags)
    (state,) = kafka.json("transactions", *flags)
    assert state["transaction_start_offset"] == 0
    aborted = kafka.attempt("transactions", "abort", "--topic", name, "--partition", "0", "--start-offset", "0")
    assert aborted.code == 0
    assert "is aborted" in aborted.err
    (state,) = kafka.json("transactions", *flags)
    assert state["transaction_start_offset"] is None
    producer.abort_transaction()
    producer.close()
