"""One Spark for all tests of a worker: its JVM takes seconds to start. Without PySpark and its jars: skipped."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.pipeline.settings import Settings
from barnabas.testing import Broker
from tests.pipeline.jvm import SHORT_LIVED
from tests.pipeline.world import World
from tests.spark_jars import jars_or_skip

NOT_OURS = (
    pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning"),
    pytest.mark.filterwarnings("ignore:unclosed:ResourceWarning"),
)
"""PySpark leaves the sockets of its JVM to the garbage collector."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            for mark in NOT_OURS:
                item.add_marker(mark)


@pytest.fixture(scope="session")
def spark_jars() -> str:
    return jars_or_skip()


@pytest.fixture(scope="session")
def spark(spark_jars: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Any]:
    from barnabas.pipeline.sessions import open_session, quiet_java

    patience = socket.getdefaulttimeout()
    scratch = tmp_path_factory.mktemp("spark")
    properties = {
        "spark.master": "local[2]",
        "spark.jars": spark_jars,
        "spark.driver.extraJavaOptions": quiet_java(SHORT_LIVED),
        "spark.sql.shuffle.partitions": "2",
        "spark.local.dir": str(scratch),
        "spark.sql.warehouse.dir": str(scratch / "warehouse"),
    }
    session = open_session("tests", properties)
    yield session
    session.stop()
    socket.setdefaulttimeout(patience)


@pytest.fixture(scope="module")
def pipeline_broker() -> Iterator[Broker]:
    with Broker() as broker:
        yield broker


@pytest.fixture
def world(spark: Any, pipeline_broker: Broker, tmp_path: Path, request: pytest.FixtureRequest) -> World:
    """A broker, a topic of this test's own, a directory for its lake, and what land says."""
    return World(spark, pipeline_broker, tmp_path, request.node.name)


@pytest.fixture
def settings_of(tmp_path: Path) -> Callable[..., Settings]:
    """A pipeline.toml with that text, read."""
    from barnabas.pipeline.settings import read_settings

    def read(text: str) -> Settings:
        file = tmp_path / "pipeline.toml"
        file.write_text(text)
        return read_settings(file)

    return read
