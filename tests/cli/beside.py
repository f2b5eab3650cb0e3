"""Our commands on a broker of ours and on Apache Kafka, and Kafka's own tools on both.

The fixtures are for every test in this directory (conftest.py names them):
`ours` and `kafka` are the two clusters, one each for the session, so use names of your own (`name`);
`side` is either: the test runs once with each;
`both` is the two together, for what has to come out the same.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys
from collections.abc import Callable, Iterator
from itertools import count
from typing import Any, NamedTuple, Protocol

import pytest

from barnabas.cli.main import main
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from compat.kafka_tools.tools import Tools
from tests.broker import asking
from tests.clients.broker_process import BrokerProcess
from tests.clients.raw_records import EARLIEST
from tests.clients.waiting import wait_until
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient
from tests.kafka.tool_runner import ToolRunner

__all__ = ["Both", "Ran", "Side", "both", "kafka", "name", "our_broker", "ours", "run", "side"]


class Broker(Protocol):
    """What is common to a BrokerProcess of ours and a KafkaBroker."""

    host: str
    port: int

    @property
    def bootstrap(self) -> str: ...


class Ran(NamedTuple):
    """How a command ended, and what it said."""

    code: int
    out: str
    err: str


def run(*arguments: str, stdin: str | bytes = "") -> Ran:
    """`barnabas` with these arguments, in this process; neither its input nor its output is a terminal."""
    data = stdin.encode() if isinstance(stdin, str) else stdin
    out, err = (io.TextIOWrapper(io.BytesIO(), "utf-8", newline="", write_through=True) for _ in range(2))
    before, sys.stdin = sys.stdin, io.TextIOWrapper(io.BytesIO(data), "utf-8")
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                code = main(arguments)
            except SystemExit as ended:
                code = ended.code if isinstance(ended.code, int) else 0
    finally:
        sys.stdin = before
    told = [stream.detach().getvalue().decode() for stream in (out, err)]
    return Ran(code, *told)


class Side:
    """One cluster of one broker, number 1."""

    def __init__(self, title: str, broker: Broker, tool_runner: Callable[[], ToolRunner]) -> None:
        self.title = title
        self.broker = broker
        self._tool_runner = tool_runner

    def __repr__(self) -> str:
        return self.title

    @property
    def bootstrap(self) -> str:
        return self.broker.bootstrap

    def client(self) -> RawClient:
        """To be closed: `with side.client() as client`."""
        return RawClient(self.broker.host, self.broker.port)

    def attempt(self, command: str, *arguments: str, stdin: str | bytes = "") -> Ran:
        """`barnabas COMMAND --bootstrap-server ... ARGUMENTS`; the command may be two words."""
        return run(*command.split(), "--bootstrap-server", self.bootstrap, *arguments, stdin=stdin)

    def run(self, command: str, *arguments: str, stdin: str | bytes = "") -> str:
        """What it prints; AssertionError if it does not end well."""
        ran = self.attempt(command, *arguments, stdin=stdin)
        assert ran.code == 0, f"on {self.title}: {ran}"
        return ran.out

    def json(self, command: str, *arguments: str, stdin: str | bytes = "") -> Any:
        """With --json, what that says."""
        return json.loads(self.run(command, *arguments, "--json", stdin=stdin))

    def tool(self, tool: str, *arguments: str, stdin: str = "") -> Ran:
        """Kafka's own tool, by its class (TopicCommand, ConfigCommand ...), on this cluster."""
        return Ran(*Tools(self._tool_runner(), self.broker).attempt(tool, *arguments, stdin=stdin))

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        """Keys with underscores for dots. The broker leads it when this returns."""
        with self.client() as client:
            asking.create(client, topic, partitions, **configs)
        self.wait_until_led(topic, partitions)

    def wait_until_led(self, topic: str, partitions: int = 1) -> None:
        """Kafka answers CreateTopics before its brokers have heard of it."""
        with self.client() as client:
            wait_until(lambda: _is_led(client, topic, partitions), f"{topic} to be led by {self.title}")

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> int:
        """The offset of the first."""
        with self.client() as client:
            return asking.produce(client, topic, *values, partition=partition)


def _is_led(client: RawClient, topic: str, partitions: int) -> bool:
    asked = [ListOffsetsPartition(partition_index=number, timestamp=EARLIEST) for number in range(partitions)]
    request = ListOffsetsRequest(replica_id=-1, topics=[ListOffsetsTopic(name=topic, partitions=asked)])
    (answered,) = client.ask(request, 7, ListOffsetsResponse).topics
    return not any(partition.error_code for partition in answered.partitions)


class Both(NamedTuple):
    ours: Side
    kafka: Side

    def create(self, topic: str, partitions: int = 1, **configs: str) -> None:
        for side in self:
            side.create(topic, partitions, **configs)

    def produce(self, topic: str, *values: bytes, partition: int = 0) -> None:
        for side in self:
            side.produce(topic, *values, partition=partition)

    def same(self, command: str, *arguments: str, but: frozenset[str] | set[str] = frozenset()) -> Any:
        """What --json says: the same on both, but for the values under these keys, which are of one type."""
        told = [side.json(command, *arguments) for side in self]
        assert _without(told[0], but) == _without(told[1], but)
        return told[0]

    def same_text(self, command: str, *arguments: str) -> Ran:
        """Code, output and errors are the same on both, once each calls its address the same."""
        ours, kafka = (_placed(side, side.attempt(command, *arguments)) for side in self)
        assert ours == kafka
        return ours


def _without(value: Any, keys: frozenset[str] | set[str]) -> Any:
    if isinstance(value, list):
        return [_without(each, keys) for each in value]
    if isinstance(value, dict):
        return {key: type(each).__name__ if key in keys else _without(each, keys) for key, each in value.items()}
    return value


def _placed(side: Side, ran: Ran) -> Ran:
    return Ran(ran.code, *(text.replace(side.bootstrap, "BROKER") for text in (ran.out, ran.err)))


@pytest.fixture(scope="session")
def our_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with BrokerProcess(tmp_path_factory.mktemp("beside-kafka"), {"node.id": "1"}) as broker:
        yield broker


@pytest.fixture
def ours(our_broker: BrokerProcess, request: pytest.FixtureRequest) -> Iterator[Side]:
    """A broker that logs an error is broken, whatever the command made of it."""
    our_broker.new_failures()
    yield Side("Barnabas", our_broker, lambda: request.getfixturevalue("kafka_tools"))
    assert our_broker.new_failures() == ""


@pytest.fixture
def kafka(kafka_broker: KafkaBroker, request: pytest.FixtureRequest) -> Side:
    """For tests that are marked java."""
    return Side("Kafka", kafka_broker, lambda: request.getfixturevalue("kafka_tools"))


@pytest.fixture(params=["ours", pytest.param("kafka", marks=pytest.mark.java)])
def side(request: pytest.FixtureRequest) -> Side:
    found = request.getfixturevalue(request.param)
    assert isinstance(found, Side)
    return found


@pytest.fixture
def both(ours: Side, kafka: Side) -> Both:
    """For tests that are marked java."""
    return Both(ours, kafka)


_numbers = count()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """For a topic or a group: nobody else has it."""
    readable = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{readable[:100].rstrip('-')}-{next(_numbers)}"
