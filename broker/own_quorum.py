"""The quorum of controllers where this node is all of it: its log is replayed, and it becomes the active controller."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

from barnabas.broker.controller_duties import ControllerDuties
from barnabas.broker.controller_link import ControllerLink, LocalController
from barnabas.broker.controller_opening import open_controller, open_metadata_log
from barnabas.broker.doors import forwarded_requests
from barnabas.broker.metadata_leader import MetadataLeader
from barnabas.broker.own_metadata_log import OwnMetadataLog
from barnabas.broker.registration import register_here
from barnabas.coordination.controller.activation import activate

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["OwnQuorum"]


class OwnQuorum:
    def __init__(self, node: Node) -> None:
        self._node = node
        self._journal: OwnMetadataLog

    async def cluster_id(self) -> str | None:
        """The node's directories say it, or a new cluster begins with them."""
        return None

    def open_log(self) -> OwnMetadataLog:
        self._journal = open_metadata_log(self._node)
        return self._journal

    def open_controller(self) -> ControllerLink:
        node = self._node
        node.controller = open_controller(node, self._journal)
        node.metadata_leader = MetadataLeader(node)
        node.forwarded_requests = forwarded_requests(node)
        return LocalController(node, node.controller)

    async def begin(self, nursery: trio.Nursery) -> None:
        """The first decisions of the controller in this epoch."""
        node = self._node
        nursery.start_soon(node.controller.run)
        bootstrap = [] if node.image.metadata_version is not None else self._journal.bootstrap
        await node.controller.decide(lambda controller, _now_ms: activate(controller, bootstrap))
        nursery.start_soon(ControllerDuties(node).run)

    async def register(self) -> None:
        await register_here(self._node)

    async def enter_service(self) -> None:
        await self._node.heartbeats.beat()

    async def finish(self) -> None:
        if self._node.failure is None:
            self._journal.close()
