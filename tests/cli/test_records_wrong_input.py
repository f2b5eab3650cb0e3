"""What produce and consume say of what cannot be done: one sentence, an exit code, and nothing that hangs."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.broker.running import RunningNode
from tests.cli.beside import Side, run
from tests.clients.waiting import wait_until

PATIENCE_S = 30


def refused(*arguments: str, stdin: str | bytes = "") -> tuple[int, str]:
    ran = run(*arguments, stdin=stdin)
    assert ran.code in (1, 2), ran
    assert ran.out == ""
    sentence = ran.err.strip().splitlines()[-1]
    assert "Traceback" not in ran.err
    return ran.code, sentence


@contextmanager
def listening(answer: bytes) -> Iterator[str]:
    """A port on which something else than Kafka answers whatever it is asked, or nothing."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        kept = []

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                connection.recv(4096)
                if answer:
                    connection.sendall(answer)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        yield f"127.0.0.1:{server.getsockname()[1]}"
        server.shutdown(socket.SHUT_RDWR)
    thread.join()
    for connection in kept:
        connection.close()


@pytest.mark.parametrize("command", [["produce", "t"], ["consume", "t"]])
def test_where_no_broker_is(command: list[str]) -> None:
    code, sentence = refused(*command, "--bootstrap-server", "127.0.0.1:1")
    assert (code, sentence) == (
        1,
        f"barnabas {command[0]}: 127.0.0.1:1 cannot be reached (Connection refused): is a broker running there?",
    )
    with listening(b"HTTP/1.1 400 Bad Request\r\n\r\n") as web:
        assert "is a web server and no Kafka broker" in refused(*command, "--bootstrap-server", web)[1]
    with listening(b"\x15\x03\x03\x00\x02\x02\x50") as tls:
        assert "speaks TLS: set security.protocol=SSL" in refused(*command, "--bootstrap-server", tls)[1]
    silence = ["--max-block-ms", "200"] if command[0] == "produce" else ["--timeout", "0.2"]
    with listening(b"") as silent:
        began = time.monotonic()
        assert "does not answer ApiVersions in 0." in refused(*command, *silence, "--bootstrap-server", silent)[1]
        assert time.monotonic() - began < 5


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("produce", "name one topic: produce TOPIC"),
        ("produce a b", "name one topic, and not 2"),
        ("produce a --topic b", "name one topic, and not 2"),
        ("produce a --property x=1", "there is no reader property x: there are headers.delimiter,"),
        ("produce a --property parse.key=1 --reader-property parse.key=1", "cannot be given together"),
        ("produce a --producer-property a=1 --command-property a=1", "--command-property and --producer-property"),
        ("produce a --producer.config f --command-config f", "--command-config and --producer.config cannot be"),
        ("produce a --line-reader com.example.Mine", "com.example.Mine is a class of Java's"),
        ("produce a --compression-codec zip", "there is no compression zip: there are none, gzip,"),
        ("produce a --request-required-acks 2", "acks=2 is none of 0, 1, -1, all"),
        ("produce a --batch-size many", "batch.size=many has to be a number"),
        ("produce a --header h", "--header h is not NAME=TEXT"),
        ("produce a --timestamp soon", "--timestamp soon is no time"),
        ("produce a --value v --file f", "--value and --file cannot be given together"),
        ("consume", "name one topic: consume TOPIC, or --include PATTERN"),
        ("consume a --include b", "name one topic"),
        ("consume --include (", "--include ( is no regular expression"),
        ("consume a --offset 3", "--offset is for one partition: name it with --partition"),
        ("consume a --partition 0-1 --offset 3", "--offset is for one partition"),
        ("consume a --partition 0 --offset=-3", "--offset -3 is none of earliest, latest, or a number"),
        (
            "consume a --partition 0 --offset 3 --from-beginning",
            "--from-beginning and --offset cannot be given together",
        ),
        ("consume a --partition x", "--partition x is no number, nor several"),
        ("consume a --partition 0 --group g", "--group and --partition cannot be given together"),
        ("consume --include a --partition 0", "--partition is for one topic"),
        ("consume a --group g --command-property group.id=h", "the group is g in one place and h in another"),
        ("consume a --from-beginning --consumer-property auto.offset.reset=latest", "cannot be given together"),
        ("consume a --consumer-property isolation.level=none", "isolation.level=none is neither"),
        ("consume a --consumer-property group.protocol=consumer", "is not spoken by kafka-python"),
        ("consume a --consumer-property fetch.min.bytes=x", "fetch.min.bytes=x has to be a number"),
        ("consume a --formatter com.example.Mine", "com.example.Mine is a class of Java's"),
        ("consume a --value-deserializer com.example.Mine", "com.example.Mine is a class of Java's"),
        ("consume a --where import", "--where import is no condition"),
        ("consume a --tail 0", "--tail 0 is no number above 0"),
        ("consume a --tail 1 --group g", "--tail is for a topic that is read without --group"),
        ("consume a --follow", "--follow goes with --tail"),
        ("consume a --until 2099-01-01", "--until lies ahead"),
        ("consume a --pretty --json", "--pretty and --json cannot be given together"),
    ],
)
def test_wrong_usage_is_seen_before_anybody_is_asked(arguments: str, words: str) -> None:
    code, sentence = refused(*arguments.split(), "--bootstrap-server", "127.0.0.1:1")
    if "fetch.min.bytes" not in arguments:
        assert words in sentence
        assert code == 2
        assert sentence.endswith(f"See barnabas {arguments.split()[0]} --help.")


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("node"), auto_create_topics_enable="false") as running:
        yield running


