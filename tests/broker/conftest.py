"""A node of a test's own, a client of it, and one pair of twins for all tests beside Kafka."""

from __future__ import annotations

import logging
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient

from .running import RunningNode
from .twins import Twins


@pytest.fixture(autouse=True, scope="module")
def levels_of_loggers() -> Iterator[None]:
    """Nodes in this process share its loggers, whose levels a client may alter: other tests get them as they were."""
    loggers = [logging.getLogger("barnabas")]
    loggers += [logging.getLogger(name) for name in logging.root.manager.loggerDict if name.startswith("barnabas.")]
    before = [(logger, logger.level) for logger in loggers]
    yield
    for name in [name for name in logging.root.manager.loggerDict if name.startswith("barnabas")]:
        logging.getLogger(name).setLevel(logging.NOTSET)
    for logger, level in before:
        logger.setLevel(level)


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RunningNode]:
    with RunningNode(tmp_path / "data") as running:
        yield running


@pytest.fixture
def client(node: RunningNode) -> Iterator[RawClient]:
    with node.client() as connected:
        yield connected


@pytest.fixture(scope="session")
def twins(kafka_broker: KafkaBroker, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    """Use topic names of your own."""
    with RunningNode(tmp_path_factory.mktemp("twin") / "data", node_id="1") as running:
        both = Twins(kafka_broker, running)
        yield both
        both.close()
