"""Brokers for clients that we did not write.

BARNABAS_CLIENTS_ASK=kafka runs the same tests against Apache Kafka: what fails there is a wrong test.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from itertools import count
from pathlib import Path
from typing import cast

import pytest

from compat.kafka_tools.tools import Tools
from tests.clients.broker_process import QUICK, BrokerProcess
from tests.kafka.broker import KafkaBroker
from tests.kafka.classpath import find_classpath
from tests.kafka.tool_runner import ToolRunner

BrokerMaker = Callable[..., BrokerProcess]


class KafkaTwin(KafkaBroker):
    def restart(self, *, kill: bool = False) -> None:
        if kill:
            self.kill()
        else:
            self.stop()
        self.start()

    def new_failures(self) -> str:
        return ""


def make(directory: Path, config: Mapping[str, str] | None = None) -> BrokerProcess:
    if os.environ.get("BARNABAS_CLIENTS_ASK") == "kafka":
        twin = KafkaTwin(find_classpath(), directory, config={**QUICK, **(config or {})})
        return cast("BrokerProcess", twin)
    return BrokerProcess(directory, config)


@pytest.fixture(scope="session")
def shared_broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrokerProcess]:
    with make(tmp_path_factory.mktemp("shared-broker")) as running:
        yield running


NOT_OURS = pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning")
"""kafka-python leaves sockets to the garbage collector when it could not connect."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker(NOT_OURS)


@pytest.fixture(autouse=True)
def collect_garbage() -> Iterator[None]:
    """While the filter above counts."""
    yield
    gc.collect()


@pytest.fixture(autouse=True)
def skip_without_java(request: pytest.FixtureRequest) -> None:
    """The Java client is one among others in tests that know nothing of Java."""
    if request.node.get_closest_marker("java") is not None:
        request.getfixturevalue("kafka_classpath")


@pytest.fixture
def broker(shared_broker: BrokerProcess) -> Iterator[BrokerProcess]:
    """One for all tests of the session, which is never restarted: use topics and groups of your own."""
    shared_broker.new_failures()
    yield shared_broker
    assert shared_broker.new_failures() == ""


@pytest.fixture
def tools(kafka_tools: ToolRunner, broker: BrokerProcess) -> Tools:
    return Tools(kafka_tools, broker)


@pytest.fixture
def own_broker(tmp_path: Path) -> Iterator[BrokerMaker]:
    """Call it, with Kafka's keys if you like, for a broker that you may stop and start again."""
    made: list[BrokerProcess] = []
    with ExitStack() as stack:

        def start(**config: str) -> BrokerProcess:
            settings = {name.replace("_", "."): value for name, value in config.items()}
            made.append(stack.enter_context(make(tmp_path / f"broker-{len(made)}", settings)))
            return made[-1]

        yield start
        for each in made:
            assert each.new_failures() == ""


_numbers = count()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """For a topic or a group: nobody else has it."""
    readable = "".join(letter if letter.isalnum() else "-" for letter in request.node.name)
    return f"{readable[:100]}-{next(_numbers)}"
