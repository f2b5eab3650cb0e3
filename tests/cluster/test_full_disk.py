"""A broker whose disk is full goes on, and follows the metadata again when there is room."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.broker.small_disk import SmallDisk
from tests.clients.waiting import wait_until
from tests.cluster.asking import create, metadata
from tests.cluster.ledger import in_sync
from tests.cluster.processes import ClusterProcesses

pytestmark = pytest.mark.slow


def test_metadata_comes_again_when_there_is_room(tmp_path: Path) -> None:
    nodes = tmp_path / "nodes"
    cluster = ClusterProcesses(nodes, 2)
    with SmallDisk(nodes / "node-2", 64) as disk, cluster:
        disk.fill()
        names = [f"topic-{number}" for number in range(300)]
        with cluster.node(1).client() as client, cluster.node(2).client() as other:
            for name in names:
                # What is written down is more than fits into a page that is there.
                assert create(client, name, [1], configs={"retention.ms": "1" * 18}) == 0
            wait_until(lambda: "cannot be written to" in cluster.node(2).log.read_text(), "the disk to be noticed")
            disk.make_room()
            wait_until(lambda: not metadata(other, names[-1]).topics[0].error_code, "the topics to be known")
            assert {topic.name for topic in metadata(other).topics} == set(names)


def test_a_replica_that_found_no_room_is_made_when_there_is_some(tmp_path: Path) -> None:
    """Nobody asks this node for it: others lead."""
    nodes = tmp_path / "nodes"
    cluster = ClusterProcesses(nodes, 2)
    cluster.node(2).settings["metadata.log.dir"] = str(nodes / "metadata-2")
    with SmallDisk(nodes / "node-2", 64) as disk, cluster, cluster.node(1).client() as client:
        assert create(client, "before", [1, 2]) == 0
        wait_until(lambda: in_sync(cluster, "before") == [2], "the first to be in sync")
        disk.fill()
        assert create(client, "meanwhile", *([1, 2] for _ in range(20))) == 0
        wait_until(lambda: "meanwhile-19" in cluster.node(2).log.read_text(), "node 2 to have no room for them")
        # Nothing of what changes for them is news any more then.
        wait_until(lambda: in_sync(cluster, "meanwhile") == [1] * 20, "node 2 to be missed")
        disk.make_room()
        wait_until(lambda: in_sync(cluster, "meanwhile") == [2] * 20, "node 2 to be in sync")
