from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.kafka.client import RawClient

from .running import RunningNode


@pytest.fixture
def node(tmp_path: Path) -> Iterator[RunningNode]:
    with RunningNode(tmp_path / "data") as running:
        yield running


@pytest.fixture
def client(node: RunningNode) -> Iterator[RawClient]:
    with node.client() as connected:
        yield connected
