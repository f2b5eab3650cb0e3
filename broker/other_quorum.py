"""The quorum of controllers where this node is none of them: it follows their log, and asks them to take it in."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, TypeVar

import trio

from barnabas.broker.controller_link import ControllerLink
from barnabas.broker.controller_opening import log_config
from barnabas.broker.data_directories import is_new
from barnabas.broker.metadata_observer import MetadataObserver
from barnabas.broker.metadata_replica import MetadataReplica
from barnabas.broker.quorum import voter
from barnabas.broker.quorum_leader import QuorumLeader
from barnabas.broker.registration import register_elsewhere
from barnabas.broker.remote_controller import RemoteController
from barnabas.broker.unless import unless
from barnabas.client.address import Address
from barnabas.client.channel import Unreachable
from barnabas.coordination.controller.describe_cluster import CONTROLLERS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["OtherQuorum"]

T = TypeVar("T")

_LOOK_AGAIN_S = 0.5
_BEAT_AGAIN_S = 0.05


class OtherQuorum:
    def __init__(self, node: Node) -> None:
        self._node = node
        config = node.config
        named = config.controller_quorum_bootstrap_servers or config.controller_quorum_voters.values()
        self._leader = QuorumLeader([Address(each.host, each.port) for each in named])
        self._replica: MetadataReplica
        self._remote: RemoteController
        self._observer: MetadataObserver

    async def cluster_id(self) -> str | None:
        """Empty directories are formatted for the cluster of the controllers, who are asked which that is."""
        return await self._unless_stopped(self._ask_cluster_id) if is_new(self._node) else None

    async def _ask_cluster_id(self) -> str:
        node = self._node
        last = None
        while True:
            address = self._leader.next_candidate()
            channel = node.network.channel(
                f"the controller at {address}", address.host, address.port, client_id=str(node.node_id)
            )
            try:
                answer = await channel.ask(
                    DescribeClusterRequest(endpoint_type=CONTROLLERS),
                    DescribeClusterResponse,
                    timeout_ms=node.config.controller_quorum_request_timeout_ms,
                )
                if not answer.error_code:
                    return answer.cluster_id
                why = f"{channel.name} answers {ErrorCode(answer.error_code).name}"
            except Unreachable as error:
                why = str(error)
            finally:
                await channel.aclose()
            if why != last:
                node.report(f"this broker waits for its controllers, to learn which cluster it belongs to: {why}")
            last = why
            await trio.sleep(_LOOK_AGAIN_S)

    def open_log(self) -> MetadataReplica:
        """What its snapshot says is in the image then; of what follows only the controllers know how much counts."""
        node = self._node
        self._replica = MetadataReplica(
            node.disk,
            node.directories.metadata.path,
            ours=voter(node.node_id, node.directory_id, []),
            static_voters=node.config.controller_quorum_voters,
            config=log_config(node.config),
            now_ms=node.clock.now_ms(),
            report=node.warn,
        )
        self._replica.replay_snapshot(node.image)
        return self._replica

    def open_controller(self) -> ControllerLink:
        self._remote = RemoteController(self._node, self._leader)
        return self._remote

    async def begin(self, nursery: trio.Nursery) -> None:
        node = self._node
        self._observer = observer = MetadataObserver(
            node,
            self._replica,
            self._leader,
            on_change=node.metadata_follower.follow,
            after_commit=node.metadata_upkeep.after_commit,
        )
        nursery.start_soon(self._remote.run)
        nursery.start_soon(observer.run)
        await self._unless_stopped(observer.caught_up)

    async def register(self) -> None:
        await self._unless_stopped(self._register)

    async def _register(self) -> None:
        """And until this node has read of it: somebody else leads by then what it had led before it was killed, and its
        logs are no leader's any more."""
        node = self._node
        await register_elsewhere(node)
        while (ours := node.image.brokers.get(node.node_id)) is None or ours.epoch < node.broker_epoch:
            await self._observer.applied.reaches(self._observer.applied.offset + 1)

    async def enter_service(self) -> None:
        """Wait until the controller lets clients in, and this node has read that."""
        await self._unless_stopped(self._until_unfenced)

    async def _until_unfenced(self) -> None:
        node = self._node
        while True:
            try:
                await node.heartbeats.beat()
            except KafkaError as error:
                node.report(f"this broker is not in service yet: {error}")
            ours = node.image.brokers.get(node.node_id)
            if ours is not None and ours.epoch == node.broker_epoch and not ours.fenced:
                return
            await trio.sleep(_BEAT_AGAIN_S)

    async def finish(self) -> None:
        if self._node.failure is None:
            self._replica.close()

    async def _unless_stopped(self, wait: Callable[[], Awaitable[T]]) -> T:
        return await unless(self._node.stopping, wait)
