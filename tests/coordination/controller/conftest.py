"""One Kafka and one controller of ours for all tests that use names of their own."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.coordination.controller.twins import Twins
from tests.kafka.broker import KafkaBroker


@pytest.fixture(scope="session")
def shared_twins(kafka_classpath: str) -> Iterator[Twins]:
    with KafkaBroker(kafka_classpath) as kafka:
        twins = Twins(kafka)
        yield twins
        twins.close()


@pytest.fixture
def twins(shared_twins: Twins) -> Iterator[Twins]:
    """After each test both have to be in the same state."""
    yield shared_twins
    shared_twins.same_state()
