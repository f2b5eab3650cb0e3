"""Every command of the table where its broker is not there, is silent, or is something else, and with wrong options.

The commands are read off COMMANDS: one that is added there is tried here by itself, with no words or with those that
WORDS gives it, and so has to end with one sentence, in time.
"""

from __future__ import annotations

import json
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from barnabas.cli.commands import COMMANDS, Command, Group
from barnabas.cli.main import parser_of
from barnabas.testing import Broker
from tests.cli.beside import Ran, run
from tests.kafka.broker import free_ports

TIMEOUT_S = 0.1
BRIEFLY_S = 5.0
"""Long on a machine that does other things, and short beside the 30 seconds of each question."""

HTTP_ANSWER = b"HTTP/1.0 400 Bad request syntax\r\nContent-Length: 0\r\n\r\n"
TLS_ALERT = b"\x15\x03\x03\x00\x02\x02\x50"


def commands() -> dict[str, Command]:
    found: dict[str, Command] = {}
    for name, entry in COMMANDS.items():
        if isinstance(entry, Group):
            found |= {f"{name} {inner}": command for inner, command in entry.commands.items()}
        else:
            found[name] = entry
    return found


ALL = commands()

WORDS: dict[str, list[list[str]]] = {
    "topics": [
        ["list"],
        ["describe", "--offsets"],
        ["create", "orders"],
        ["alter", "orders", "--partitions", "9"],
        ["delete", "orders", "--yes"],
    ],
    "produce": [["orders", "--value", "1"]],
    "consume": [["orders"], ["--include", "o.*"], ["orders", "--group", "g"]],
    "groups": [
        ["list"],
        ["list", "--state"],
        ["list", "--share"],
        ["describe", "g"],
        ["describe", "--all-groups", "--members"],
        ["describe", "--share", "g"],
        ["describe", "--streams", "g"],
        ["lag"],
        ["delete", "g", "--yes"],
        ["reset-offsets", "g", "--to-earliest", "--topic", "orders", "--dry-run"],
        ["delete-offsets", "g", "--topic", "orders", "--yes"],
    ],
    "configs": [["describe", "topics"], ["alter", "topic", "orders", "retention.ms=1"]],
    "quotas": [["list"], ["set", "--user", "alice", "produce=1k"], ["remove", "--user", "alice", "--yes"]],
    "offsets": [[], ["orders", "--time", "earliest"]],
    "records delete": [["orders", "--all", "--yes"], ["--offset-json-file", "{offsets}", "--yes"]],
    "records replay": [["orders", "copies"]],
    "mirror": [["orders", "--to-bootstrap-server", "localhost:9", "--catch-up"]],
    "cluster unregister": [["3", "--yes"]],
    "cluster features": [["describe"], ["upgrade", "--release-version", "4.2"]],
    "cluster quorum": [["describe", "--status"], ["describe", "--replication"]],
    "cluster elect": [["preferred", "--all-topic-partitions"]],
    "cluster reassign": [["--list"], ["--verify", "--reassignment-json-file", "{reassignment}"]],
    "acls": [
        ["list"],
        ["add", "--allow-principal", "User:a", "--topic", "t", "--operation", "Read"],
        ["remove", "--topic", "t", "--yes"],
    ],
    "transactions": [
        ["list"],
        ["describe", "--transactional-id", "t"],
        ["find-hanging", "--broker-id", "1"],
        ["describe-producers", "--topic", "t", "--partition", "0"],
    ],
    "client-metrics": [["list"], ["describe", "--name", "m"], ["delete", "--name", "m"]],
    "perf consume": [["orders", "--num-records", "1"]],
    "perf latency": [["orders", "--num-records", "1"]],
    "perf produce": [["orders", "--num-records", "1", "--record-size", "1", "--throughput", "-1"]],
}
"""With which a command asks its cluster; those of Kafka's flags that mean the same need no place here."""


def timeout_of(name: str) -> str:
    """The option for each question's time: where --timeout is Kafka's and means something else, it has another name."""
    found = [action for action in parser_of(name, ALL[name])._actions if action.dest == "timeout"]
    return found[0].option_strings[0]


def options_of(name: str) -> set[str]:
    return {option for action in parser_of(name, ALL[name])._actions for option in action.option_strings}


OTHERS = ("doctor", "pipeline new")
"""doctor is for clusters that are not there, and says more than a sentence; pipeline new writes the address down."""
ASKING = [name for name in ALL if "--bootstrap-server" in options_of(name) and name not in OTHERS]

CASES = [
    pytest.param(name, words, id="-".join([*name.split(), *words[:2]]) or name)
    for name in ASKING
    for words in WORDS.get(name, [[]])
]


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    directory = tmp_path_factory.mktemp("files")
    partition = {"topic": "orders", "partition": 0}
    contents = {
        "offsets": {"version": 1, "partitions": [partition | {"offset": 1}]},
        "reassignment": {"version": 1, "partitions": [partition | {"replicas": [1]}]},
    }
    for name, content in contents.items():
        (directory / name).write_text(json.dumps(content))
    return {name: directory / name for name in contents}


