"""Frames that no good client sends: the node does with them what Kafka was recorded to do (tests/golden)."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

from barnabas.broker.apis import MODULES
from tests.golden.edge_cases import EdgeCase, play
from tests.golden.recorded import recorded

from .running import RunningNode
from .test_produce_and_fetch import create

pytestmark = pytest.mark.slow

KAFKA_FALTERS = {
    # It throws while it writes a line of its log, and the connection never answers again.
    "Produce v3, null records, acks 1",
}
SAME_BYTES = ("Produce", "Fetch", "ApiVersions v99", "ApiVersions v5", "ApiVersions v-1", "ApiVersions v3, ")
"""Elsewhere the answer tells of the broker that gave it."""


def is_spoken(case: dict[str, Any]) -> bool:
    """SASL is left out as long as it is not there."""
    api_key = int.from_bytes(bytes.fromhex(case["sent"])[4:6])
    return not case["name"].startswith("Sasl") or api_key in MODULES


CASES = [
    case
    for case in recorded("edge_cases")
    if case["listener"] == "broker" and case["name"] not in KAFKA_FALTERS and is_spoken(case)
]


@pytest.fixture(scope="module")
def castle(tmp_path_factory: pytest.TempPathFactory) -> Iterator[RunningNode]:
    with RunningNode(tmp_path_factory.mktemp("edge") / "data", node_id="1") as node:
        with node.client() as client:
            create(client, "castle")
        yield node


@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_a_frame(castle: RunningNode, case: dict[str, Any]) -> None:
    outcome = play(EdgeCase(case["name"], bytes.fromhex(case["sent"])), castle.address[1])
    # An orderly end and a reset tell a client the same.
    assert outcome.outcome.replace("reset", "closed") == case["outcome"].replace("reset", "closed")
    assert outcome.afterwards == case["afterwards"]
    if case["name"].startswith(SAME_BYTES):
        assert outcome.received.hex() == case["received"]


def test_the_list_is_long_enough() -> None:
    assert len(CASES) >= 80
