"""Those who ask a controller that leads no more, while others ask already the one that does."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest
import trio
import trio.testing

from barnabas.broker.quorum_leader import QuorumLeader
from barnabas.broker.remote_controller import RemoteController
from barnabas.client.address import Address
from barnabas.client.channel import Channel
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from tests.client.test_channel import ANSWER, Node

OLD, NEW = Address("old", 1), Address("new", 2)
SESSION_MS = 60_000


@pytest.mark.trio
@pytest.mark.parametrize("old_answers", [[...], [], [..., ANSWER]], ids=["hangs", "is not reached", "answers later"])
async def test_all_are_answered_by_the_new_one_and_no_connection_to_the_old_one_is_left(
    old_answers: list[object], autojump_clock: trio.testing.MockClock
) -> None:
    controllers = {OLD: Node(*old_answers), NEW: Node(*[ANSWER] * 3)}
    streams: dict[Address, list[trio.abc.Stream]] = {OLD: [], NEW: []}

    def channel(name: str, host: str, port: int, *, client_id: str) -> Channel:
        address = Address(host, port)

        async def dial() -> trio.abc.Stream:
            if address == OLD and not old_answers:
                await trio.sleep_forever()
            stream = await controllers[address].dial()
            streams[address].append(stream)
            return stream

        return Channel(name, dial, client_id=client_id)

    config = SimpleNamespace(broker_session_timeout_ms=SESSION_MS)
    node: Any = SimpleNamespace(config=config, network=SimpleNamespace(channel=channel), node_id=3)
    leader = QuorumLeader([OLD])
    leader.learn(1, 1, OLD)
    remote = RemoteController(node, leader)
    answered_s = list[float]()

    async def ask() -> None:
        assert await remote.ask(BrokerHeartbeatRequest(broker_id=3), BrokerHeartbeatResponse) == ANSWER
        answered_s.append(trio.current_time() - started_s)

    async with trio.open_nursery() as serving:
        for controller in controllers.values():
            controller.nursery = serving
        started_s = trio.current_time()
        async with trio.open_nursery() as asking:
            asking.start_soon(ask)
            asking.start_soon(ask)
            await trio.testing.wait_all_tasks_blocked()
            leader.learn(2, 2, NEW)
            asking.start_soon(ask)
        assert max(answered_s) < 1, "nobody has waited for his time to be over"
        for stream in streams[OLD]:
            with pytest.raises(trio.ClosedResourceError):
                await stream.send_all(b"?")
        serving.cancel_scope.cancel()