@contextmanager
def answering(answer: bytes) -> Iterator[int]:
    """The port of something that says `answer` to whatever it hears, or for ever nothing."""
    kept: list[socket.socket] = []
    with socket.create_server(("127.0.0.1", 0)) as server:

        def serve() -> None:
            while True:
                try:
                    connection, _ = server.accept()
                except OSError:
                    return
                kept.append(connection)
                if answer and connection.recv(4096):
                    connection.sendall(answer)
                    connection.shutdown(socket.SHUT_WR)

        thread = threading.Thread(target=serve, daemon=True)
        thread.start()
        try:
            yield server.getsockname()[1]
        finally:
            server.shutdown(socket.SHUT_RDWR)
            thread.join()
            for connection in kept:
                connection.close()


@pytest.fixture(scope="module")
def web_port() -> Iterator[int]:
    with answering(HTTP_ANSWER) as port:
        yield port


@pytest.fixture(scope="module")
def tls_port() -> Iterator[int]:
    with answering(TLS_ALERT) as port:
        yield port


@pytest.fixture(scope="module")
def silent_port() -> Iterator[int]:
    with answering(b"") as port:
        yield port


Ask = Callable[[str, list[str], int], Ran]


@pytest.fixture
def ask(files: dict[str, Path]) -> Ask:
    def asked(name: str, words: list[str], port: int) -> Ran:
        filled = [word.format(**files) if word[:1] == "{" else word for word in words]
        timeout = timeout_of(name)
        where = ["--bootstrap-server", f"127.0.0.1:{port}", timeout, str(TIMEOUT_S)]
        began = time.monotonic()
        ran = run(*name.split(), *filled, *where)
        assert time.monotonic() - began < BRIEFLY_S
        return ran

    return asked


SAID_FIRST = {"Calling describe token operation for current user."}
SAID_LAST = {"Processed a total of 0 messages"}
"""By Kafka's tools, and so by ours."""


def assert_one_sentence(ran: Ran, name: str, *words: str) -> None:
    assert ran.code == 1, ran
    assert set(ran.out.splitlines()) <= SAID_FIRST
    (line,) = [line for line in ran.err.splitlines() if line not in SAID_LAST]
    assert line.startswith(f"barnabas {name}: ")
    assert line.endswith((".", "?"))
    for word in words:
        assert word in line


@pytest.mark.parametrize(("name", "words"), CASES)
def test_nobody_is_there(name: str, words: list[str], ask: Ask) -> None:
    (port,) = free_ports(1)
    assert_one_sentence(ask(name, words, port), name, f"127.0.0.1:{port} cannot be reached", "is a broker running")


@pytest.mark.parametrize(("name", "words"), CASES)
def test_nothing_is_answered(name: str, words: list[str], ask: Ask, silent_port: int) -> None:
    assert_one_sentence(ask(name, words, silent_port), name, "does not answer", "another port")


@pytest.mark.parametrize(("name", "words"), CASES)
def test_a_web_server_answers(name: str, words: list[str], ask: Ask, web_port: int) -> None:
    assert_one_sentence(ask(name, words, web_port), name, "is a web server", "check the port")


@pytest.mark.parametrize(("name", "words"), CASES)
def test_tls_answers(name: str, words: list[str], ask: Ask, tls_port: int) -> None:
    assert_one_sentence(ask(name, words, tls_port), name, "speaks TLS", "security.protocol=SSL", "--command-config")


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize(
    "address", ["nowhere", "localhost:port", ":9092", "localhost:99999", ",", "[::1", "a..b:1", "\u00f6..b:1"]
)
def test_an_address_that_is_none(name: str, address: str) -> None:
    words = WORDS.get(name, [[]])[0]
    ran = run(*name.split(), *words, "--bootstrap-server", address, timeout_of(name), "1")
    assert_one_sentence(ran, name)


@pytest.mark.parametrize("name", ASKING)
def test_a_file_of_properties_that_is_not_there(name: str, tmp_path: Path) -> None:
    words = WORDS.get(name, [[]])[0]
    for path in (tmp_path / "none", tmp_path):
        ran = run(*name.split(), *words, "--command-config", str(path))
        assert_one_sentence(ran, name, str(path), "cannot be read")


@pytest.mark.parametrize("name", ALL)
def test_an_option_that_is_none(name: str) -> None:
    ran = run(*name.split(), "--no-such-option")
    assert (ran.code, ran.out) == (2, "")
    assert ran.err.startswith(f"barnabas {name}: ")
    assert ran.err.endswith(f" See barnabas {name} --help.\n")
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("name", ALL)
def test_help_is_there(name: str) -> None:
    ran = run(*name.split(), "--help")
    assert (ran.code, ran.err) == (0, "")
    assert ran.out.startswith(f"usage: barnabas {name} ")


