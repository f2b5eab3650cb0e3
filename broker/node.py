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
from functools import partial
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
from barnabas.broker.controller import ControllerService
from barnabas.broker.controller_link import ControllerLink
from barnabas.broker.data_directories import disk_for, open_directories
from barnabas.broker.dispatch import Dispatcher, Handler
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
from barnabas.broker.metadata_leader import MetadataLeader
from barnabas.broker.metadata_log import MetadataLog
from barnabas.broker.metadata_upkeep import MetadataUpkeep
from barnabas.broker.metrics.elections import Elections
from barnabas.broker.metrics.server import MetricsServer
from barnabas.broker.network import Network
from barnabas.broker.other_quorum import OtherQuorum
from barnabas.broker.own_quorum import OwnQuorum
from barnabas.broker.partitions import Partitions
from barnabas.broker.producer_ids import ProducerIds
from barnabas.broker.random_values import RandomBytes, random_uuid, session_ids, topic_ids, unique_names
from barnabas.broker.replica_fetching import open_fetchers
from barnabas.broker.replica_moves import ReplicaMoves
from barnabas.broker.replica_throttles import ReplicaThrottles
from barnabas.broker.startable import check_startable
from barnabas.broker.syncer import Syncer
from barnabas.broker.throttling import Throttles
from barnabas.broker.topic_listing import KeptListings
from barnabas.broker.unless import StoppedEarly, unless
from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.fetching.sessions import FetchSessions
from barnabas.protocol.schema import Uuid
from barnabas.replication.in_sync_changes import InSyncChanges, put_out_who_lags
from barnabas.replication.leading import Surroundings
from barnabas.storage.disk import Disk
from barnabas.storage.durability import Durability
from barnabas.storage.log_directories import LogDirectories

if TYPE_CHECKING:
    from barnabas.broker.telemetry import Telemetry

__all__ = ["Node", "NodeFailed"]


class NodeFailed(Exception):  # noqa: N818 - a state of the node
    """It could not go on, and has stopped; one sentence says why. Nobody should take that for a clean stop."""

    exit_code = 1


Quorum = OwnQuorum | OtherQuorum
"""The controllers, as this node has to do with them: it is one, or it follows them."""


