"""perf counts what was done, says it as Kafka's own tools say it, and does what their flags ask for."""

from __future__ import annotations

import json
import re
from datetime import datetime
from pathlib import Path

import pytest

from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.perf.consume import java_date
from barnabas.cli.perf.payloads import counting, of_a_file, random_letters
from barnabas.cli.perf.statistics import Statistics, percentile
from tests.cli.beside import Side, run

CLIENTS = ["kafka-python", "confluent-kafka"]
NUMBER = re.compile(r"\d+(\.\d+)?")


def shape(text: str) -> str:
    """Without its numbers."""
    return NUMBER.sub("N", text)


# Pure parts


def statistics(expected: int, said: list[str], times: list[float], **more: bool) -> Statistics:
    clock = iter(times)
    return Statistics(expected, 1000, said.append, clock=lambda: next(clock), **more)


def test_percentiles_are_picked_as_kafka_picks_them() -> None:
    assert [percentile([1, 2, 3, 4], share) for share in (0.0, 0.5, 0.95, 0.999)] == [1, 3, 4, 4]
    assert percentile([], 0.5) == 0


def test_a_total_is_counted_and_said() -> None:
    said: list[str] = []
    counted = statistics(4, said, [0.0, 0.5, 0.5, 2.0])
    counted.add([1, 2], 200)
    counted.add([3, 10], 200)
    counted.add([], 0)
    counted.tell_total()
    (line,) = said
    assert line == (
        "4 records sent, 2.000000 records/sec (0.00 MB/sec), 4.00 ms avg latency, 10.00 ms max latency, "
        "3 ms 50th, 10 ms 95th, 10 ms 99th, 10 ms 99.9th."
    )


def test_windows_are_told_at_their_interval_and_the_steady_state_announced() -> None:
    said: list[str] = []
    counted = statistics(9, said, [0.0, 0.5, 2.0, 2.0, 2.0], is_steady=True)
    counted.add([4], 1 << 20)
    counted.add([6], 1 << 20)
    assert said == [
        "In steady state.",
        "2 records sent, 1.0 records/sec (1.00 MB/sec), 5.0 ms avg latency, 6.0 ms max latency.",
    ]


def test_of_very_many_records_some_are_sampled() -> None:
    said: list[str] = []
    counted = Statistics(5_000_000, 10**9, said.append)
    for start in range(0, 1000, 7):
        counted.add(list(range(start, min(start + 7, 1000))), 0)
    assert counted._samples == list(range(0, 1000, 10))


def test_nothing_sent_is_no_division_by_zero() -> None:
    said: list[str] = []
    Statistics(5, 1000, said.append).tell_total()
    assert said[0].startswith("0 records sent, 0.000000 records/sec")


def test_payloads(tmp_path: Path) -> None:
    letters = random_letters(100)(0, 1000)
    assert {len(each) for each in letters} == {100}
    assert len(set(letters)) == 1000
    assert all(each.isalpha() and each.isupper() for each in letters)
    assert counting(9, 12) == [b"9", b"10", b"11"]
    file = tmp_path / "payloads"
    file.write_text("a\nb\n\nc\n")
    payloads, count = of_a_file(file, "\n")
    assert count == 4
    assert set(payloads(0, 200)) == {b"a", b"b", b"", b"c"}
    assert of_a_file(file, "[\n]+")[1] == 3
    file.write_text("")
    with pytest.raises(CommandFailed, match="is empty"):
        of_a_file(file, "\n")
    with pytest.raises(CommandFailed, match="cannot be read"):
        of_a_file(tmp_path / "none", "\n")