@pytest.mark.parametrize("name", ASKING)
@pytest.mark.parametrize("timeout", ["0", "-1", "nan", "inf", "soon", "", "1e99"])
def test_a_time_that_is_none(name: str, timeout: str) -> None:
    ran = run(*name.split(), timeout_of(name), timeout)
    assert (ran.code, ran.out) == (2, "")
    assert "seconds above 0" in ran.err


@pytest.fixture(scope="module")
def broker() -> Iterator[Broker]:
    with Broker() as broker:
        broker.create_topic("orders")
        yield broker


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (["topics", "create", "caf\udce9"], "caf\\udce9 is no text: Kafka's names and values are in UTF-8."),
        (["topics", "create", "a" * 40_000], "A name or value is too long for CreateTopics: "),
        (
            ["topics", "create", "a", "--partitions", "99999999999"],
            "A number is too large or too small for CreateTopics",
        ),
        (["groups", "describe", "caf\udce9"], "caf\\udce9 is no text"),
    ],
)
def test_what_kafkas_protocol_has_no_room_for(words: list[str], sentence: str, broker: Broker) -> None:
    ran = run(*words, "--bootstrap-server", broker.bootstrap_servers)
    assert_one_sentence(ran, words[0], sentence)


HOSTILE_JSON = {
    "nothing": b"",
    "half": b'{"partitions": [',
    "bytes": b"\xff\xfe",
    "deep": b"[" * 100_000,
    "digits": b"1" * 5000,
    "list": b"[]",
    "null": b'{"version": 1, "partitions": null, "topics": null}',
    "types": b'{"version": 1, "partitions": [{"topic": 1, "partition": "0", "offset": null, "replicas": 1}],'
    b'"topics": [1]}',
    "fractions": b'{"version": 1, "partitions": [{"topic": "t", "partition": 0.5, "offset": 1.5, "replicas": [0.5]}],'
    b'"topics": [{"topic": 0.5}]}',
}


@pytest.mark.parametrize("content", HOSTILE_JSON)
@pytest.mark.parametrize(
    "command",
    [
        "records delete --yes --offset-json-file",
        "cluster elect preferred --path-to-json-file",
        "cluster reassign --verify --reassignment-json-file",
        "cluster reassign --execute --reassignment-json-file",
        "cluster reassign --generate --broker-list 1 --topics-to-move-json-file",
    ],
)
def test_a_file_that_is_not_the_json_that_is_wanted(command: str, content: str, broker: Broker, tmp_path: Path) -> None:
    file = tmp_path / "file.json"
    file.write_bytes(HOSTILE_JSON[content])
    ran = run(*command.split(), str(file), "--bootstrap-server", broker.bootstrap_servers)
    assert_one_sentence(ran, command.partition(" -")[0].removesuffix(" preferred"))


@pytest.mark.parametrize(
    ("line", "sentence"),
    [
        ("topics describe nothere", "There is no topic nothere"),
        ("groups describe nothere", "There is no group nothere"),
        ("groups reset-offsets g --topic orders --by-duration P9999999999Y", "is no duration"),
        ("configs describe nothing", "nothing cannot be configured: there are topics"),
        ("configs alter user a SCRAM-SHA-256=[iterations=999999999999,password=x]", "takes 16384 iterations at most"),
        ("consume not!a!name", "No topic can have that name"),
        ("consume orders --partition 5-1", "names none: write the smaller number first"),
        ("consume orders --tail 99999999999999999999", "is more than there can be"),
        ("produce not!a!name --value x", "No topic can have that name"),
        ("produce orders --value x --request-timeout-ms 0", "has to be above 0"),
        ("produce orders --value x --batch-size -1", "has to be a number from 0 on"),
        ("perf produce orders --num-records 1 --record-size 99999999999 --throughput -1", "more than any broker takes"),
        ("offsets orders --time 99999999999999999999999", "A number is too large or too small for ListOffsets"),
    ],
)
def test_what_cannot_be_is_said_in_one_sentence(line: str, sentence: str, broker: Broker) -> None:
    ran = run(*line.split(), "--bootstrap-server", broker.bootstrap_servers)
    assert ran.code in (1, 2)
    assert sentence in ran.err
    assert ran.err.count("\n") == 1


@pytest.mark.parametrize("client", ["kafka-python", "confluent-kafka"])
def test_a_record_that_is_too_large_is_said_at_once_by_perf(client: str, broker: Broker) -> None:
    words = "perf produce orders --num-records 1 --record-size 2000000 --throughput -1 --client"
    ran = run(*words.split(), client, "--bootstrap-server", broker.bootstrap_servers)
    assert ran.code == 1
    assert "A record is larger than the topic's max.message.bytes allows" in ran.err


def test_a_reset_to_before_1970_is_one_to_the_beginning(broker: Broker) -> None:
    broker.create_topic("old")
    broker.produce("old", "1")
    words = "groups reset-offsets g --topic old --by-duration P99999999D --json --dry-run"
    ran = run(*words.split(), "--bootstrap-server", broker.bootstrap_servers)
    assert (ran.code, json.loads(ran.out)["offsets"][0]["new_offset"]) == (0, 0)
