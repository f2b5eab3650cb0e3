"""Every option that Kafka's tools for records have is one of ours; and what a person at a terminal sees."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from barnabas.cli.commands import Command, find
from barnabas.cli.main import parser_of
from tests.broker.running import RunningNode
from tests.cli.beside import Side, run
from tests.readable import readable

PATIENCE_S = 20

TOOLS = {
    "kafka-console-producer": "ConsoleProducer",
    "kafka-console-consumer": "ConsoleConsumer",
    "kafka-producer-perf-test": "ProducerPerformance",
    "kafka-consumer-perf-test": "ConsumerPerformance",
    "kafka-e2e-latency": "EndToEndLatency",
}
OF_EVERY_COMMAND = {"--help", "--version"}
"""--version is asked of `barnabas` itself."""


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("tool", TOOLS)
def test_each_option_of_kafkas_tool_is_there(kafka: Side, tool: str) -> None:
    told = kafka.tool(TOOLS[tool], "--help")
    text = told.out + told.err
    theirs = set(re.findall(r"^ *(--[a-z][a-z.-]+)", text, re.MULTILINE)) - OF_EVERY_COMMAND
    assert len(theirs) > 8, text
    name, command, _ = find([f"{tool}.sh"])
    assert isinstance(command, Command)
    parser = parser_of(name, command)
    assert theirs - set(parser._option_string_actions) == set()


@contextmanager
def terminal(*arguments: str) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """A command whose input, output and errors are a terminal, and the other end of it."""
    ours, its = pty.openpty()
    environment = {name: value for name, value in os.environ.items() if name != "NO_COLOR"} | {"TERM": "xterm"}
    process = subprocess.Popen(
        [sys.executable, "-m", "barnabas.cli", *arguments], stdin=its, stdout=its, stderr=its, env=environment
    )
    os.close(its)
    try:
        yield process, ours
    finally:
        if process.poll() is None:
            process.kill()
        process.wait()
        os.close(ours)


def read_until(screen: int, expected: bytes) -> bytes:
    """What came up to then."""
    came = b""
    give_up_s = time.monotonic() + PATIENCE_S
    while expected not in came:
        assert readable(screen, within_s=give_up_s - time.monotonic()), f"{expected!r} did not come: {came!r}"
        try:
            part = os.read(screen, 4096)
        except OSError:
            part = b""
        assert part, f"it ended without {expected!r}: {came!r}"
        came += part
    return came


@pytest.fixture(scope="module")
def node(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("node")) as running:
        yield running


@pytest.mark.slow
def test_a_person_types_records_and_sees_them(node: RunningNode) -> None:
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "typed", *at)
    with terminal("produce", "typed", "--property", "parse.key=true", "--property", "key.separator==", *at) as (
        producer,
        screen,
    ):
        read_until(screen, b">")
        os.write(screen, b'alice={"id": 3, "name": "\\u001b[2J"}\n')
        read_until(screen, b">")
        os.write(screen, b"\x04")
        read_until(screen, b"1 records are in typed.")
        assert producer.wait(PATIENCE_S) == 0
    with terminal("consume", "typed", "--from-beginning", *at) as (consumer, screen):
        came = read_until(screen, b"\r\n}\r\n").decode()
        assert "\x1b[2mtyped-0 @ 0  20" in came
        assert "\x1b[2mkey\x1b[0m alice" in came
        assert '  \x1b[36m"id"\x1b[0m: \x1b[33m3\x1b[0m,\r\n' in came
        assert '\x1b[32m"\\u001b[2J"\x1b[0m' in came
        assert "\x1b[2J" not in came
        # The terminal is not its own, as a shell would make it, so that Ctrl-C does not reach it.
        consumer.send_signal(signal.SIGINT)
        read_until(screen, b"Processed a total of 1 messages")
        assert consumer.wait(PATIENCE_S) == 130


@pytest.mark.slow
def test_a_file_has_a_bar(node: RunningNode, tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("files") / "many.txt"
    file.write_text("a line of a file\n" * 20_000)
    at = ["--bootstrap-server", node.bootstrap]
    run("topics", "create", "filed", *at)
    with terminal("produce", "filed", "--file", str(file), "--client", "confluent-kafka", *at) as (producer, screen):
        came = read_until(screen, b"20,000 records are in filed.")
        assert re.search(rb"\rmany\.txt \[#*\.*\] +\d+%, [\d,]+/s", came)
        assert producer.wait(PATIENCE_S) == 0
    with terminal("records", "replay", "filed", "filed", "--yes", "--max-messages", "9000", *at) as (replay, screen):
        came = read_until(screen, b"filed:0:9000")
        assert b"\rfiled to filed [" in came
        assert replay.wait(PATIENCE_S) == 0
    with terminal("records", "replay", "filed", "filed", *at) as (replay, screen):
        read_until(screen, b"Replay filed into itself, so that its records are in it twice? [y/N] ")
        os.write(screen, b"n\n")
        read_until(screen, b"Nothing was done: it was not confirmed.")
        assert replay.wait(PATIENCE_S) == 1
