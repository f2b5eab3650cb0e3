"""A broker whose logs take their time after a crash is heard of meanwhile, and let in only afterwards."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
import trio

from barnabas.broker.housekeeping.loading import load_logs
from barnabas.broker.node import Node
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.broker_registration import BrokerRegistrationResponse
from tests.broker.controller_door.broker_requests import registration
from tests.broker.controller_door.door import ControllerNode
from tests.broker.running import START_S, RunningNode


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
    second = RunningNode(
        tmp_path / "2",
        node_id="2",
        process_roles="broker",
        controller_listener_names="CONTROLLER",
        controller_quorum_bootstrap_servers=first.controllers,
        broker_heartbeat_interval_ms="10",
    )
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
