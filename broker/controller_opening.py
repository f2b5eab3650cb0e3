"""The controller of a node as it starts: its log is replayed, and it becomes the active one of a quorum of one."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.config_rules import NodeConfigRules
from barnabas.broker.configuration.describe import topic_config
from barnabas.broker.controller import ControllerService
from barnabas.broker.metadata_log import MetadataLog, metadata_log_config
from barnabas.broker.partitions import overrides_of
from barnabas.broker.quorum import voter
from barnabas.broker.registration import controller_addresses
from barnabas.coordination.cluster.image_copy import copy_of
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.storage.durability import Durability

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["open_controller", "open_metadata_log"]


def open_metadata_log(node: Node) -> MetadataLog:
    """The node's image is as the log has it then."""
    config = node.config
    addresses = controller_addresses(config.advertised_controller_listeners, node.controller_listeners)
    journal = MetadataLog(
        node.disk,
        node.directories.metadata.path,
        ours=voter(node.node_id, node.directory_id, addresses),
        static=bool(config.controller_quorum_voters),
        config=metadata_log_config(
            config.internal_metadata_log_segment_bytes or config.metadata_log_segment_bytes,
            config.metadata_log_segment_ms,
            config.internal_metadata_max_batch_size_in_bytes,
        ),
        now_ms=node.clock.now_ms(),
        report=node.warn,
    )
    journal.replay(node.image)
    return journal


def open_controller(node: Node) -> ControllerService:
    """Of the node's journal, in a new epoch. It decides on a copy of the node's image, which follows each commit."""
    now_ms = node.clock.now_ms()
    rules = NodeConfigRules(node.config, lambda: node.config)
    controller = Controller(_settings(node), rules, copy_of(node.image))
    node.journal.begin_epoch(now_ms)
    # Whoever had this node's id before is gone: we hold its directories.
    controller.activate(now_ms, gone={node.node_id})
    return ControllerService(
        controller,
        node.journal,
        node.image,
        node.clock,
        on_change=node.metadata_follower.follow,
        on_failure=node.disk_failures.metadata_failed,
        after_commit=node.metadata_upkeep.after_commit,
        sync_in_thread=node.durability is not Durability.MEMORY,
        preparation=lambda records: node.partitions.preparation(
            records, controller.image, lambda topic: topic_config(node.config, overrides_of(controller.image, topic))
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
