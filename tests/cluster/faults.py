"""What may happen to a cluster, each with how it ends."""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping

from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, ElectLeadersResponse
from tests.broker.small_disk import SmallDisk
from tests.cluster.asking import partitions
from tests.cluster.processes import CONTROLLER, ClusterProcesses

__all__ = ["FAULTS", "Scene"]

End = Callable[[], None]


class Scene:
    """A cluster, the topic that is looked at and another that grows."""

    def __init__(
        self,
        cluster: ClusterProcesses,
        topic: str,
        growing: str,
        disk: tuple[int, SmallDisk] | None,
        chance: random.Random,
    ) -> None:
        self.cluster = cluster
        self.topic = topic
        self.growing = growing
        self.disk = disk
        self.chance = chance

    def anybody(self) -> int:
        return self.chance.choice([node.id for node in self.cluster.nodes])


def kill(scene: Scene) -> End:
    return _killed(scene, scene.anybody())


def kill_controller(scene: Scene) -> End:
    return _killed(scene, CONTROLLER)


def _killed(scene: Scene, node_id: int) -> End:
    node = scene.cluster.node(node_id)
    node.kill()
    return node.begin


def freeze(scene: Scene) -> End:
    node = scene.cluster.node(scene.anybody())
    node.freeze()
    return node.thaw


def restart(scene: Scene) -> End:
    node = scene.cluster.node(scene.anybody())
    node.stop()
    return node.begin


def rolling_restart(scene: Scene) -> End:
    for node in scene.cluster.nodes:
        node.stop()
        node.begin()
        node.wait_ready()
    return _nothing


def cut_off(scene: Scene) -> End:
    here = scene.anybody()
    return _cut(scene, {here}, _others(scene, here), one_way=False)


def cut_pair(scene: Scene) -> End:
    here, there = scene.chance.sample([node.id for node in scene.cluster.nodes], 2)
    return _cut(scene, {here}, {there}, one_way=False)


def deaf(scene: Scene) -> End:
    """Nothing reaches it, and what it sends arrives."""
    here = scene.anybody()
    return _cut(scene, _others(scene, here), {here}, one_way=True)


def mute(scene: Scene) -> End:
    """What it sends does not arrive."""
    here = scene.anybody()
    return _cut(scene, {here}, _others(scene, here), one_way=True)


def _cut(scene: Scene, some: set[int], others: set[int], *, one_way: bool) -> End:
    scene.cluster.cut(some, others, one_way=one_way)
    return scene.cluster.heal


def slow(scene: Scene) -> End:
    here = scene.anybody()
    scene.cluster.slow(scene.chance.choice([0.02, 0.2, 0.8]), {here}, _others(scene, here))
    return scene.cluster.heal


def full_disk(scene: Scene) -> End:
    if scene.disk is None:
        return slow(scene)
    _, disk = scene.disk
    disk.fill()
    return disk.make_room


def reassign(scene: Scene) -> End:
    """A partition leaves a node, and comes back at the end."""
    number = scene.chance.randrange(3)
    replicas = [node.id for node in scene.cluster.nodes]
    scene.chance.shuffle(replicas)
    _assign(scene, number, replicas[:2])
    return lambda: _assign(scene, number, replicas)


def _assign(scene: Scene, number: int, replicas: list[int]) -> None:
    topic = ReassignableTopic(
        name=scene.topic, partitions=[ReassignablePartition(partition_index=number, replicas=replicas)]
    )
    with scene.cluster.node(CONTROLLER).client() as client:
        answer = client.ask(
            AlterPartitionReassignmentsRequest(topics=[topic], timeout_ms=20_000),
            0,
            AlterPartitionReassignmentsResponse,
        )
    assert answer.error_code == 0
    assert answer.responses[0].partitions[0].error_code == 0


def grow(scene: Scene) -> End:
    with scene.cluster.node(CONTROLLER).client() as client:
        count = len(partitions(client, scene.growing)) + 1
        wanted = CreatePartitionsTopic(name=scene.growing, count=count, assignments=None)
        answer = client.ask(CreatePartitionsRequest(topics=[wanted], timeout_ms=20_000), 3, CreatePartitionsResponse)
    assert answer.results[0].error_code == 0
    return _nothing


def elect(scene: Scene) -> End:
    with scene.cluster.node(CONTROLLER).client() as client:
        request = ElectLeadersRequest(election_type=0, topic_partitions=None, timeout_ms=20_000)
        assert client.ask(request, 2, ElectLeadersResponse).error_code == 0
    return _nothing


def _others(scene: Scene, here: int) -> set[int]:
    return {node.id for node in scene.cluster.nodes} - {here}


def _nothing() -> None:
    return None


FAULTS: Mapping[str, Callable[[Scene], End]] = {
    "kill": kill,
    "kill controller": kill_controller,
    "freeze": freeze,
    "restart": restart,
    "rolling restart": rolling_restart,
    "cut off": cut_off,
    "cut pair": cut_pair,
    "deaf": deaf,
    "mute": mute,
    "slow": slow,
    "full disk": full_disk,
    "reassign": reassign,
    "grow": grow,
    "elect": elect,
}
