"""The controller of a node as it starts: its log is replayed, and it becomes the active one of a quorum of one."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

from barnabas.broker.broker_news import tell_of_brokers
from barnabas.broker.config_rules import NodeConfigRules
from barnabas.broker.configuration.describe import topic_config
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.controller import ControllerService
from barnabas.broker.metadata_log import metadata_log_config
from barnabas.broker.own_metadata_log import OwnMetadataLog
from barnabas.broker.quorum import voter
from barnabas.broker.registration import controller_addresses
from barnabas.coordination.cluster.delta import ImageDelta
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.storage.durability import Durability
from barnabas.storage.topic_config import TopicConfig

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["log_config", "open_controller", "open_metadata_log"]


def open_metadata_log(node: Node) -> OwnMetadataLog:
    """The node's image is as the log has it then."""
    config = node.config
    addresses = controller_addresses(config.advertised_controller_listeners, node.controller_listeners)
    journal = OwnMetadataLog(
        node.disk,
        node.directories.metadata.path,
        ours=voter(node.node_id, node.directory_id, addresses),
        static=bool(config.controller_quorum_voters),
        config=log_config(config),
        now_ms=node.clock.now_ms(),
        report=node.warn,
    )
    journal.replay(node.image)
    return journal


def log_config(config: NodeConfig) -> TopicConfig:
    """Of the metadata log."""
    return metadata_log_config(
        config.internal_metadata_log_segment_bytes or config.metadata_log_segment_bytes,
        config.metadata_log_segment_ms,
        config.internal_metadata_max_batch_size_in_bytes,
    )


def open_controller(node: Node, journal: OwnMetadataLog) -> ControllerService:
    """Of the node's journal, in a new epoch. It decides on a copy of the node's image, which follows each commit."""
    now_ms = node.clock.now_ms()
    rules = NodeConfigRules(node.config, lambda: node.config)
    controller = Controller(_settings(node), rules, copy_of(node.image))
    journal.begin_epoch(now_ms)
    # Whoever had this node's id before is gone: we hold its directories.
    controller.activate(node.clock.steady.now_ms(), gone={node.node_id})

    def follow(delta: ImageDelta) -> None:
        tell_of_brokers(node, delta)
        node.metadata_follower.follow(delta)

    return ControllerService(
        controller,
        journal,
        node.image,
        node.clock,
        on_change=follow,
        on_failure=node.disk_failures.metadata_failed,
        on_broken=lambda error: node.fail(f"The node stops: its controller cannot apply what it has decided: {error}"),
        after_commit=node.metadata_upkeep.after_commit,
        sync_in_thread=node.durability is not Durability.MEMORY,
        preparation=lambda records: node.partitions.preparation(
            records, controller.image, partial(topic_config, node.config)
        ),
    )


def _settings(node: Node) -> ControllerSettings:
    config = node.config
    return ControllerSettings(
        cluster_id=node.cluster_id,
        node_id=node.node_id,
        voter_ids=(node.node_id,),
        kraft_version=node.journal.kraft_version,
        default_partitions=config.num_partitions,
        default_replication_factor=config.default_replication_factor,
        min_insync_replicas=config.topic_defaults.min_insync_replicas,
        delete_topic_enable=config.delete_topic_enable,
        session_timeout_ms=config.broker_session_timeout_ms,
    )
