"""Many clients look for their coordinator at once, on a node that has no __consumer_offsets yet: all find it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from threading import Barrier

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse

from .running import RunningNode

CLIENTS = 8


def test_all_find_their_coordinator(node: RunningNode) -> None:
    together = Barrier(CLIENTS)

    def find(number: int) -> tuple[int, int]:
        with node.client() as client:
            together.wait()
            request = FindCoordinatorRequest(coordinator_keys=[f"group-{number}"])
            (found,) = client.ask(request, 4, FindCoordinatorResponse).coordinators
            return found.error_code, found.node_id

    with ThreadPoolExecutor(CLIENTS) as threads:
        assert list(threads.map(find, range(CLIENTS))) == [(0, 1)] * CLIENTS


def test_why_there_is_no_coordinator_is_in_the_log(tmp_path: Path) -> None:
    """The client is only told that it is not available."""
    with RunningNode(tmp_path, offsets_topic_segment_bytes="1000") as node, node.client() as client:
        request = FindCoordinatorRequest(coordinator_keys=["group"])
        (found,) = client.ask(request, 4, FindCoordinatorResponse).coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    (line,) = [str(line) for line in node.lines if "__consumer_offsets" in str(line)]
    assert "segment.bytes" in line
    assert "INVALID_CONFIG" in line
