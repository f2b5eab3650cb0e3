"""A cluster that comes to a newer metadata.version while it runs."""

from __future__ import annotations

from pathlib import Path

from barnabas.broker.node import Node
from barnabas.cli.main import main
from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.protocol.messages.update_features import (
    FeatureUpdateKey,
    UpdateFeaturesRequest,
    UpdateFeaturesResponse,
)

from .asking import create
from .housekeeping.breaking_disk import BreakingDisk
from .running import RunningNode

WITHOUT_DIRECTORIES, WITH_DIRECTORIES = "3.6", 17
"""A release, and the first level that knows of log directories."""


def registration(inside: Node) -> BrokerRegistration:
    return inside.image.brokers[inside.node_id]


def test_a_directory_that_fails_after_an_upgrade_is_missed(tmp_path: Path) -> None:
    first, second = tmp_path / "a", tmp_path / "b"
    settings = tmp_path / "server.properties"
    settings.write_text(
        f"""process.roles=broker,controller
node.id=1
listeners=PLAINTEXT://127.0.0.1:9092,CONTROLLER://127.0.0.1:9093
controller.listener.names=CONTROLLER
controller.quorum.voters=1@127.0.0.1:9093
log.dirs={first},{second}
"""
    )
    cluster_id = "4L6g3nShT-eMCtK--X86sw"
    release = ["--release-version", WITHOUT_DIRECTORIES]
    assert main(["storage", "format", "--cluster-id", cluster_id, "--config", str(settings), *release]) == 0
    with RunningNode(tmp_path, disk=BreakingDisk(), log_dirs=f"{first},{second}") as node, node.client() as client:
        create(client, "orders", partitions=2)
        assert node.do(registration).directories == ()
        update = FeatureUpdateKey(feature="metadata.version", max_version_level=WITH_DIRECTORIES, upgrade_type=1)
        answer = client.ask(UpdateFeaturesRequest(feature_updates=[update]), 1, UpdateFeaturesResponse)
        assert answer.error_code == 0, answer
        node.until(lambda inside: len(registration(inside).directories) == 2)
        assert not node.do(registration).fenced
        lost = node.do(lambda inside: [name.partition for name in inside.directories.online[1].logs])
        assert len(lost) == 1
        known = node.do(lambda inside: inside.directories.online[1].id)
        node.until(lambda inside: inside.image.topics.by_name["orders"].partitions[lost[0]].directory(1) == known)
        node.do(lambda inside: inside.directories.take_offline(second.resolve(), "pulled out"))
        node.until(lambda inside: inside.leader_of("orders", lost[0])[0] == -1)
        assert node.do(lambda inside: inside.leader_of("orders", 1 - lost[0])[0]) == 1