def test_a_date_is_written_as_java_writes_it() -> None:
    seconds = datetime(2026, 1, 2, 3, 4, 5, 67_000).timestamp()
    assert java_date("yyyy-MM-dd HH:mm:ss:SSS")(seconds) == "2026-01-02 03:04:05:067"
    assert java_date("dd/MM/yy 'at' HH'h' ''%")(seconds) == "02/01/26 at 03h '%"
    with pytest.raises(WrongUsage, match="has GG: there are yyyy"):
        java_date("GG")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("produce", "name one topic"),
        ("produce t --num-records 0", "--num-records has to be above 0"),
        ("produce t --num-records 5 --warmup-records 5", "--warmup-records has to be below --num-records"),
        ("produce t --record-size 0", "--record-size has to be above 0"),
        ("produce t --record-size 5 --payload-monotonic", "cannot be given together"),
        ("produce t --reporting-interval 0", "--reporting-interval has to be above 0"),
        ("produce t --transaction-duration-ms 0", "--transaction-duration-ms has to be above 0"),
        ("produce t --throughput 0", "would never send anything"),
        ("produce t --producer-props acks", "acks is no property"),
        ("produce --topic t --producer-props acks=1 --command-property acks=1", "cannot be given together"),
        ("consume", "name one topic: perf consume TOPIC"),
        ("consume t --from-latest", "say how many with --num-records"),
        ("consume --include ( --num-records 1", "is no regular expression"),
        ("consume t --num-records 1 --messages 1", "cannot be given together"),
        ("consume t --date-format GG", "--date-format GG has GG"),
        ("latency", "name one topic: perf latency TOPIC"),
        ("latency t --producer-acks 0", "--producer-acks 0 is neither 1 nor all"),
        ("latency t --num-records 0", "--num-records has to be above 0"),
        ("latency t --record-size=-1", "--record-size -1 is below 0"),
        ("latency t --record-header-size=-2", "--record-header-size -2 is below -1"),
        ("latency b:1 t five all 100", "five is no number"),
    ],
)
def test_wrong_usage(arguments: str, words: str) -> None:
    ran = run("perf", *arguments.split(), "--bootstrap-server", "127.0.0.1:1")
    assert (ran.code, ran.out, ran.err.count("\n")) == (2, "", 1)
    assert words in ran.err


@pytest.mark.parametrize("command", ["produce", "consume", "latency"])
def test_where_no_broker_is(command: str) -> None:
    ran = run("perf", command, "t", "--bootstrap-server", "127.0.0.1:1")
    assert (ran.code, ran.out) == (1, "")
    assert ran.err == (
        f"barnabas perf {command}: 127.0.0.1:1 cannot be reached (Connection refused): is a broker running there?\n"
    )


# With a broker


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_records_are_produced_and_consumed(side: Side, name: str, client: str) -> None:
    side.create(name, 2)
    own = ["--client", client]
    told = side.json("perf produce", name, "--num-records", "2500", "--record-size", "40", *own)
    assert (told["client"], told["records"], told["bytes"], told["failed"]) == (client, 2500, 100_000, 0)
    assert told["records_per_second"] == pytest.approx(2500 / told["seconds"], rel=1e-3)
    assert set(told["latency_ms"]) == {"average", "max", "p50", "p95", "p99", "p99.9"}
    assert sum(int(line.split(":")[2]) for line in side.run("offsets", name).split()) == 2500
    read = side.json("perf consume", name, "--num-records", "2500", *own)
    assert (read["records"], read["mib"]) == (2500, pytest.approx(100_000 / 2**20))
    assert read["seconds"] * 1000 >= read["rebalance_ms"]
    assert side.json("perf consume", name, *own)["records"] == 2500
    late = side.attempt("perf consume", name, "--num-records", "9999", "--timeout", "300", "--hide-header", *own)
    assert "WARNING: Exiting before consuming the expected number of records: timeout (300 ms) exceeded." in late.out
    assert f"Records go through {client}." in late.err