class Node(ClusterView, FailureReports):
    def __init__(
        self,
        config: NodeConfig,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        network: Network | None = None,
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
        self.network = network or Network()
        self.incarnation_id = random_uuid(random_bytes)
        self.broker_epoch = -1
        self.journal: MetadataLog
        self.controller: ControllerService
        self.metadata_leader: MetadataLeader
        self.forwarded_requests: Dispatcher
        """These three only where this node is the controller."""
        self.controller_link: ControllerLink
        """To the controller, wherever it is."""
        self.directories: LogDirectories
        self.listeners: list[Listener] = []
        self.controller_listeners: list[Listener] = []
        self.producer_ids = ProducerIds(self)
        self.elections = Elections()
        self.metrics = MetricsServer(self)
        self.topics = ImageTopics(self.image)
        self.listings = KeptListings(config.barnabas_metadata_lists_max_partitions)
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, session_ids(random_bytes))
        self.cold_reads = ColdReads(
            config.barnabas_cold_read_max_bytes,
            config.barnabas_cold_read_threads,
            on_failure=lambda path, error: self.disk_failures.file_failed(path, error),
        )
        self.throttles: Throttles | None = None
        self.failure: str | None = None
        """Why it cannot go on."""
        self._poller = self.network.poller()
        self._stopping = trio.Event()
        self._failed = trio.Event()
        self.is_closing = False
        """Nobody can come in any more."""

    def __repr__(self) -> str:
        return f"<Node {self.node_id} at {', '.join(f'{host}:{port}' for host, port in self.addresses)}>"

    # From start to stop

    async def run(self, *, task_status: trio.TaskStatus[Node] = trio.TASK_STATUS_IGNORED) -> None:
        """Until `stop`, or until cancelled, which is no clean stop: it leaves what a kill leaves."""
        check_startable(self.config)
        quorum = OwnQuorum(self) if self.config.is_controller else OtherQuorum(self)
        try:
            self._open_directories(await quorum.cluster_id())
            async with trio.open_nursery() as nursery:
                self._nursery = nursery
                await self._start_or_fail(nursery, quorum)
                task_status.started(self)
                await self._stopping.wait()
                await self._finish(quorum)
                nursery.cancel_scope.cancel()
        except* StoppedEarly:
            if self.failure is None:
                task_status.started(self)
        finally:
            for listener in self.all_listeners:
                for connection in list(listener.connections):
                    connection.close("the broker has stopped")
                listener.close()
            self._poller.close()
            if hasattr(self, "directories"):
                self.directories.abandon()
        if self.failure is not None:
            raise NodeFailed(self.failure)

    def stop(self) -> None:
        self._stopping.set()

    def fail(self, why: str) -> None:
        """It cannot go on: it stops as well as it still can, and `run` raises NodeFailed."""
        if self.failure is None:
            self.failure = why
            self.report(Event(why, Level.ERROR))
            self._stopping.set()
            self._failed.set()

    async def _start_or_fail(self, nursery: trio.Nursery, quorum: Quorum) -> None:
        """If it fails, what the start waits for may never come."""
        await unless(self.failed, partial(self._start, nursery, quorum))
        if self.failure is not None:
            raise StoppedEarly

    async def _start(self, nursery: trio.Nursery, quorum: Quorum) -> None:
        """Ports are known first, and served last: when everything is there that somebody may ask for there."""
        self._bind_listeners()
        self._open_metadata(quorum)
        self._open_broker()
        await quorum.begin(nursery)
        nursery.start_soon(self._poller.run)
        nursery.start_soon(look_after_connections, self)
        for listener in self.controller_listeners:
            # Other brokers live by it, however long ours takes to be there.
            listener.open()
        nursery.start_soon(self.metadata_upkeep.run)
        await quorum.register()
        # To load the logs may take long after a crash, and no other run of this broker shall be let in meanwhile.
        nursery.start_soon(self.heartbeats.run)
        await load_logs(self)
        self.heartbeats.ready()
        self.partitions.begin()
        self.replica_moves.resume()
        if self._syncer:
            nursery.start_soon(self._syncer.run)
        nursery.start_soon(self.fetchers.run)
        await quorum.enter_service()
        await until_safe(self.partitions)
        nursery.start_soon(self.housekeeping.run)
        nursery.start_soon(self.groups.run)
        nursery.start_soon(self.partitions.try_on)
        nursery.start_soon(self.in_sync_changes.run)
        lag_ms = self.static_config.replica_lag_time_max_ms
        nursery.start_soon(put_out_who_lags, self.partitions, lag_ms // 2, self.clock.sleep)
        await self.metrics.open(nursery)
        for listener in self.listeners:
            listener.open()

    async def _finish(self, quorum: Quorum) -> None:
        """What others can lead, others do; nobody comes in any more; what is under way is answered; what is here is on
        the disk and says so."""
        if self.failure is None and len(self.image.brokers) > 1:
            await shut_down_controlled(self)
        self.is_closing = True
        for listener in self.all_listeners:
            listener.close()
        await settle(self.partitions)
        await self.fetchers.stop()
        self.partitions.end()
        for partition in self.partitions:
            partition.resign()
        if self.failure is None and len(self.image.brokers) <= 1:
            await shut_down_controlled(self)
        await drain(self.all_listeners)
        await self.metadata_upkeep.finish()
        await self.housekeeping.stop()
        await close_directories(self)
        await quorum.finish()

    # The parts, in the order in which one needs the other

    def _open_directories(self, cluster_id: str | None) -> None:
        self.directories = open_directories(self, cluster_id)
        meta = self.directories.metadata.meta
        assert meta is not None
        assert meta.cluster_id is not None
        assert meta.directory_id is not None
        self.cluster_id = meta.cluster_id
        self.directory_id = meta.directory_id

    def _bind_listeners(self) -> None:
        ours, controllers = broker_door(self), controller_door(self)
        for endpoint in self.config.listeners:
            is_ours = endpoint not in self.config.controller_listeners
            listeners, door = (self.listeners, ours) if is_ours else (self.controller_listeners, controllers)
            listeners.append(self.network.listener(endpoint, self._poller, door, self.config))

    def _open_metadata(self, quorum: Quorum) -> None:
        self.heartbeats = Heartbeats(self)
        self.disk_failures = DiskFailures(self)
        self.journal = quorum.open_log()
        self.metadata_upkeep = MetadataUpkeep(
            self.disk, self.journal, self.image, self.static_config, self.clock, self.report
        )
        self.metadata_follower = MetadataFollower(self)
        self.controller_link = quorum.open_controller()
        self.metadata_follower.begin()

    def _open_broker(self) -> None:
        syncs = self.durability is Durability.FSYNC
        self._syncer = Syncer(self.disk_failures.sync_failed) if syncs else None
        self.in_sync_changes = InSyncChanges(
            self.node_id,
            broker_epoch=lambda: self.broker_epoch,
            ask=self.controller_link.ask,
            report=self.report,
        )
        self.groups = Groups(self)
        self.partitions = Partitions(
            self.node_id,
            self.directories,
            self.image,
            config_of=self.topic_config,
            surroundings=Surroundings(
                brokers=lambda: self.image.brokers,
                broker_epoch=lambda: self.broker_epoch,
                now_ms=self.clock.steady.now_ms,
                max_lag_ms=self.static_config.replica_lag_time_max_ms,
                propose=self.in_sync_changes.propose,
            ),
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
        self.replica_throttles = ReplicaThrottles(self.config)
        self.replica_throttles.attend(self.partitions)
        self.fetchers = open_fetchers(self)

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

    async def failed(self) -> None:
        """Until it cannot go on, which may be in the middle of a stop."""
        await self._failed.wait()

    async def stopping(self) -> None:
        """Return when it is told to stop."""
        await self._stopping.wait()

    def start_soon(self, task: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """A task that lives no longer than the node."""
        self._nursery.start_soon(task, *args)

    def topic_ids(self) -> Iterator[Uuid]:
        return topic_ids(self.random_bytes)

    def unique_names(self) -> Iterator[str]:
        return unique_names(self.random_bytes)
