"""The pytest plugin that comes with `pip install barnabas`: a Kafka broker for tests, as fixtures.

    @pytest.mark.kafka(partitions=3)
    def test_an_order_is_announced(kafka, kafka_topic, kafka_consumer):
        announce(Order(7), kafka.bootstrap_servers, kafka_topic)
        assert [record.json() for record in kafka.wait_for(kafka_topic, count=1)] == [{"order": 7}]

docs/TESTING.md tells the rest. pytest loads this file in each of its runs, also in those that have nothing to do with
Kafka, so it imports nothing but pytest before a test asks for a fixture.
"""

from __future__ import annotations

import sys
from collections.abc import Generator, Iterator
from contextlib import suppress
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from barnabas.testing.client_libraries import Library
    from barnabas.testing.marking import Wish
    from barnabas.testing.pytest_session import Kafka, KafkaOfSession

MARKER = (
    "kafka(partitions=None, config={}, settings={}, own_broker=False): how many partitions the test's kafka_topic has, "
    "num.partitions if it is not said, and with which topic configuration; settings of the broker, or own_broker=True, "
    "give the test a broker of its own"
)

_OPENED = "barnabas.testing.embedded"
"""Whoever opens a broker has this module."""
_SEEN = pytest.StashKey[Any]()
_SESSION = pytest.StashKey["KafkaOfSession"]()
_OURS = "_kafka_of_session"
"""A test that needs this fixture has our `kafka`, and not one of its project's that is called so too."""


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("kafka", "a Kafka broker for tests (Barnabas)")
    group.addoption(
        "--kafka-bootstrap",
        metavar="HOST:PORT",
        help="run the tests against this cluster, and not against a broker in this process",
    )
    group.addoption(
        "--kafka-client",
        metavar="NAME",
        help="what kafka_producer and kafka_consumer are: kafka-python, confluent-kafka or aiokafka",
    )
    parser.addini("kafka_bootstrap", "as --kafka-bootstrap")
    parser.addini("kafka_client", "as --kafka-client")
    parser.addini("kafka_settings", "lines of KEY=VALUE: the settings, as Kafka's, of the broker", type="linelist")


def pytest_configure(config: pytest.Config) -> None:
    config.addinivalue_line("markers", MARKER)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """A test with a broker of its own has its own `kafka`, and own instances of all fixtures that depend on it."""
    if _OURS not in metafunc.fixturenames or metafunc.definition.get_closest_marker("kafka") is None:
        return
    from barnabas.testing.marking import WrongMarker, wish_of

    # What is wrong is said when the test is set up.
    with suppress(WrongMarker):
        wish = wish_of(metafunc.definition.iter_markers("kafka"))
        if wish.own_broker:
            metafunc.parametrize("kafka", [wish], indirect=True, scope="function", ids=["own_broker"])


@pytest.fixture(scope="session")
def _kafka_of_session(pytestconfig: pytest.Config) -> Iterator[KafkaOfSession]:
    from barnabas.testing.pytest_session import KafkaOfSession

    with KafkaOfSession(_said(pytestconfig, "kafka_bootstrap"), _settings(pytestconfig)) as session:
        pytestconfig.stash[_SESSION] = session
        yield session
        del pytestconfig.stash[_SESSION]


@pytest.fixture(scope="session")
def kafka(request: pytest.FixtureRequest, _kafka_of_session: KafkaOfSession) -> Iterator[Kafka]:
    """A Kafka broker in this process, barnabas.testing.Broker: one for all tests, unless a marker gives a test its own.
    Clients connect to kafka.bootstrap_servers."""
    wish: Wish | None = getattr(request, "param", None)
    if wish is None:
        yield _kafka_of_session.broker
    else:
        with _kafka_of_session.own_broker(wish) as broker:
            yield broker


@pytest.fixture
def kafka_topic(request: pytest.FixtureRequest, kafka: Kafka) -> Iterator[str]:
    """The name of a fresh topic, which is deleted after the test. The marker kafka says how many partitions it has."""
    from barnabas.testing.pytest_session import fresh_topic

    with fresh_topic(kafka, request.node.name, _wish_of(request.node)) as name:
        yield name


@pytest.fixture
def kafka_producer(request: pytest.FixtureRequest, kafka: Kafka) -> Iterator[Any]:
    """A producer of the project's client library; aiokafka's is begun by `async with kafka_producer as producer`."""
    with _library(request.config).producer(kafka.bootstrap_servers) as producer:
        yield producer


@pytest.fixture
def kafka_consumer(request: pytest.FixtureRequest, kafka: Kafka, kafka_topic: str) -> Iterator[Any]:
    """A consumer of the project's client library, subscribed to kafka_topic from its beginning; its group is called as
    the topic."""
    with _library(request.config).consumer(kafka.bootstrap_servers, kafka_topic) as consumer:
        yield consumer


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item: pytest.Item) -> None:
    if _OPENED in sys.modules:
        from barnabas.testing.pytest_report import Seen

        item.stash[_SEEN] = Seen()
    if _uses_kafka(item) and _wish_of(item).own_broker and not hasattr(item, "callspec"):
        pytest.fail(
            "pytest gives no test of a unittest.TestCase a fixture of its own: leave away own_broker= and settings= "
            "of @pytest.mark.kafka here, and open a barnabas.testing.Broker in setUp.",
            pytrace=False,
        )


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_call(item: pytest.Item) -> None:
    if _SESSION in item.config.stash:
        item.config.stash[_SESSION].remember()


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """What a test does to the broker of all tests is undone before its fixtures end."""
    if _SESSION in item.config.stash:
        item.config.stash[_SESSION].restore()


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    report = yield
    if report.failed and _OPENED in sys.modules:
        from barnabas.testing.pytest_report import Seen

        report.sections += (item.stash.get(_SEEN, None) or Seen(())).sections()
    return report


def _uses_kafka(item: pytest.Item) -> bool:
    return _OURS in getattr(item, "fixturenames", ())


def _wish_of(node: pytest.Item) -> Wish:
    from barnabas.testing.marking import WrongMarker, wish_of

    try:
        return wish_of(node.iter_markers("kafka"))
    except WrongMarker as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)


def _library(config: pytest.Config) -> Library:
    from barnabas.testing.client_libraries import NoLibrary, choose

    try:
        return choose(_said(config, "kafka_client"))
    except NoLibrary as error:
        problem = str(error)
    pytest.fail(problem, pytrace=False)


def _said(config: pytest.Config, name: str) -> str:
    """On the command line, or else in the configuration file."""
    return str(config.getoption(name) or config.getini(name) or "")


def _settings(config: pytest.Config) -> dict[str, str]:
    settings = {}
    for line in config.getini("kafka_settings"):
        key, equals, value = line.partition("=")
        if not equals:
            pytest.fail(f"kafka_settings has the line {line!r}: write KEY=VALUE.", pytrace=False)
        settings[key.strip()] = value.strip()
    return settings
