"""A node whose controller can be asked, a client at that door, and two such doors, of which one is Apache Kafka's."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.broker.controller_door.door import ControllerNode
from tests.broker.controller_door.twin_doors import TwinDoors
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient


@pytest.fixture
def controller_node(tmp_path: Path) -> Iterator[ControllerNode]:
    with ControllerNode(tmp_path / "data") as running:
        yield running


@pytest.fixture
def door(controller_node: ControllerNode) -> Iterator[RawClient]:
    with controller_node.controller() as connected:
        yield connected


@pytest.fixture(scope="module")
def doors(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TwinDoors]:
    """Of two clusters in which nothing happens of itself, and both of which have a snapshot soon."""
    quiet = {"metadata.max.idle.interval.ms": "0", "metadata.log.max.record.bytes.between.snapshots": "2000"}
    ours = ControllerNode(tmp_path_factory.mktemp("doors") / "data")
    ours.settings |= quiet
    with KafkaBroker(kafka_classpath, config=quiet) as kafka, ours:
        both = TwinDoors(kafka, ours)
        yield both
        both.close()