def test_unknown_topics_partitions_and_files(node: RunningNode, tmp_path: Path) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    assert run("topics", "create", "orders", *at).code == 0
    for command in ("produce", "consume"):
        code, sentence = refused(command, "ordres", *at)
        assert (code, sentence.partition(": ")[2]) == (
            1,
            (
                "There is no topic ordres: is orders meant? barnabas topics lists them, and barnabas topics create "
                "ordres makes it."
            ),
        )
    assert refused("consume", "orders", "--partition", "9", *at)[1].endswith(
        "orders has no partition 9: they are 0 to 0 (barnabas topics --describe)."
    )
    assert refused("produce", "orders", "--partition", "9", *at)[0] == 2
    missing = str(tmp_path / "missing")
    assert refused("produce", "orders", "--file", missing, *at)[1].endswith(
        f"{missing} cannot be used (No such file or directory): check the path."
    )
    assert refused("consume", "orders", "--command-config", missing, *at)[0] == 1


def test_a_bad_line_ends_it_and_what_came_before_is_sent(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "lines", *at)
    ran = run("produce", "lines", "--format", "json", "--json", *at, stdin='{"value": "a"}\n{"value": "b"}\nnonsense\n')
    assert ran.code == 1
    assert json.loads(ran.out) | {"bytes": 0} == {
        "topic": "lines",
        "sent": 2,
        "bytes": 0,
        "failed": 0,
        "unknown": 0,
        "skipped": 0,
    }
    assert ran.err.startswith("barnabas produce: Line 3 is no JSON (")
    ran = run(
        *("produce", "lines", "--format", "json", "--property", "ignore.error=true", "--json"),
        *at,
        stdin='nonsense\n{"value": "c"}\n',
    )
    assert (ran.code, json.loads(ran.out)["skipped"]) == (0, 1)
    assert "1 lines were skipped; the first: Line 1 is no JSON" in ran.err
    assert run("consume", "lines", "--until-end", *at).out.split() == ["a", "b", "c"]


@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_what_the_broker_refuses_is_told(node: RunningNode, client: str) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    topic = f"small-{client}"
    run("topics", "create", topic, "--config", "max.message.bytes=200", *at)
    ran = run("produce", topic, "--client", client, "--sync", *at, stdin="x" * 1000)
    assert ran.code == 1
    assert ran.err == (
        "barnabas produce: 1 of 1 records were not taken: A record is larger than the topic's max.message.bytes "
        "allows; send less, or raise it [MESSAGE_TOO_LARGE].\n"
    )
    ran = run("produce", topic, "--client", client, *at, stdin="x" * 2_000_000)
    assert (ran.code, "[MESSAGE_TOO_LARGE]" in ran.err) == (1, True)
    run("topics", "create", f"compact-{client}", "--config", "cleanup.policy=compact", *at)
    ran = run("produce", f"compact-{client}", "--client", client, *at, stdin="no key\n")
    assert ran.code == 1
    assert "a compacted topic wants each to have a key [INVALID_RECORD]" in ran.err


