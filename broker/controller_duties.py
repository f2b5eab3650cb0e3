"""What the controller does of its own accord: it fences brokers that are silent, elects leaders where that is due, and
lets those who follow the metadata log see that it lives."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING

import trio

from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.leader_balance import balance_leaders, elect_unclean_leaders
from barnabas.coordination.controller.stale_brokers import fence_stale_broker
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.records.cluster_metadata import NoOpRecord

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ControllerDuties"]

LOOKS_A_SESSION = 8
"""So often, in the time for which a broker may be silent, it is looked whether one has been."""

FOLLOWED_MS = 5_000
"""Who has fetched within this time follows the log."""

Duty = Callable[[int], Awaitable[None]]
"""It is told how much later it comes than it should."""


class ControllerDuties:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._failing = False

    async def run(self) -> None:
        config = self._node.static_config
        duties: list[tuple[int, Duty]] = [
            (max(1, config.broker_session_timeout_ms // LOOKS_A_SESSION), self._fence_silent_brokers),
            (config.unclean_leader_election_interval_ms, self._elect_unclean_leaders),
        ]
        if config.auto_leader_rebalance_enable:
            duties.append((config.leader_imbalance_check_interval_seconds * 1_000, self._balance_leaders))
        if config.metadata_max_idle_interval_ms > 0:
            duties.append((config.metadata_max_idle_interval_ms, self._show_life))
        async with trio.open_nursery() as nursery:
            for interval_ms, duty in duties:
                nursery.start_soon(self._repeat, interval_ms, duty)

    async def _repeat(self, interval_ms: int, duty: Duty) -> None:
        clock = self._node.clock.steady
        while True:
            due_ms = clock.now_ms() + interval_ms
            await clock.sleep(interval_ms)
            try:
                await duty(clock.now_ms() - due_ms)
                self._failing = False
            except KafkaError as error:
                # A full disk: the next time it may go well.
                if not self._failing:
                    self._node.warn(f"the controller could not write down what it has decided: {error}")
                self._failing = True

    async def _fence_silent_brokers(self, late_ms: int) -> None:
        """One after the other, so that each decision sees what became of the last."""
        controller = self._node.controller
        if self._node.is_closing:
            return  # they speak, and nobody hears them
        self._excuse(late_ms)
        clock = self._node.clock.steady
        began_ms = clock.now_ms()
        while await controller.decide(fence_stale_broker):
            self._excuse(clock.now_ms() - began_ms)
            began_ms = clock.now_ms()

    def _excuse(self, late_ms: int) -> None:
        """If this process stood still, what was said to it meanwhile is still to be heard."""
        if late_ms * LOOKS_A_SESSION > self._node.static_config.broker_session_timeout_ms:
            self._node.controller.controller.excuse(late_ms)

    async def _elect_unclean_leaders(self, _late_ms: int) -> None:
        while await self._node.controller.decide(lambda controller, _now_ms: elect_unclean_leaders(controller)):
            pass

    async def _balance_leaders(self, _late_ms: int) -> None:
        while await self._node.controller.decide(lambda controller, _now_ms: balance_leaders(controller)):
            pass

    async def _show_life(self, _late_ms: int) -> None:
        """Who follows the log sees by its last record how far behind he is. Where nobody does, the disk may rest."""
        node = self._node
        if node.metadata_leader.observers.heard_of_since(node.clock.steady.now_ms() - FOLLOWED_MS):
            await node.controller.decide(lambda _controller, _now_ms: Outcome([MetadataRecord(NoOpRecord())]))
