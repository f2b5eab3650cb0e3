"""Many clients look for their coordinator at once, on a node that has no __consumer_offsets yet: all find it."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

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