def test_what_cannot_be_shown_is_told(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "shown", *at)
    run("produce", "shown", *at, stdin="abcd\nabc\nefgh\n")
    deserializer = ["--value-deserializer", "IntegerDeserializer"]
    ran = run("consume", "shown", "--until-end", *deserializer, *at)
    assert (ran.code, ran.out) == (1, "1633837924\n")
    assert ran.err.splitlines() == [
        "Processed a total of 1 messages",
        (
            "barnabas consume: The record of shown-0 at offset 1 cannot be shown: 3 bytes are no integer, which has 4. "
            "--skip-message-on-error passes over it."
        ),
    ]
    ran = run("consume", "shown", "--until-end", "--skip-message-on-error", *deserializer, *at)
    assert (ran.code, ran.out) == (0, "1633837924\n1701209960\n")
    ran = run("consume", "shown", "--until-end", "--enable-systest-events", "--property", "print.keys=true", *at)
    assert ran.out.splitlines()[-1] == "shutdown_complete"
    assert "The formatter has no property print.keys: ignored." in ran.err


def process(*arguments: str, node: RunningNode) -> subprocess.Popen[bytes]:
    command = [sys.executable, "-m", "barnabas.cli", *arguments, "--bootstrap-server", node.bootstrap]
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=dict(os.environ),
        # What a shell starts with & ignores Ctrl-C, and so would what tests start there.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )


@pytest.mark.slow
@pytest.mark.parametrize(("number", "code"), [(signal.SIGINT, 130), (signal.SIGTERM, 143)])
def test_an_interrupted_consumer_says_how_much_it_was_and_commits(node: RunningNode, number: int, code: int) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    topic = f"interrupted-{code}"
    run("topics", "create", topic, *at)
    run("produce", topic, *at, stdin="a\nb\nc\n")
    with process("consume", topic, "--group", topic, "--from-beginning", node=node) as consumer:
        assert consumer.stdout is not None
        assert [consumer.stdout.readline() for _ in range(3)] == [b"a\n", b"b\n", b"c\n"]
        consumer.send_signal(number)
        _, err = consumer.communicate(timeout=PATIENCE_S)
    assert (consumer.returncode, err) == (code, b"Processed a total of 3 messages\n")
    run("produce", topic, *at, stdin="d\n")
    assert run("consume", topic, "--group", topic, "--until-end", *at).out == "d\n"


@pytest.mark.slow
def test_a_reader_that_goes_is_no_matter(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "piped", *at)
    run("produce", "piped", *at, stdin="x" * 99 + "\n" + ("y" * 999 + "\n") * 3000)
    with process("consume", "piped", "--from-beginning", node=node) as consumer:
        assert consumer.stdout is not None
        assert len(consumer.stdout.readline()) == 100
        consumer.stdout.close()
        assert consumer.stderr is not None
        assert consumer.stderr.read() == b""
        assert consumer.wait(PATIENCE_S) == 1


@pytest.mark.slow
def test_an_interrupted_producer_has_sent_what_it_read(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "typed", *at)
    with process("produce", "typed", node=node) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"a\n")
        producer.stdin.flush()
        assert run("consume", "typed", "--from-beginning", "--max-messages", "1", *at).out == "a\n"
        producer.send_signal(signal.SIGINT)
        _, err = producer.communicate(timeout=PATIENCE_S)
    assert (producer.returncode, err) == (130, b"")


@pytest.mark.slow
def test_an_interruption_does_not_hide_that_records_were_refused(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "compacted", "--config", "cleanup.policy=compact", *at)
    with process("produce", "compacted", node=node) as producer:
        assert producer.stdin is not None
        producer.stdin.write(b"a record without a key\n" * 100_000)
        producer.stdin.flush()
        producer.send_signal(signal.SIGINT)
        _, err = producer.communicate(timeout=PATIENCE_S)
    assert producer.returncode == 130
    assert b"records were not taken: The topic does not take such a record" in err


