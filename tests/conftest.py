"""Fixtures that let any test ask the real Apache Kafka.

They skip where Java or Kafka's jars are missing (`make kafka`), and fail there when
BARNABAS_REQUIRE_KAFKA=1, as in CI, so that a green run there has asked.
"""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from tests.kafka.broker import KafkaBroker
from tests.kafka.classpath import KafkaMissingError, find_classpath
from tests.kafka.java_oracle import JavaOracle, MessageOracle
from tests.kafka.tool_runner import ToolRunner

_FIGURE = "figure"

# A shell has what it runs in the background ignore Ctrl-C, and so would the processes that tests send it to.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture
def figure(request: pytest.FixtureRequest) -> Callable[[str], None]:
    """Call it with a line of what a test measured: all are told at the end of the run, also of tests that pass."""

    def note(line: str) -> None:
        request.node.user_properties.append((_FIGURE, line))

    return note


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):
        from tests.shared_out import in_order

        items[:] = in_order(items)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> object:
    """For plain `-n 2`; who names a --dist gets that one."""
    if config.getoption("dist") != "load":
        return None
    from tests.shared_out import ByUnits

    return ByUnits(config, log)


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    reports = [report for each in terminalreporter.stats.values() for report in each]
    for report in reports:
        lines = [line for name, line in getattr(report, "user_properties", ()) if name == _FIGURE]
        if lines and report.when == "call":
            terminalreporter.section(f"figures of {report.nodeid}")
            for line in lines:
                terminalreporter.write_line(str(line))


@pytest.fixture(scope="session")
def kafka_classpath() -> str:
    """Apache Kafka's jars, for java's -cp."""
    try:
        return find_classpath()
    except KafkaMissingError as missing:
        if os.environ.get("BARNABAS_REQUIRE_KAFKA") == "1":
            pytest.fail(str(missing), pytrace=False)
        pytest.skip(str(missing))


@pytest.fixture(scope="session")
def kafka_broker(kafka_classpath: str) -> Iterator[KafkaBroker]:
    """One running Apache Kafka for the whole session: use topic and group names of your own."""
    with KafkaBroker(kafka_classpath) as broker:
        yield broker


@pytest.fixture(scope="session")
def java_oracle(kafka_classpath: str) -> Iterator[Callable[[Path], JavaOracle]]:
    """Call it with a single-file Java program: one JVM for each file and session, ended with the session."""
    running: dict[Path, JavaOracle] = {}
    with ExitStack() as stack:

        def start(source_file: Path) -> JavaOracle:
            source_file = source_file.resolve()
            if source_file not in running:
                running[source_file] = stack.enter_context(JavaOracle(source_file, kafka_classpath))
            return running[source_file]

        yield start


@pytest.fixture(scope="session")
def message_oracle(java_oracle: Callable[[Path], JavaOracle]) -> MessageOracle:
    """Kafka's generated message classes: parse and write again, defaults, schemas, errors, APIs."""
    return MessageOracle(java_oracle(MessageOracle.SOURCE))


@pytest.fixture(scope="session")
def kafka_tools(java_oracle: Callable[[Path], JavaOracle]) -> ToolRunner:
    """Kafka's command line tools, in one JVM for the whole session."""
    return ToolRunner(java_oracle(ToolRunner.SOURCE))
