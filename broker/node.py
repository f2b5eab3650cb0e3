"""A node: broker and controller in one process, from its configuration to clients at its door and back to a clean stop.

    async with trio.open_nursery() as nursery:
        node = await nursery.start(Node(config).run)
        ...
        node.stop()

This page says of what parts it is made, and in which order they start and stop. What others need of the node is an
attribute here; what may be asked of it besides is in cluster_view.py and failure_reports.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Coroutine, Iterator
from typing import TYPE_CHECKING, Any

import trio

from barnabas.broker.apis.api_versions import advertised, spoken_versions
from barnabas.broker.auto_creation import INTERNAL_TOPICS
from barnabas.broker.clock import Clock
from barnabas.broker.cluster_view import ClusterView
from barnabas.broker.cold_reads import ColdReads
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.connection_care import look_after_connections
from barnabas.broker.connection_limits import ConnectionLimits
from barnabas.broker.controller_opening import open_controller, open_metadata_log
from barnabas.broker.data_directories import disk_for, open_directories
from barnabas.broker.dispatch import Handler
from barnabas.broker.doors import broker_door, controller_door
from barnabas.broker.draining import drain, settle
from barnabas.broker.event_log import Event, Level, Report
from barnabas.broker.failure_reports import FailureReports
from barnabas.broker.groups import Groups
from barnabas.broker.heartbeats import Heartbeats
from barnabas.broker.housekeeping.disk_failures import DiskFailures
from barnabas.broker.housekeeping.housekeeper import Housekeeper
from barnabas.broker.housekeeping.loading import load_logs, until_safe
from barnabas.broker.housekeeping.stopping import close_directories, shut_down_controlled
from barnabas.broker.image_topics import ImageTopics
from barnabas.broker.listener import Listener
from barnabas.broker.memory import Memory, requests_bound
from barnabas.broker.metadata_follower import MetadataFollower
from barnabas.broker.metadata_upkeep import MetadataUpkeep
from barnabas.broker.partitions import Partitions
from barnabas.broker.poller import Poller
from barnabas.broker.producer_ids import ProducerIds
from barnabas.broker.random_values import RandomBytes, random_uuid, session_ids, topic_ids, unique_names
from barnabas.broker.registration import register
from barnabas.broker.replica_moves import ReplicaMoves
from barnabas.broker.startable import check_startable
from barnabas.broker.syncer import Syncer
from barnabas.broker.throttling import Throttles
from barnabas.broker.topic_listing import KeptListings
from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.fetching.sessions import FetchSessions
from barnabas.protocol.schema import Uuid
from barnabas.storage.disk import Disk
from barnabas.storage.durability import Durability

if TYPE_CHECKING:
    from barnabas.broker.telemetry import Telemetry

__all__ = ["Node", "NodeFailed"]


class NodeFailed(Exception):  # noqa: N818 - a state of the node
    """It could not go on, and has stopped; one sentence says why. Nobody should take that for a clean stop."""

    exit_code = 1


class Node(ClusterView, FailureReports):
    def __init__(
        self,
        config: NodeConfig,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        random_bytes: RandomBytes = os.urandom,
        report: Report = print,
        around_handlers: Callable[[Handler], Handler] | None = None,
    ) -> None:
        """`report` is told everything that happens. `around_handlers` is asked for each API, when its first request
        comes, what shall be called in place of its handler."""
        super().__init__(report)
        self.static_config = self.config = config
        self.node_id = config.node_id
        self.clock = clock or Clock()
        self.random_bytes = random_bytes
        self.around_handlers = around_handlers
        self.durability = Durability(config.barnabas_durability)
        self.disk = disk or disk_for(self.durability)
        self.image = ClusterImage()
        self.internal_topics = INTERNAL_TOPICS
        self.being_created: set[str] = set()
        self.supported_features = SUPPORTED_FEATURES
        self.telemetry: Telemetry | None = None
        """Made for the first client that asks (telemetry.py)."""
        self.api_versions = spoken_versions(advertised(config))
        self.max_frame_bytes = min(config.socket_request_max_bytes, config.barnabas_memory_connection_max_bytes)
        self.memory = Memory(requests_bound(config), config.barnabas_memory_responses_max_bytes)
        self.connection_limits = ConnectionLimits(self)
        self.incarnation_id = random_uuid(random_bytes)
        self.broker_epoch = -1
        self.listeners: list[Listener] = []
        self.controller_listeners: list[Listener] = []
        self.producer_ids = ProducerIds(self)
        self.topics = ImageTopics(self.image)
        self.listings = KeptListings()
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, session_ids(random_bytes))
        self.cold_reads = ColdReads(
            config.barnabas_cold_read_max_bytes,
            config.barnabas_cold_read_threads,
            on_failure=lambda path, error: self.disk_failures.file_failed(path, error),
        )
        self.throttles: Throttles | None = None
        self.failure: str | None = None
        """Why it cannot go on."""
        self._poller = Poller()
        self._stopping = trio.Event()

    def __repr__(self) -> str:
        return f"<Node {self.node_id} at {', '.join(f'{host}:{port}' for host, port in self.addresses)}>"

    # From start to stop

    async def run(self, *, task_status: trio.TaskStatus[Node] = trio.TASK_STATUS_IGNORED) -> None:
        """Until `stop`, or until cancelled, which is no clean stop: it leaves what a kill leaves."""
        check_startable(self.config)
        self._open_directories()
        try:
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self._start(nursery)
                task_status.started(self)
                await self._stopping.wait()
                await self._finish()
                nursery.cancel_scope.cancel()
            if self.failure is not None:
                raise NodeFailed(self.failure)
        finally:
            for listener in self.all_listeners:
                for connection in list(listener.connections):
                    connection.close("the broker has stopped")
                listener.close()
            self._poller.close()
            self.directories.abandon()

    def stop(self) -> None:
        self._stopping.set()

    def fail(self, why: str) -> None:
        """It cannot go on: it stops as well as it still can, and `run` raises NodeFailed."""
        if self.failure is None:
            self.failure = why
            self.report(Event(why, Level.ERROR))
            self._stopping.set()

    async def _start(self, nursery: trio.Nursery) -> None:
        """Ports are known first, and served last: when everything is there that somebody may ask for."""
        self._bind_listeners()
        self._open_controller()
        self._open_broker()
        nursery.start_soon(self.controller.run)
        nursery.start_soon(self.metadata_upkeep.run)
        await register(self)
        await load_logs(self)
        self.partitions.begin()
        self.replica_moves.resume()
        if self._syncer:
            nursery.start_soon(self._syncer.run)
        await self.heartbeats.beat()
        nursery.start_soon(self.heartbeats.run)
        await until_safe(self.partitions)
        nursery.start_soon(self.housekeeping.run)
        nursery.start_soon(self.groups.run)
        nursery.start_soon(self._poller.run)
        nursery.start_soon(look_after_connections, self)
        for listener in self.all_listeners:
            listener.open()

    async def _finish(self) -> None:
        """Nobody comes in any more; what is under way is answered; what is here is on the disk and says so."""
        for listener in self.all_listeners:
            listener.close()
        await settle(self.partitions)
        for partition in self.partitions:
            partition.resign()
        if self.failure is None:
            await shut_down_controlled(self)
        await drain(self.all_listeners)
        await self.metadata_upkeep.finish()
        await self.housekeeping.stop()
        await close_directories(self)
        if self.failure is None:
            self.journal.close()

    # The parts, in the order in which one needs the other

    def _open_directories(self) -> None:
        self.directories = open_directories(self)
        meta = self.directories.metadata.meta
        assert meta is not None
        assert meta.cluster_id is not None
        assert meta.directory_id is not None
        self.cluster_id = meta.cluster_id
        self.directory_id = meta.directory_id

    def _bind_listeners(self) -> None:
        ours, controllers = broker_door(self), controller_door(self)
        for endpoint in self.config.listeners:
            if endpoint in self.config.controller_listeners:
                self.controller_listeners.append(Listener(endpoint, self._poller, controllers, self.config))
            else:
                self.listeners.append(Listener(endpoint, self._poller, ours, self.config))

    def _open_controller(self) -> None:
        self.heartbeats = Heartbeats(self)
        self.disk_failures = DiskFailures(self)
        self.journal = open_metadata_log(self)
        self.metadata_upkeep = MetadataUpkeep(
            self.disk, self.journal, self.image, self.static_config, self.clock, self.report
        )
        self.metadata_follower = MetadataFollower(self)
        self.controller = open_controller(self)
        self.metadata_follower.begin()

    def _open_broker(self) -> None:
        syncs = self.durability is Durability.FSYNC
        self._syncer = Syncer(self.disk_failures.sync_failed) if syncs else None
        self.groups = Groups(self)
        self.partitions = Partitions(
            self.node_id,
            self.directories,
            self.image,
            config_of=self.topic_config,
            unique_names=self.unique_names(),
            now_ms=self.clock.now_ms,
            report=self.warn,
            needs_sync=self._syncer.needs_sync if self._syncer else None,
        )
        self.partitions.on_lead.append(self.groups.lead)
        self.partitions.on_resign.append(self.groups.resign)
        self.housekeeping = Housekeeper(self)
        self.housekeeping.attend(self.partitions)
        self.replica_moves = ReplicaMoves(self)
        self.partitions.on_resign.append(self.replica_moves.resigned)

    # What others ask

    @property
    def addresses(self) -> list[tuple[str, int]]:
        """Where clients come in."""
        return [listener.address for listener in self.listeners]

    @property
    def all_listeners(self) -> list[Listener]:
        return [*self.listeners, *self.controller_listeners]

    @property
    def is_stopping(self) -> bool:
        return self._stopping.is_set()

    def start_soon(self, task: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """A task that lives no longer than the node."""
        self._nursery.start_soon(task, *args)

    def topic_ids(self) -> Iterator[Uuid]:
        return topic_ids(self.random_bytes)

    def unique_names(self) -> Iterator[str]:
        return unique_names(self.random_bytes)
