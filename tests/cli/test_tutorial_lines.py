"""The lines of Apache Kafka's quickstart, and of the tutorials that most people find, with `barnabas` in front.

Where a tutorial is older than Kafka 4, what it asks for is gone from Kafka, too, and the sentence says what to write.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator

import pytest

from barnabas.cli.commands import KAFKA_TOOLS
from barnabas.testing import Broker
from tests.cli.beside import Ran, run
from tests.cli.test_flags import rows

LOCALHOST = "localhost:9092"
"""As all of them have it."""


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


def line(broker: Broker, text: str, stdin: str = "") -> Ran:
    return run(*shlex.split(text.replace(LOCALHOST, broker.bootstrap_servers)), stdin=stdin)


def well(broker: Broker, text: str, stdin: str = "") -> str:
    ran = line(broker, text, stdin)
    assert ran.code == 0, ran
    return ran.out


@pytest.mark.slow
def test_the_quickstart(broker: Broker) -> None:
    topic = "--topic quickstart-events --bootstrap-server localhost:9092"
    assert well(broker, f"bin/kafka-topics.sh --create {topic}") == "Created topic quickstart-events.\n"
    assert "quickstart-events: 1 partition, 1 replica" in well(broker, f"bin/kafka-topics.sh --describe {topic}")
    events = "This is my first event\nThis is my second event\n"
    well(broker, f"bin/kafka-console-producer.sh {topic}", events)
    consumed = well(broker, f"bin/kafka-console-consumer.sh {topic} --from-beginning --max-messages 2")
    assert consumed == events


@pytest.mark.slow
def test_keys_a_group_its_lag_and_new_offsets(broker: Broker) -> None:
    where = "--bootstrap-server localhost:9092"
    well(broker, f"kafka-topics.sh --create {where} --replication-factor 1 --partitions 1 --topic keyed")
    properties = "--property parse.key=true --property key.separator=:"
    well(broker, f"kafka-console-producer.sh --broker-list localhost:9092 --topic keyed {properties}", "k:1\nl:2\n")
    shown = "--property print.key=true --property key.separator=-"
    read = f"kafka-console-consumer.sh {where} --topic keyed --from-beginning --group app --max-messages 2 {shown}"
    assert well(broker, read) == "k-1\nl-2\n"
    assert well(broker, f"kafka-consumer-groups.sh {where} --list") == "app\n"
    (row,) = [
        each.split()
        for each in well(broker, f"kafka-consumer-groups.sh {where} --describe --group app").splitlines()
        if each.startswith("app")
    ]
    assert row[1:6] == ["keyed", "0", "2", "2", "0"]
    well(broker, f"kafka-consumer-groups.sh {where} --group app --topic keyed --reset-offsets --to-earliest --execute")
    assert broker.group_offsets("app") == {("keyed", 0): 0}


def test_configs_partitions_and_the_end_of_a_topic(broker: Broker) -> None:
    where = "--bootstrap-server localhost:9092"
    well(broker, f"kafka-topics.sh --create {where} --topic altered --config cleanup.policy=compact")
    entity = f"{where} --entity-type topics --entity-name altered"
    well(broker, f"kafka-configs.sh {entity} --alter --add-config max.message.bytes=128000")
    assert "max.message.bytes" in well(broker, f"kafka-configs.sh {entity} --describe")
    well(broker, f"kafka-configs.sh {entity} --alter --delete-config max.message.bytes")
    well(broker, f"kafka-topics.sh {where} --alter --topic altered --partitions 3")
    assert well(broker, f"kafka-get-offsets.sh {where} --topic altered") == "altered:0:0\naltered:1:0\naltered:2:0\n"
    well(broker, f"kafka-topics.sh {where} --delete --topic altered")
    assert "altered" not in broker.topics()


@pytest.mark.slow
@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_the_performance_test_takes_its_broker_from_the_properties(broker: Broker, client: str) -> None:
    counts = "--num-records 10 --record-size 10 --throughput -1"
    properties = "--producer-props acks=1 bootstrap.servers=localhost:9092"
    told = well(broker, f"kafka-producer-perf-test.sh --topic perf {counts} {properties} --client {client}")
    assert told.startswith("10 records sent, ")


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("kafka-topics.sh --create --zookeeper localhost:2181 --topic t", "there is no ZooKeeper"),
        ("kafka-console-consumer.sh --zookeeper localhost:2181 --topic t", "write --bootstrap-server HOST:PORT"),
        ("kafka-topics.sh --lst", "is --list meant?"),
        ("kafka-topics.sh --bootstrap-servers localhost:9092 --list", "without s"),
        ("kafka-server-start.sh -daemon server.properties", "there is no option -daemon"),
        ("zookeeper-server-start.sh config/zookeeper.properties", "barnabas start is all"),
        ("kafka-server-stop.sh", "Ctrl-C"),
        ("kafka-topic.sh --list", "is kafka-topics meant?"),
    ],
)
def test_what_is_gone_or_mistyped_is_said_with_what_to_write(broker: Broker, text: str, words: str) -> None:
    ran = line(broker, text)
    assert (ran.code, ran.out) == (2, "")
    assert words in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize(
    "script", [name for name, ours in rows().items() if ours.startswith("none") and name not in KAFKA_TOOLS]
)
def test_a_script_without_a_counterpart_says_why(script: str) -> None:
    ran = run(f"{script}.sh", "--topic", "t")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"barnabas: {script} has no counterpart: ")
