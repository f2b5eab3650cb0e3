"""Records written and read by our commands and by Kafka's own tools, on a broker of ours and on Apache Kafka."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.cli.beside import Both, Side

LINES = 'a\nb\tc\nNIL\n\n{"user": {"id": 3}}\nh1:v1,h2:v2\tk1\tv1\nh:NIL\tNIL\tNIL\n'

READERS = [
    [],
    ["--property", "parse.key=true", "--property", "ignore.error=true"],
    ["--reader-property", "parse.key=true", "--reader-property", "ignore.error=true"],
    ["--property", "null.marker=NIL"],
    ["--property", "key.separator=:", "--property", "parse.key=true", "--property", "ignore.error=true"],
    [
        *("--property", "parse.headers=true", "--property", "parse.key=true"),
        *("--property", "ignore.error=true", "--property", "null.marker=NIL"),
    ],
]

EVERYTHING = [
    *("--property", "print.timestamp=false", "--property", "print.partition=true", "--property", "print.offset=true"),
    *("--property", "print.headers=true", "--property", "print.key=true", "--property", "print.value=true"),
    *("--property", "null.literal=<null>"),
]


def theirs(side: Side, topic: str, count: int, *arguments: str) -> bytes:
    """What Kafka's console consumer prints of so many records, without the warning that --property is old."""
    end = ["--max-messages", str(count), "--timeout-ms", "20000"]
    ran = side.tool("ConsoleConsumer", "--topic", topic, "--from-beginning", *end, *arguments)
    assert ran.code == 0, ran
    return b"".join(line for line in ran.out.encode().splitlines(keepends=True) if not line.startswith(b"Option --"))


def records_of(side: Side, topic: str, *arguments: str) -> list[dict[str, Any]]:
    out = side.run("consume", topic, "--until-end", "--json", *arguments)
    return [json.loads(line) for line in out.splitlines()]


def objects(text: str) -> list[str]:
    """Each as it is written: Kafka puts nothing between them."""
    found = []
    while text:
        _, end = json.JSONDecoder().raw_decode(text)
        found.append(text[:end])
        text = text[end:]
    return sorted(found)


def without_place(record: dict[str, Any]) -> dict[str, Any]:
    return {name: record[name] for name in record if name not in ("timestamp", "topic")}


@pytest.mark.java
@pytest.mark.slow
def test_lines_become_the_records_that_kafkas_producer_makes_of_them(kafka: Side, name: str) -> None:
    for number, reader in enumerate(READERS):
        topics = [f"{name}-{number}-{whose}" for whose in ("ours", "theirs")]
        for topic in topics:
            kafka.create(topic)
        # kafka-python cannot send headers that are null.
        kafka.run("produce", topics[0], *reader, "--client", "confluent-kafka", stdin=LINES)
        made = kafka.tool("ConsoleProducer", "--topic", topics[1], *reader, stdin=LINES)
        assert made.code == 0, made
        ours, kafkas = ([without_place(each) for each in records_of(kafka, topic)] for topic in topics)
        assert ours == kafkas, reader
        assert ours


@pytest.mark.java
@pytest.mark.slow
def test_what_consume_prints_is_what_kafkas_consumer_prints(both: Both, name: str) -> None:
    lines = [
        {"key": "k", "value": "v", "headers": {"a": "1", "b": "2"}},
        {"key": None, "value": "é", "headers": {}},
        {"key": "k", "value": None, "timestamp": 1_700_000_000_000},
        {"key": "", "value": ""},
    ]
    choices = [
        [],
        EVERYTHING,
        ["--formatter-property", "print.key=true", "--formatter-property", "key.separator=|"],
        ["--property", "print.value=false", "--property", "print.key=true", "--property", "line.separator=;"],
        ["--property", "print.epoch=true", "--property", "print.delivery=true"],
        ["--property", "print.headers=true", "--property", "headers.separator=/"],
        ["--formatter", "org.apache.kafka.tools.consumer.LoggingMessageFormatter"],
        ["--formatter", "org.apache.kafka.tools.consumer.NoOpMessageFormatter"],
        ["--value-deserializer", "org.apache.kafka.common.serialization.BytesDeserializer"],
        ["--partition", "0", "--offset", "2"],
        ["--max-messages", "2"],
        ["--include", name.replace("beside", "b.side")],
    ]
    for side in both:
        side.create(name)
        side.run("produce", name, "--format", "json", stdin="\n".join(map(json.dumps, lines)))
    for choice in choices:
        side = both.kafka
        beginning = [] if "--offset" in choice else ["--from-beginning"]
        topic = [] if "--include" in choice else ["--topic", name]
        end = [] if "--max-messages" in choice else ["--max-messages", "2" if "--offset" in choice else "4"]
        whole = [*topic, *beginning, "--timeout-ms", "20000", *choice, *end]
        expected = side.tool("ConsoleConsumer", *whole)
        for each in both:
            ran = each.attempt("consume", *whole)
            told = "".join(
                line for line in expected.out.splitlines(keepends=True) if not line.startswith("Option --property is")
            )
            assert (ran.code, ran.out) == (expected.code, told), choice
            assert ran.err.splitlines()[-1] == expected.err.splitlines()[-1], choice


