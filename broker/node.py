"""A node: broker and controller in one process, from its configuration to clients at its door and back to a clean stop.

    async with trio.open_nursery() as nursery:
        node = await nursery.start(Node(config).run)
        ...
        node.stop()

What an API file needs of the broker is an attribute here; what it does stays in its file.
"""

from __future__ import annotations

import os
import traceback
from collections.abc import Callable, Coroutine, Iterator
from pathlib import Path
from typing import Any

import trio

from barnabas.broker.apis.api_versions import spoken_versions
from barnabas.broker.auto_creation import INTERNAL_TOPICS
from barnabas.broker.call import Call
from barnabas.broker.clock import Clock
from barnabas.broker.cold_reads import ColdReads
from barnabas.broker.config_rules import NodeConfigRules
from barnabas.broker.configuration.describe import topic_config
from barnabas.broker.configuration.dynamic import keep_valid
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.broker.connection import Answer, CloseConnection, Connection
from barnabas.broker.connection_care import look_after_connections
from barnabas.broker.connection_limits import ConnectionLimits
from barnabas.broker.controller import ControllerService
from barnabas.broker.controller_listener import ControllerDoor, controller_addresses
from barnabas.broker.dispatch import Dispatcher
from barnabas.broker.draining import drain, settle
from barnabas.broker.event_log import Event, Level, Report
from barnabas.broker.group_coordinator import GroupCoordinator
from barnabas.broker.heartbeats import Heartbeats
from barnabas.broker.housekeeping.disk_failures import DiskFailures
from barnabas.broker.housekeeping.housekeeper import Housekeeper
from barnabas.broker.housekeeping.loading import load_logs, until_safe
from barnabas.broker.housekeeping.stopping import close_directories, shut_down_controlled
from barnabas.broker.listener import Listener
from barnabas.broker.log_directory_paths import cordoned_directories
from barnabas.broker.memory import Memory, requests_bound
from barnabas.broker.metadata_log import MetadataLog, metadata_log_config
from barnabas.broker.metadata_upkeep import MetadataUpkeep
from barnabas.broker.partitions import Partitions, overrides_of
from barnabas.broker.poller import Poller
from barnabas.broker.producer_ids import ProducerIds
from barnabas.broker.quorum import voter
from barnabas.broker.registration import controller_registration_request, registration_request
from barnabas.broker.replica_moves import ReplicaMoves
from barnabas.broker.startable import CannotStart, check_startable
from barnabas.broker.syncer import Syncer
from barnabas.broker.throttling import Throttles, throttles_for
from barnabas.broker.topics import ImageTopics
from barnabas.coordination.cluster.configs import ALL_BROKERS, ResourceType, broker_resource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.registration import register_broker
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.fetching.sessions import FetchSessions
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.schema import Uuid
from barnabas.replication.partition import Partition
from barnabas.storage.disk import Disk, SystemDisk
from barnabas.storage.durability import Durability
from barnabas.storage.file_slice import FileSlice
from barnabas.storage.formatting import Node as Identity
from barnabas.storage.opening import open_log_directories
from barnabas.storage.topic_config import TopicConfig

__all__ = ["Node", "NodeFailed"]


class NodeFailed(Exception):  # noqa: N818 - a state of the node
    """It could not go on, and has stopped; one sentence says why. Nobody should take that for a clean stop."""

    exit_code = 1