@pytest.mark.slow
@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_a_broker_that_dies_ends_a_producer_and_a_consumer(tmp_path: Path, client: str) -> None:
    with RunningNode(tmp_path) as node:
        at = ["--bootstrap-server", node.bootstrap]
        run("topics", "create", "t", *at)
        quick = ["--command-property", "delivery.timeout.ms=2000", "--request-timeout-ms", "1000"]
        producer = process("produce", "t", "--client", client, *quick, node=node)
        consumer = process("consume", "t", "--timeout", "1", "--from-beginning", node=node)
        with producer, consumer:
            assert producer.stdin is not None
            assert consumer.stdout is not None
            producer.stdin.write(b"a\n")
            producer.stdin.flush()
            assert consumer.stdout.readline() == b"a\n"
            node.kill()
            out, err = producer.communicate(b"b\n", timeout=PATIENCE_S)
            assert (producer.returncode, out) == (1, b"")
            assert err.startswith(b"barnabas produce: 1 of 2 records were not taken: "), err
            assert err.count(b"\n") == 1
            out, err = consumer.communicate(timeout=PATIENCE_S)
        assert consumer.returncode == 1
        first, count, last = err.decode().splitlines()
        assert first.endswith(
            "cannot be reached (Connection refused): is a broker running there? Trying again for 1 s."
        )
        assert count == "Processed a total of 1 messages"
        assert last.startswith("barnabas consume: ")
        assert last.endswith("is a broker running there?")


@pytest.mark.slow
def test_a_topic_that_is_deleted_ends_its_consumer(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "gone", *at)
    run("produce", "gone", *at, stdin="a\n")
    with process("consume", "gone", "--from-beginning", node=node) as consumer:
        assert consumer.stdout is not None
        assert consumer.stdout.readline() == b"a\n"
        assert run("topics", "delete", "gone", *at).code == 0
        _, err = consumer.communicate(timeout=PATIENCE_S)
    assert consumer.returncode == 1
    assert err.decode().splitlines()[-1] == "barnabas consume: The topic gone has been deleted meanwhile."


def test_a_topic_that_is_not_there_is_made_where_the_broker_makes_topics(ours: Side, name: str) -> None:
    ran = ours.attempt("produce", name, stdin="a\n")
    assert (ran.code, ran.err) == (0, f"The topic {name} was not there: the broker made it.\n")
    assert ours.run("consume", name, "--until-end") == "a\n"


@pytest.mark.slow
@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_a_broker_that_dies_ends_perf_and_replay(tmp_path: Path, client: str) -> None:
    with RunningNode(tmp_path) as node:
        at = ["--bootstrap-server", node.bootstrap]
        run("topics", "create", "t", *at)
        run("topics", "create", "copy", *at)
        run("perf", "produce", "t", "--num-records", "500", *at)
        quick = ["delivery.timeout.ms=2000", "request.timeout.ms=1000"]
        perf = process(
            *("perf", "produce", "--topic", "t", "--throughput", "100", "--num-records", "300", "--client", client),
            *("--reporting-interval", "100", "--command-property", *quick),
            node=node,
        )
        replay = process(
            *("records", "replay", "t", "copy", "--rate", "100", "--client", client, "--timeout", "1"),
            *(part for each in quick for part in ("--producer-property", each)),
            node=node,
        )
        with perf, replay:
            assert perf.stdout is not None
            assert b"records sent" in perf.stdout.readline()
            wait_until(lambda: "copy:0:0" not in run("offsets", "copy", *at).out, "something to be replayed")
            node.kill()
            out, err = replay.communicate(timeout=PATIENCE_S)
            assert replay.returncode == 1
            _, place = out.decode().splitlines()
            assert 0 < int(place.removeprefix("t:0:")) < 500
            assert f"To go on: --from-offsets 0:{place.removeprefix('t:0:')}" in err.decode()
            assert err.decode().splitlines()[-1].startswith("barnabas records replay: ")
            _, err = perf.communicate(timeout=PATIENCE_S)
        assert perf.returncode == 1
        assert " records were not taken: " in err.decode().splitlines()[-1]


@pytest.mark.slow
def test_a_range_of_no_topic_ends(node: RunningNode) -> None:
    ran = run(
        "consume", "--include", "no-such-.*", "--until-end", "--timeout", "0.5", "--bootstrap-server", node.bootstrap
    )
    assert ran.code == 1
    assert "No partition came to this consumer in 0.5 s, so that it has no end: no topic matches" in ran.err