@pytest.mark.java
@pytest.mark.slow
def test_numbers_are_read_as_javas_deserializers_read_them(kafka: Side, name: str) -> None:
    import base64
    import struct

    values = {
        "Integer": [struct.pack(">i", each) for each in (0, -1, 2**31 - 1)],
        "Long": [struct.pack(">q", each) for each in (0, -(2**63))],
        "Short": [struct.pack(">h", -5)],
        "Double": [
            struct.pack(">d", each)
            for each in (0.0, -0.0, 1.0, 0.1, 1e7, 9999999.0, 1e-3, 9.99e-4, 123456.789, 1e300, -2.5e-10)
        ]
        + [struct.pack(">d", float(each)) for each in ("nan", "inf", "-inf")],
        "Float": [struct.pack(">f", each) for each in (0.0, 1.0, 0.1, 3.4e38, 1e10, 1e-5, 16777216.0)],
        "Boolean": [b"\0", b"\1"],
        "Bytes": [bytes(range(256))],
        "ByteBuffer": [b"abc"],
        "UUID": [b"123e4567-e89b-12d3-a456-426614174000"],
        "String": [b"\xff\xc3\xa9", b"\xe2\x82"],
    }
    for kind, given in values.items():
        topic = f"{name}-{kind}"
        kafka.create(topic)
        lines = [json.dumps({"value_base64": base64.b64encode(each).decode()}) for each in given]
        kafka.run("produce", topic, "--format", "json", stdin="\n".join(lines))
        cls = f"org.apache.kafka.common.serialization.{kind}Deserializer"
        ours = kafka.run("consume", topic, "--until-end", "--value-deserializer", cls)
        assert ours.encode() == theirs(kafka, topic, len(given), "--value-deserializer", cls), kind


@pytest.mark.slow
def test_a_group_goes_on_where_it_ended(side: Side, name: str) -> None:
    side.create(name, 2)
    side.run("produce", name, stdin="".join(f"{number}\n" for number in range(10)))
    group = ["--group", f"group-of-{name}", "--from-beginning", "--until-end"]
    first = side.run("consume", name, *group, "--max-messages", "4").split()
    second = side.run("consume", name, *group).split()
    assert len(first) == 4
    assert sorted(map(int, first + second)) == list(range(10))
    assert side.run("consume", name, *group) == ""


@pytest.mark.slow
@pytest.mark.parametrize(
    "command", [["consume", "--from-beginning", "--max-messages", "1"], ["perf consume", "--client", "kafka-python"]]
)
def test_a_member_joins_its_group_once(ours: Side, name: str, command: list[str]) -> None:
    """One that joins before it knows the topic's partitions gets none, joins again, and may wait for ever then."""
    ours.create(name, 2)
    ours.run("produce", name, "--value", "x")
    ours.run(*command, name, "--group", name)
    told = ours.run("consume", "__consumer_offsets", "--until-end", "--formatter", "GroupMetadataMessageFormatter")
    states = [json.loads(each)["value"] for each in objects(told) if json.loads(each)["key"]["data"]["group"] == name]
    assert [state["data"]["generation"] for state in states if state["data"]["members"]] == [1]


