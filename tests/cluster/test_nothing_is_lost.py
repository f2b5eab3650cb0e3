"""Three nodes, acks=all, min.insync.replicas=2, idempotent producers of three kinds, two groups of consumers, and one
fault after the other: what was acknowledged is there once and in its order, groups never go back, replicas are equal.

The faults are drawn: BARNABAS_SEED=N draws the same ones again. BARNABAS_THOROUGH=1: two hundred of them. It is run by
`make chaos`, and not by `make test`: it wants the machine for itself.
"""

from __future__ import annotations

import os
import random
import secrets
import threading
import time
from collections import Counter
from collections.abc import Callable
from contextlib import ExitStack
from functools import partial
from pathlib import Path

import pytest

from tests.broker.small_disk import SmallDisk
from tests.clients.crowd import Crowd
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, metadata
from tests.cluster.faults import FAULTS, Scene
from tests.cluster.ledger import ClusterLedger, check_commits, in_sync
from tests.cluster.processes import ClusterProcesses
from tests.kafka.client import RawClient

THOROUGH = bool(os.environ.get("BARNABAS_THOROUGH"))
COUNT = 200 if THOROUGH else int(os.environ.get("BARNABAS_FAULTS", "14"))
PARTITIONS = 3
SESSION_S = 2.0
HEALED_S = 60.0
WITH_A_SMALL_DISK = 3
TOPIC, GROWING = "watched", "growing"


@pytest.mark.chaos
@pytest.mark.slow
def test_nothing_acknowledged_is_lost(tmp_path: Path, figure: Callable[[str], None]) -> None:
    seed = int(os.environ.get("BARNABAS_SEED") or secrets.randbelow(1 << 32))
    figure(f"BARNABAS_SEED={seed}")
    chance = random.Random(seed)
    with ExitStack() as stack:
        nodes = tmp_path / "nodes"
        cluster = ClusterProcesses(nodes)
        disk = stack.enter_context(SmallDisk(nodes / f"node-{WITH_A_SMALL_DISK}", 2048 if THOROUGH else 256))
        stack.enter_context(cluster)
        with cluster.nodes[0].client() as client:
            configs = {"min.insync.replicas": "2", "retention.ms": "-1"}
            assert create(client, TOPIC, *spread(PARTITIONS), configs=configs) == 0
            assert create(client, GROWING, *spread(1), configs=configs) == 0
        for node in cluster.nodes:
            with node.client() as client:
                wait_until(partial(knows_both, client), "all nodes to know the topics")
        crowd = Crowd(cluster.bootstrap, TOPIC, PARTITIONS, tmp_path, stack)
        ledger = ClusterLedger(TOPIC, PARTITIONS, crowd.senders)
        wait_until(lambda: all(sender.rounds for sender in crowd.senders), "all to produce")
        wait_until(lambda: all(group.committed() for group in crowd.groups.values()), "all to consume")
        scene = Scene(cluster, TOPIC, GROWING, (WITH_A_SMALL_DISK, disk), chance)
        done: Counter[str] = Counter()
        began = time.monotonic()
        for name in drawn(chance):
            crowd.wait_for(chance.choice(crowd.senders), chance.randint(0, 4))
            happens(scene, crowd, name)
            acknowledged = [len(sender.acknowledged) for sender in crowd.senders]
            floors = {group.name: group.committed() for group in crowd.groups.values()}
            wait_until(lambda: in_sync(cluster, TOPIC) == [3] * PARTITIONS, f"all to be in sync after {name}", HEALED_S)
            ledger.read_from(cluster, acknowledged)
            ledger.check_acknowledged(acknowledged)
            for group in crowd.groups.values():
                check_commits(cluster, group, TOPIC, floors[group.name])
            done[name] += 1
        sent = crowd.ends_well(
            ledger, lambda: ledger.read_from(cluster, [len(sender.acknowledged) for sender in crowd.senders])
        )
        figure(
            f"{done.total()} faults in {time.monotonic() - began:.0f} s; records, each there once and in order: {sent}"
        )
        figure(", ".join(f"{name} {count}" for name, count in sorted(done.items())))
        cluster.stop()
        check_replicas(cluster)


def drawn(chance: random.Random) -> list[str]:
    """Every fault as often as every other, in any order."""
    names = list(FAULTS) * (COUNT // len(FAULTS) + 1)
    names = names[:COUNT]
    chance.shuffle(names)
    return names


def happens(scene: Scene, crowd: Crowd, name: str) -> None:
    """For a while, which may be shorter than a session, or longer."""
    end = FAULTS[name](scene)
    threading.Event().wait(scene.chance.choice([0.1, 0.5, 1.2 * SESSION_S, 2 * SESSION_S]))
    end()
    for node in scene.cluster.nodes:
        node.wait_ready()
    for sender in crowd.senders:
        sender.check_runs()


def knows_both(client: RawClient) -> bool:
    return not any(topic.error_code for topic in metadata(client, TOPIC, GROWING).topics)


def spread(count: int) -> list[list[int]]:
    """Each node is the first of some."""
    return [[(number + place) % 3 + 1 for place in range(3)] for number in range(count)]


def check_replicas(cluster: ClusterProcesses) -> None:
    """All nodes have stopped: their files have the same batches."""
    for number in range(PARTITIONS):
        logs = {
            node.id: b"".join(path.read_bytes() for path in sorted((node.data / f"{TOPIC}-{number}").glob("*.log")))
            for node in cluster.nodes
        }
        assert len(set(logs.values())) == 1, {node_id: len(data) for node_id, data in logs.items()}
        assert logs[1]
