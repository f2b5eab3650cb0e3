"""The broker of the suite, one a session: Barnabas's fixture `kafka`, or with `--apache` Apache Kafka, which is
formatted and started for the session, as people start it in a container. The tests know neither.
"""

from __future__ import annotations

import sys
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from kafka import KafkaAdminClient, KafkaConsumer, KafkaProducer

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))  # for tests/kafka, which knows how to run Kafka


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--apache", action="store_true")


@pytest.fixture(scope="session")
def bootstrap(request: pytest.FixtureRequest) -> Iterator[str]:
    if not request.config.getoption("--apache"):
        yield request.getfixturevalue("kafka").bootstrap_servers
        return
    from tests.kafka.broker import SMALL, KafkaBroker
    from tests.kafka.classpath import find_classpath

    with KafkaBroker(find_classpath(), config=SMALL, as_shipped=True) as broker:
        yield broker.bootstrap


@pytest.fixture(scope="session")
def admin(bootstrap: str) -> Iterator[Any]:
    client = KafkaAdminClient(bootstrap_servers=bootstrap)
    yield client
    client.close()


@pytest.fixture
def topic(request: pytest.FixtureRequest, admin: Any) -> Iterator[str]:
    """Of as many partitions as the marker says, and deleted after the test."""
    marker = request.node.get_closest_marker("partitions")
    name = f"topic-{uuid.uuid4().hex}"
    admin.create_topics(
        {name: {"num_partitions": marker.args[0] if marker else 1, "replication_factor": 1}}, wait_for_metadata=True
    )
    yield name
    admin.delete_topics([name])


@pytest.fixture
def producer(bootstrap: str) -> Iterator[Any]:
    client = KafkaProducer(bootstrap_servers=bootstrap)
    yield client
    client.close()


@pytest.fixture
def consumer(bootstrap: str, topic: str) -> Iterator[Any]:
    """Without a group."""
    client = KafkaConsumer(
        topic, bootstrap_servers=bootstrap, group_id=None, auto_offset_reset="earliest", consumer_timeout_ms=20_000
    )
    yield client
    client.close()