class Node:
    def __init__(
        self,
        config: NodeConfig,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        random_bytes: Callable[[int], bytes] = os.urandom,
        report: Report = print,
    ) -> None:
        """`report` is told everything that happens."""
        self.static_config = self.config = config
        self.node_id = config.node_id
        self.clock = clock or Clock()
        self.report = report
        self.random_bytes = random_bytes
        self.durability = Durability(config.barnabas_durability)
        self.disk = disk or _disk_for(self.durability)
        self.image = ClusterImage()
        self.internal_topics = INTERNAL_TOPICS
        self.supported_features = SUPPORTED_FEATURES
        self.api_versions = spoken_versions()
        self.max_frame_bytes = min(config.socket_request_max_bytes, config.barnabas_memory_connection_max_bytes)
        self.memory = Memory(requests_bound(config), config.barnabas_memory_responses_max_bytes)
        self.connection_limits = ConnectionLimits(self)
        self.incarnation_id = self.random_uuid()
        self.broker_epoch = -1
        self.listeners: list[Listener] = []
        self.controller_listeners: list[Listener] = []
        self.producer_ids = ProducerIds(self)
        self.topics = ImageTopics(self.image)
        session_ids = (int.from_bytes(drawn) >> 1 for drawn in _draw(random_bytes, 4))
        self.fetch_sessions = FetchSessions(config.max_incremental_fetch_session_cache_slots, session_ids)
        self.cold_reads = ColdReads(
            config.barnabas_cold_read_max_bytes,
            config.barnabas_cold_read_threads,
            on_failure=lambda path, error: self.disk_failures.file_failed(path, error),
        )
        self.throttles: Throttles | None = None
        self._poller = Poller()
        self._dispatcher = Dispatcher(self)
        self.serve = self._dispatcher.serve
        self._stopping = trio.Event()
        self.failure: str | None = None
        """Why it cannot go on."""

    def __repr__(self) -> str:
        return f"<Node {self.node_id} at {', '.join(f'{host}:{port}' for host, port in self.addresses)}>"

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

    def _open_directories(self) -> None:
        config = self.config
        paths = [Path(path).resolve() for path in config.log_dirs]
        self.directories = open_log_directories(
            self.disk,
            paths,
            Identity(config.node_id),
            random_ids=_draw(self.random_bytes, 16),
            holder=f"barnabas, process {os.getpid()}",
            report=self.warn,
            tell=self.report,
            metadata_directory=Path(config.metadata_log_dir).resolve(),
            producer_expiration_ms=config.producer_id_expiration_ms,
        )
        meta = self.directories.metadata.meta
        assert meta is not None
        assert meta.cluster_id is not None
        assert meta.directory_id is not None
        self.cluster_id = meta.cluster_id
        self.directory_id = meta.directory_id

    async def _start(self, nursery: trio.Nursery) -> None:
        door = ControllerDoor(self)
        for endpoint in self.config.listeners:
            if endpoint in self.config.controller_listeners:
                self.controller_listeners.append(Listener(endpoint, self._poller, door, self.config))
            else:
                self.listeners.append(Listener(endpoint, self._poller, self, self.config))
        self.heartbeats = Heartbeats(self)
        self.disk_failures = DiskFailures(self)
        syncs = self.durability is Durability.FSYNC
        self._syncer = Syncer(self.disk_failures.sync_failed) if syncs else None
        self._open_controller()
        self.groups = GroupCoordinator(self)
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
        nursery.start_soon(self.controller.run)
        nursery.start_soon(self._upkeep.run)
        await self._register()
        await load_logs(self)
        self.partitions.begin()
        self.replica_moves.resume()
        nursery.start_soon(self.replica_moves.run)
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

    def _open_controller(self) -> None:
        config = self.config
        now_ms = self.clock.now_ms()
        journal = MetadataLog(
            self.disk,
            self.directories.metadata.path,
            ours=voter(
                self.node_id,
                self.directory_id,
                controller_addresses(config.advertised_controller_listeners, self.controller_listeners),
            ),
            static=bool(config.controller_quorum_voters),
            config=metadata_log_config(
                config.internal_metadata_log_segment_bytes or config.metadata_log_segment_bytes,
                config.metadata_log_segment_ms,
                config.internal_metadata_max_batch_size_in_bytes,
            ),
            now_ms=now_ms,
            report=self.warn,
        )
        journal.replay(self.image)
        settings = ControllerSettings(
            cluster_id=self.cluster_id,
            node_id=self.node_id,
            voter_ids=(self.node_id,),
            kraft_version=journal.kraft_version,
            default_partitions=config.num_partitions,
            default_replication_factor=config.default_replication_factor,
            min_insync_replicas=config.topic_defaults.min_insync_replicas,
            delete_topic_enable=config.delete_topic_enable,
            session_timeout_ms=config.broker_session_timeout_ms,
        )
        controller = Controller(settings, NodeConfigRules(config, lambda: self.config), copy_of(self.image))
        journal.begin_epoch(now_ms)
        # Whoever had this node's id before is gone: we hold its directories.
        controller.activate(now_ms, gone={self.node_id})
        self.journal = journal
        self._upkeep = MetadataUpkeep(self.disk, journal, self.image, config, self.clock, self.report)
        self.controller = ControllerService(
            controller,
            journal,
            self.image,
            self.clock,
            on_change=self._follow,
            on_failure=self.disk_failures.metadata_failed,
            after_commit=self._upkeep.after_commit,
            sync_in_thread=self.durability is not Durability.MEMORY,
        )
        self._apply_dynamic_config()
        self.throttles = throttles_for(self, self.image.quotas, None)

    async def _register(self) -> None:
        bootstrap = [] if self.image.metadata_version is not None else self.journal.bootstrap
        await self.controller.decide(lambda controller, _now_ms: activate(controller, bootstrap))
        request = registration_request(self)
        answer = await self.controller.decide(
            lambda controller, now_ms: register_broker(
                controller, request, _REGISTRATION_VERSION, next_offset=self.journal.end_offset, now_ms=now_ms
            )
        )
        if answer.error_code:
            code = ErrorCode(answer.error_code)
            raise CannotStart(
                f"The controller does not take this broker in: {code.name}; the cluster's own log says why."
            )
        self.broker_epoch = answer.broker_epoch
        if self.controller_listeners and self.image.required_metadata_version.controller_registration:
            ours = controller_registration_request(self)
            await self.controller.decide(lambda controller, _now_ms: register_controller(controller, ours))

    async def _finish(self) -> None:
        for listener in self.all_listeners:
            listener.close()
        await settle(self.partitions)
        for partition in self.partitions:
            partition.resign()
        if self.failure is None:
            await shut_down_controlled(self)
        await drain(self.all_listeners)
        await self._upkeep.finish()
        await self.housekeeping.stop()
        await close_directories(self)
        if self.failure is None:
            self.journal.close()

    # What the metadata changes

    def _follow(self, delta: ImageDelta) -> None:
        if delta.quotas:
            self.throttles = throttles_for(self, self.image.quotas, self.throttles)
        if any(resource.type == ResourceType.BROKER for resource in delta.configs):
            cordoned = self.directories.cordoned
            self._apply_dynamic_config()
            if cordoned != self.directories.cordoned:
                # The controller places no more partitions there from now on.
                self.heartbeats.soon()
        if hasattr(self, "partitions"):
            self.partitions.follow(delta)
            if delta.topics_deleted:
                self.groups.topics_deleted({topic.name: topic.id for topic in delta.topics_deleted.values()})

    def _apply_dynamic_config(self) -> None:
        configs = self.image.configs
        cluster, notices = keep_valid(configs.of(ALL_BROKERS), of_one_broker=False)
        broker, more = keep_valid(configs.of(broker_resource(self.node_id)), of_one_broker=True)
        for notice in (*notices, *more):
            self.warn(notice.text)
        try:
            self.config = self.static_config.with_dynamic(cluster, broker)
        except ConfigurationError as error:
            self.warn(f"the configurations of the running broker do not fit together, and nothing changes: {error}")
        self.directories.cordoned = cordoned_directories(self.config)

    def topic_config(self, topic: str) -> TopicConfig:
        return topic_config(self.config, overrides_of(self.image, topic))

    # What APIs ask

    def random_uuid(self) -> Uuid:
        return Uuid(self.random_bytes(16))

    def topic_ids(self) -> Iterator[Uuid]:
        """Random ones; never one of those that have a meaning."""
        for drawn in _draw(self.random_bytes, 16):
            topic_id = Uuid(drawn)
            if not str(topic_id).startswith("-") and any(drawn[:15]):
                yield topic_id

    def unique_names(self) -> Iterator[str]:
        """For directories that get out of the way."""
        return (one.hex() for one in _draw(self.random_bytes, 16))

    def has_partition(self, topic: str, number: int) -> bool:
        known = self.image.topics.by_name.get(topic)
        return known is not None and number in known.partitions

    def partition(self, topic: str, number: int) -> Partition:
        return self.partitions.get(topic, number)

    def leader_of(self, topic: str, number: int) -> tuple[int, int]:
        known = self.image.topics.by_name.get(topic)
        state = known.partitions.get(number) if known is not None else None
        return (-1, -1) if state is None else (state.leader, state.leader_epoch)

    def address_for(self, connection: Connection) -> tuple[str, int]:
        """What this node tells the client of a connection to connect to: what it did connect to, unless configured."""
        if "advertised.listeners" in self.config.texts:
            for endpoint in self.config.advertised_listeners:
                if endpoint.listener == connection.listener:
                    return endpoint.host or connection.local[0], endpoint.port
        host, port = connection.local[:2]
        return host.removeprefix("::ffff:"), port

    def brokers_for(self, connection: Connection) -> Iterator[tuple[int, str, int, str | None]]:
        """Who can be reached, through the listener that the client came in by: id, host, port, rack."""
        for broker_id, broker in sorted(self.image.brokers.items()):
            if broker_id == self.node_id:
                yield broker_id, *self.address_for(connection), broker.rack
                continue
            for endpoint in broker.endpoints:
                if endpoint.name == connection.listener and not broker.fenced:
                    yield broker_id, endpoint.host, endpoint.port, broker.rack

    # What went wrong

    def warn(self, text: str) -> None:
        self.report(Event(text, Level.WARNING))

    def note_refusal(self, call: Call, topic: str | None, number: int, error: KafkaError) -> None:
        """One partition of a request was refused, for a reason that is the client's or the disk's."""
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
            self.warn(f"{call.api.name} of {topic}-{number}: {error}")

    def report_failure(self, call: Call, error: BaseException) -> None:
        self.report_exception(f"{call.api.name} v{call.version} of client {call.client_id} failed", error)

    def report_exception(self, what: str, error: BaseException) -> None:
        """We are broken: say where."""
        trace = "".join(traceback.format_exception(error))
        self.report(Event(f"{what}:\n{trace}", Level.ERROR))

    def note_exhaustion(self, error: OSError) -> None:
        self.warn(f"no more connections can be accepted: {error.strerror}; raise the limit of open files (ulimit -n)")

    def start_soon(self, task: Callable[..., Coroutine[Any, Any, None]], *args: object) -> None:
        """A task that lives no longer than the node."""
        self._nursery.start_soon(task, *args)

    # What connections ask

    def wait_for(self, connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
        self._nursery.start_soon(self._answer, connection, answer)

    async def _answer(self, connection: Connection, answer: Coroutine[Any, Any, Answer]) -> None:
        try:
            connection.answered(await answer)
        except CloseConnection as error:
            connection.close(str(error))

    def read_cold(self, connection: Connection, part: FileSlice) -> None:
        self._nursery.start_soon(self._read_cold, connection, part)

    async def _read_cold(self, connection: Connection, part: FileSlice) -> None:
        try:
            connection.warmed(await self.cold_reads.read(part))
        except OSError as error:
            connection.close(f"{error.strerror or error}")

    def closed(self, connection: Connection, reason: str) -> None:  # noqa: ARG002 - a log line to come
        for listener in self.all_listeners:
            listener.left(connection)

    def note_refusal_of(self, connection: Connection, reason: str) -> None:
        self.warn(f"the connection from {connection.peer_name} is closed: {reason}")

    def later(self, delay_ms: int, action: Callable[[], None]) -> None:
        self._nursery.start_soon(_later, delay_ms, action)


_REGISTRATION_VERSION = 4


async def _later(delay_ms: int, action: Callable[[], None]) -> None:
    await trio.sleep(delay_ms / 1000)
    action()


def _disk_for(durability: Durability) -> Disk:
    if durability is Durability.MEMORY:
        from barnabas.storage.memory_disk import MemoryDisk

        return MemoryDisk()
    return SystemDisk()


def _draw(random_bytes: Callable[[int], bytes], length: int) -> Iterator[bytes]:
    while True:
        yield random_bytes(length)