@pytest.mark.slow
def test_ranges_filters_and_the_last_records(side: Side, name: str) -> None:
    side.create(name, 3)
    lines = [
        {
            "key": f"k{number % 2}",
            "value": {"number": number},
            "partition": number % 3,
            "timestamp": 1_000_000 + 1000 * number,
            "headers": {"parity": str(number % 2)} if number < 20 else {},
        }
        for number in range(30)
    ]
    side.run("produce", name, "--format", "json", stdin="\n".join(map(json.dumps, lines)))

    def numbers(*arguments: str) -> list[int]:
        return [json.loads(each["value"])["number"] for each in records_of(side, name, *arguments)]

    assert sorted(numbers()) == list(range(30))
    assert numbers("--partition", "1") == list(range(1, 30, 3))
    assert sorted(numbers("--partition", "0,2")) == [each for each in range(30) if each % 3 != 1]
    assert numbers("--partition", "1", "--offset", "4", "--to-offset", "7") == [13, 16, 19]
    assert numbers("--partition", "1", "--offset", "99") == []
    assert sorted(numbers("--since", "1010000", "--until", "1020000")) == list(range(10, 20))
    assert sorted(numbers("--key", "k1")) == list(range(1, 30, 2))
    assert sorted(numbers("--header", "parity=0", "--where", "value.number > 10")) == list(range(12, 20, 2))
    assert sorted(numbers("--header", "parity")) == list(range(20))
    assert numbers("--tail", "4") == [26, 27, 28, 29]
    assert numbers("--tail", "4", "--key", "k0") == [22, 24, 26, 28]
    assert numbers("--tail", "2", "--where", "value.number < 3") == [1, 2]
    assert numbers("--tail", "2", "--until", "1005000") == [3, 4]
    assert len(numbers("--max-messages", "7")) == 7
    followed = side.run("consume", name, "--tail", "2", "--follow", "--timeout-ms", "300")
    assert followed.splitlines() == ['{"number": 28}', '{"number": 29}']


@pytest.mark.slow
def test_what_was_consumed_as_json_can_be_produced_again(side: Side, name: str) -> None:
    for topic in (name, f"{name}-again"):
        side.create(topic)
    side.run("produce", name, "--format", "raw", "--key", "bytes", "--header", "h=\udcff", stdin=b"\xff\x00\n\n")
    side.run("produce", name, "--value", "text", "--timestamp", "1970-01-02")
    side.run("produce", name, "--format", "json", "--compression-codec", "zstd", stdin='{"value": null, "key": "gone"}')
    copy = side.run("consume", name, "--until-end", "--json")
    side.run("produce", f"{name}-again", "--format", "json", stdin=copy)
    first, again = ([each | {"topic": ""} for each in records_of(side, topic)] for topic in (name, f"{name}-again"))
    assert first == again
    assert [each["timestamp"] for each in first][1] == 86_400_000
    assert first[0]["value_base64"] == "/wAKCg=="
    assert first[0]["headers"] == [{"key": "h", "value_base64": "/w=="}]


@pytest.mark.java
@pytest.mark.slow
def test_a_transaction_that_is_open_or_aborted_is_not_committed(kafka: Side, name: str) -> None:
    from confluent_kafka import Producer

    side = kafka
    side.create(name)
    producer = Producer({"bootstrap.servers": side.bootstrap, "transactional.id": name})
    producer.init_transactions(20)
    for value, ends_well in (("aborted", False), ("committed", True)):
        producer.begin_transaction()
        producer.produce(name, value)
        producer.flush(20)
        (producer.commit_transaction if ends_well else producer.abort_transaction)(20)
    uncommitted = side.run("consume", name, "--until-end").split()
    committed = side.run("consume", name, "--until-end", "--isolation-level", "read_committed").split()
    assert (uncommitted, committed) == (["aborted", "committed"], ["committed"])
    assert side.run("consume", name, "--tail", "2").split() == ["aborted", "committed"]
    formatter = ["--formatter", "org.apache.kafka.tools.consumer.TransactionLogMessageFormatter"]
    log = "__transaction_state"
    told = side.run("consume", log, "--until-end", *formatter)
    assert name in told
    assert told.encode() == theirs(side, log, len(records_of(side, log)), *formatter)


@pytest.mark.java
@pytest.mark.slow
def test_kafkas_own_topics_are_read_as_its_formatters_read_them(kafka: Side, name: str) -> None:
    log = "__consumer_offsets"
    kafka.create(name, 2)
    kafka.run("produce", name, stdin="a\nb\nc\n")
    kafka.run("consume", name, "--group", name, "--from-beginning", "--until-end")
    for formatter in ("OffsetsMessageFormatter", "GroupMetadataMessageFormatter", "ShareGroupMessageFormatter"):
        whole = ["--from-beginning", "--formatter", f"org.apache.kafka.tools.consumer.{formatter}"]
        # Kafka's tool joins a group of its own to read: there is always one more.
        expected = kafka.tool("ConsoleConsumer", "--topic", log, "--timeout-ms", "2000", *whole).out
        ours = objects(kafka.run("consume", log, "--until-end", *whole))
        assert set(ours) >= set(objects(expected)), formatter
        assert any(name in each for each in ours) == (formatter != "ShareGroupMessageFormatter")
