"""What is known of a topic while nodes of its cluster fail: read from whoever leads, asked of whoever coordinates."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from tests.clients.ledgers import GroupLedger, TopicLedger, Written
from tests.clients.waiting import wait_until
from tests.cluster.asking import partitions
from tests.cluster.processes import ClusterNodeProcess, ClusterProcesses
from tests.kafka.client import RawClient

__all__ = ["ClusterLedger", "check_commits", "in_sync"]

PATIENCE_S = 40.0
"""A session has to end, a leader has to be found."""


class ClusterLedger(TopicLedger):
    def read_from(self, cluster: ClusterProcesses, counts: Sequence[int]) -> None:
        """What is new, from the leaders, at least as far as so many records of each sender were acknowledged: one that
        has just begun to lead does not know yet that all of these count, and shows them a moment later."""
        ends = self.ends(counts)
        for number, known in enumerate(self.records):

            def read(number: int = number, known: list[Written] = known) -> bool:
                try:
                    with leader_of(cluster, self.topic, number).client() as client:
                        known.extend(self._whole(client, number, len(known)))
                except (AssertionError, OSError, StopIteration):
                    return False
                return len(known) >= ends.get(number, 0)

            what = f"{self.topic}-{number} to be read up to offset {ends.get(number, 0)}, which was acknowledged"
            wait_until(read, what, PATIENCE_S)

    def _whole(self, client: RawClient, number: int, offset: int) -> list[Written]:
        return list(self._after(client, number, offset))


def alive(cluster: ClusterProcesses) -> Iterator[ClusterNodeProcess]:
    return (node for node in cluster.nodes if node.is_running and not node.is_frozen)


def leader_of(cluster: ClusterProcesses, topic: str, number: int) -> ClusterNodeProcess:
    """As somebody who is alive says; AssertionError if there is none."""
    with next(alive(cluster)).client() as client:
        led_by = partitions(client, topic)[number].leader_id
    assert led_by > 0
    node = cluster.node(led_by)
    assert node.is_running
    assert not node.is_frozen
    return node


def in_sync(cluster: ClusterProcesses, topic: str) -> list[int]:
    """How many replicas of each partition are, as the controller's node says."""
    with cluster.nodes[0].client() as client:
        return [len(each.isr_nodes) for each in partitions(client, topic)]


def check_commits(cluster: ClusterProcesses, group: GroupLedger, topic: str, floor: dict[int, int]) -> None:
    """What the group knows to be committed, its coordinator knows, too."""
    if not floor:
        return
    found: dict[int, int] = {}
    asked = OffsetFetchRequestTopics(name=topic, partition_indexes=sorted(floor))

    def has_answered() -> bool:
        try:
            with next(alive(cluster)).client() as client:
                request = FindCoordinatorRequest(coordinator_keys=[group.name])
                coordinator = client.ask(request, 4, FindCoordinatorResponse).coordinators[0]
            if coordinator.error_code or not cluster.node(coordinator.node_id).is_running:
                return False
            with cluster.node(coordinator.node_id).client() as client:
                groups = [OffsetFetchRequestGroup(group_id=group.name, topics=[asked])]
                answer = client.ask(OffsetFetchRequest(groups=groups), 8, OffsetFetchResponse).groups[0]
        except (OSError, StopIteration):
            return False
        if answer.error_code in _LOOK_AGAIN:
            return False
        assert answer.error_code == 0
        found.update({one.partition_index: one.committed_offset for one in answer.topics[0].partitions})
        return True

    wait_until(has_answered, f"the coordinator of {group.name}", PATIENCE_S)
    lost = {number: (found[number], offset) for number, offset in floor.items() if found[number] < offset}
    assert not lost, f"{group.name} had committed more than its coordinator knows: {lost}"


_LOOK_AGAIN = (
    ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
    ErrorCode.COORDINATOR_NOT_AVAILABLE,
    ErrorCode.NOT_COORDINATOR,
    ErrorCode.UNSTABLE_OFFSET_COMMIT,
)
