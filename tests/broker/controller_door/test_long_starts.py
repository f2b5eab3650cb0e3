"""A broker that starts again: it is heard of while it loads its logs, which it does when it knows what has become of
it, and is let in afterwards."""

from __future__ import annotations

import threading
from pathlib import Path
from typing import Any

import pytest
import trio

from barnabas.broker.housekeeping.loading import load_logs
from barnabas.broker.metadata_observer import MetadataObserver
from barnabas.broker.node import Node
from barnabas.broker.registration import register_elsewhere
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.broker_registration import BrokerRegistrationResponse
from tests.broker.controller_door.broker_requests import registration
from tests.broker.controller_door.door import ControllerNode
from tests.broker.running import START_S, RunningNode


def broker_of(first: ControllerNode, directory: Path) -> RunningNode:
    return RunningNode(
        directory,
        node_id="2",
        process_roles="broker",
        controller_listener_names="CONTROLLER",
        controller_quorum_bootstrap_servers=first.controllers,
        broker_heartbeat_interval_ms="10",
    )


def test_no_other_run_of_a_broker_is_let_in_while_it_loads_its_logs(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    is_loaded = threading.Event()

    async def long(node: Node) -> None:
        await load_logs(node)
        if node.node_id == 2:
            assert await trio.to_thread.run_sync(is_loaded.wait, START_S)

    monkeypatch.setattr("barnabas.broker.node.load_logs", long)
    first = ControllerNode(tmp_path / "1")
    second = broker_of(first, tmp_path / "2")
    with first, first.controller() as door:
        starting = threading.Thread(target=second.start)
        starting.start()
        try:
            first.until(lambda node: 2 in (heard := node.controller.controller.sessions) and heard[2].contact_ms)
            cluster_id = first.do(lambda node: node.cluster_id)
            another = door.ask(registration(2, cluster_id, incarnation=2), 4, BrokerRegistrationResponse)
            assert another.error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
            assert first.do(lambda node: node.image.brokers[2].fenced), "it has nothing to lead with yet"
        finally:
            is_loaded.set()
            starting.join()
        with second:
            assert not first.do(lambda node: node.image.brokers[2].fenced)


def test_logs_are_loaded_when_the_metadata_has_the_registration(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However late that is: in the metadata of before the broker may be the leader that it was until it was killed."""
    registers, loads = threading.Event(), threading.Event()
    epochs: list[tuple[int, int]] = []

    async def register(node: Node) -> None:
        registers.set()
        await register_elsewhere(node)

    async def load(node: Node) -> None:
        if node.node_id == 2:
            loads.set()
            ours = node.image.brokers.get(2)
            epochs.append((node.broker_epoch, -1 if ours is None else ours.epoch))
        await load_logs(node)

    take = MetadataObserver._take

    async def take_late(self: MetadataObserver, *answer: Any) -> str | None:
        while registers.is_set() and not (self.applied._waiting or loads.is_set()):
            await trio.lowlevel.checkpoint()
        return await take(self, *answer)

    monkeypatch.setattr("barnabas.broker.other_quorum.register_elsewhere", register)
    monkeypatch.setattr("barnabas.broker.node.load_logs", load)
    monkeypatch.setattr(MetadataObserver, "_take", take_late)
    first = ControllerNode(tmp_path / "1")
    with first, broker_of(first, tmp_path / "2"):
        ((given, read),) = epochs
    assert given == read >= 0
