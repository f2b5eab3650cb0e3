"""Topics that nobody created: those that a client asks for while auto.create.topics.enable is set, and the cluster's
own when they are first needed."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["INTERNAL_TOPICS", "OFFSETS_TOPIC", "create_missing", "create_soon"]

OFFSETS_TOPIC = "__consumer_offsets"
TRANSACTIONS_TOPIC = "__transaction_state"
SHARE_STATE_TOPIC = "__share_group_state"
INTERNAL_TOPICS = frozenset({OFFSETS_TOPIC, TRANSACTIONS_TOPIC, SHARE_STATE_TOPIC})


async def create_missing(node: Node, names: Sequence[str]) -> dict[str, ErrorCode]:
    """The error codes of those that could not be created; one that somebody else created meanwhile is none."""
    request = CreateTopicsRequest(topics=[_creatable(node, name) for name in names])
    answer = await node.controller_link.ask(request, CreateTopicsResponse)
    failed = [
        topic for topic in answer.topics if topic.error_code not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS)
    ]
    for topic in failed:
        if topic.name in INTERNAL_TOPICS:
            # No client can mend this, and none is told more than that there is no coordinator.
            code = ErrorCode(topic.error_code).name
            node.warn(f"{topic.name} cannot be created: {code}: {topic.error_message or 'no more is known'}")
    return {topic.name: ErrorCode(topic.error_code) for topic in failed}


def _creatable(node: Node, name: str) -> CreatableTopic:
    config = node.config
    if name == OFFSETS_TOPIC:
        partitions, segment_bytes = config.offsets_topic_num_partitions, config.offsets_topic_segment_bytes
        replicas = _fitted(node, "offsets.topic.replication.factor")
        configs = {"cleanup.policy": "compact", "compression.type": "producer"}
    elif name == TRANSACTIONS_TOPIC:
        partitions = config.transaction_state_log_num_partitions
        segment_bytes = config.transaction_state_log_segment_bytes
        replicas = _fitted(node, "transaction.state.log.replication.factor")
        configs = {
            "cleanup.policy": "compact",
            "compression.type": "uncompressed",
            "min.insync.replicas": str(_fitted(node, "transaction.state.log.min.isr")),
            "unclean.leader.election.enable": "false",
        }
    elif name == SHARE_STATE_TOPIC:
        partitions = config.share_coordinator_state_topic_num_partitions
        segment_bytes = config.share_coordinator_state_topic_segment_bytes
        replicas = _fitted(node, "share.coordinator.state.topic.replication.factor")
        configs = {
            # Its coordinator deletes up to what it needs no more.
            "cleanup.policy": "delete",
            "compression.type": "producer",
            "min.insync.replicas": str(_fitted(node, "share.coordinator.state.topic.min.isr")),
            "retention.ms": "-1",
        }
    else:
        return CreatableTopic(name=name, num_partitions=-1, replication_factor=-1)
    configs["segment.bytes"] = str(segment_bytes)
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )


def _fitted(node: Node, name: str) -> int:
    live = sum(not broker.fenced for broker in node.image.brokers.values())
    return node.config.fitted_to_brokers(name, live)


def create_soon(node: Node, names: Sequence[str]) -> None:
    """Nobody waits for it. Of a name that clients ask for again and again meanwhile one creation is under way."""
    wanted = [name for name in names if name not in node.being_created]
    if wanted:
        node.being_created.update(wanted)
        node.start_soon(_create, node, wanted)


async def _create(node: Node, names: Sequence[str]) -> None:
    try:
        errors = await create_missing(node, names)
    except KafkaError as error:
        errors = dict.fromkeys(names, error.code)
    except Exception as error:  # noqa: BLE001 - nobody waits here, and the node shall not end with it
        node.report_exception(f"{', '.join(names)} could not be created", error)
        return
    finally:
        node.being_created.difference_update(names)
    for name, code in errors.items():
        if name not in INTERNAL_TOPICS:
            # The clients are told nothing but that there is no such topic.
            node.warn(f"{name}, which a client asked for, cannot be created: {code.name}")