@pytest.mark.slow
def test_a_full_queue_is_filled_again_at_once(ours: Side, name: str) -> None:
    """librdkafka by itself fetches nothing for a second then, many times in these records."""
    ours.create(name)
    ours.run("perf produce", name, "--num-records", "1000000", "--client", "confluent-kafka")

    def seconds(*more: str) -> float:
        told = ours.json("perf consume", name, "--client", "confluent-kafka", *more)
        assert told["records"] == 1_000_000
        return float(told["seconds"])

    assert seconds() + 1 < seconds("--command-property", "fetch.queue.backoff.ms=1000")


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_a_rate_is_kept_to_and_payloads_are_sent(ours: Side, name: str, client: str, tmp_path: Path) -> None:
    ours.create(name)
    own = ["--client", client]
    told = ours.json("perf produce", name, "--num-records", "300", "--throughput", "600", *own)
    assert 0.45 <= told["seconds"] < 5
    file = tmp_path / "payloads"
    file.write_text("red;green;blue")
    out = ours.run(
        *("perf produce", name, "--num-records", "30", "--payload-file", str(file), "--payload-delimiter", ";"),
        *("--warmup-records", "10", "--producer-props", "acks=1", "linger.ms=0", *own),
    )
    assert out.splitlines()[:3] == [
        f"Reading payloads from: {file}",
        "Number of records read: 3",
        "Warmup first 10 records. Steady state results will print after the complete test summary.",
    ]
    assert re.match(r"30 records sent, ", out.splitlines()[3])
    assert re.match(r"\d+ steady state records sent, ", out.splitlines()[4])
    ours.run("perf produce", name, "--num-records", "3", "--payload-monotonic", *own)
    values = ours.run("consume", name, "--until-end").split()[300:]
    assert set(values[:30]) == {"red", "green", "blue"}
    assert values[30:] == ["0", "1", "2"]


@pytest.mark.slow
@pytest.mark.parametrize("client", CLIENTS)
def test_latency_is_measured_record_by_record(side: Side, name: str, client: str) -> None:
    headers = ["--num-headers", "2", "--record-header-key-size", "3", "--record-header-size", "4"]
    out = side.run("perf latency", name, "--num-records", "20", *headers, "--record-key-size", "5", "--client", client)
    first, zeroth, average, percentiles = out.splitlines()
    assert first.startswith(f'Topic "{name}" does not exist. Will create topic with 1 partition(s)')
    assert zeroth.startswith("0\t")
    assert re.fullmatch(r"Avg latency: \d+\.\d{4} ms", average)
    assert re.fullmatch(r"Percentiles: 50th = \d+, 99th = \d+, 99\.9th = \d+", percentiles)
    (record, *_) = [json.loads(line) for line in side.run("consume", name, "--until-end", "--json").splitlines()]
    assert (len(record["key"]), len(record["value"]), len(record["headers"])) == (5, 100, 2)
    told = side.json("perf latency", name, "--num-records", "5", "--client", client)
    assert told["records"] == 5
    assert 0 < told["latency_ms"]["p50"] <= told["latency_ms"]["max"]


@pytest.mark.java
@pytest.mark.slow
def test_lines_are_those_of_kafkas_tools(kafka: Side, name: str) -> None:
    kafka.create(name)
    sending = ["--topic", name, "--num-records", "500", "--record-size", "10", "--throughput", "-1"]
    theirs = kafka.tool("ProducerPerformance", *sending, "--warmup-records", "100").out
    ours = kafka.run("perf produce", *sending, "--warmup-records", "100")
    assert shape(ours) == shape(theirs)
    reading = ["--topic", name, "--num-records", "400"]
    theirs = kafka.tool("ConsumerPerformance", *reading).out
    assert shape(kafka.run("perf consume", *reading)) == shape(theirs)
    theirs = kafka.tool("ConsumerPerformance", *reading, "--show-detailed-stats", "--reporting-interval", "1").out
    ours = kafka.run("perf consume", *reading, "--show-detailed-stats", "--reporting-interval", "1")
    assert shape(ours).splitlines()[:2] == shape(theirs).splitlines()[:2]
    measuring = ["--topic", name, "--num-records", "3", "--producer-acks", "all", "--record-size", "10"]
    theirs = kafka.tool("EndToEndLatency", *measuring).out
    assert shape(kafka.run("perf latency", *measuring)) == shape(theirs)
    transactional = kafka.run("perf produce", *sending, "--transaction-duration-ms", "20")
    assert transactional.startswith("500 records sent")
    metrics = kafka.run("perf produce", *sending, "--print-metrics", "--client", "kafka-python")
    assert "record-send-rate" in metrics
