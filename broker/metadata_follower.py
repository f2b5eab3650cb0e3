"""What a commit of the metadata changes in a running node: partitions, configuration, quotas, groups."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.configuration.dynamic import keep_valid
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.broker.log_directory_paths import cordoned_directories
from barnabas.broker.registration import register_directories
from barnabas.broker.throttling import throttles_for
from barnabas.coordination.cluster.configs import ALL_BROKERS, ResourceType, broker_resource
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.metadata_version import METADATA_VERSION

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["MetadataFollower"]


class MetadataFollower:
    def __init__(self, node: Node) -> None:
        self._node = node

    def begin(self) -> None:
        """With the configuration and the quotas that the log has at the start; partitions come when they are loaded."""
        self._configure()
        self._set_quotas()

    def follow(self, delta: ImageDelta) -> None:
        node = self._node
        node.elections.note(delta)
        if delta.quotas:
            self._set_quotas()
        if delta.configs & {ALL_BROKERS, broker_resource(node.node_id)}:
            cordoned = node.directories.cordoned
            self._configure()
            node.replica_throttles.set_rates(node.config)
            node.fetchers.configure()
            if cordoned != node.directories.cordoned:
                # The controller places no more partitions there from now on.
                node.heartbeats.soon()
        if node.telemetry is not None and any(one.type == ResourceType.CLIENT_METRICS for one in delta.configs):
            node.telemetry.subscribe()
        if METADATA_VERSION in delta.features:
            node.start_soon(register_directories, node)
        node.partitions.follow(delta)
        if delta.topics_deleted:
            node.groups.topics_deleted({topic.name: topic.id for topic in delta.topics_deleted.values()})

    def _set_quotas(self) -> None:
        node = self._node
        node.throttles = throttles_for(node, node.image.quotas, node.throttles)

    def _configure(self) -> None:
        node, configs = self._node, self._node.image.configs
        cluster, notices = keep_valid(configs.of(ALL_BROKERS), of_one_broker=False)
        broker, more = keep_valid(configs.of(broker_resource(node.node_id)), of_one_broker=True)
        for notice in (*notices, *more):
            node.warn(notice.text)
        try:
            node.config = node.static_config.with_dynamic(cluster, broker)
        except ConfigurationError as error:
            node.warn(f"the configurations of the running broker do not fit together, and nothing changes: {error}")
        node.directories.cordoned = cordoned_directories(node.config)
