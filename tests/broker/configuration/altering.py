"""A controller that goes by a node's own rules is asked to alter configurations of topics and brokers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from barnabas.broker.config_rules import NodeConfigRules
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.metadata_version import LATEST_METADATA_VERSION, MetadataVersion
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.coordination.controller.settings import ControllerSettings
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.records.cluster_metadata import ConfigRecord, TopicRecord
from barnabas.protocol.schema import Uuid

TOPIC, BROKER = 2, 4
SET, DELETE, APPEND, SUBTRACT = range(4)


class Change(NamedTuple):
    name: str
    operation: int
    value: str | None


Written = dict[str, str | None]
"""A name with its value, or with None where it is removed."""


def alter(
    config: NodeConfig,
    kind: int,
    name: str,
    stored: Mapping[str, str],
    changes: Sequence[Change],
    *,
    eligible_leader_replicas: bool = True,
) -> Written:
    """IncrementalAlterConfigs; KafkaError if it is refused."""
    configs = [AlterableConfig(name=key, config_operation=operation, value=text) for key, operation, text in changes]
    request = IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)]
    )
    controller = _controller(config, kind, name, stored, eligible_leader_replicas)
    outcome = incremental_alter_configs(controller, request)
    assert outcome.reply is not None
    (answer,) = outcome.reply.responses
    return _written(outcome.records, answer.error_code, answer.error_message)


def replace(
    config: NodeConfig, kind: int, name: str, stored: Mapping[str, str], wanted: Mapping[str, str | None]
) -> Written:
    """AlterConfigs; KafkaError if it is refused."""
    configs = [legacy.AlterableConfig(name=key, value=text) for key, text in wanted.items()]
    request = legacy.AlterConfigsRequest(
        resources=[legacy.AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)]
    )
    outcome = alter_configs(_controller(config, kind, name, stored, eligible_leader_replicas=True), request)
    assert outcome.reply is not None
    (answer,) = outcome.reply.responses
    return _written(outcome.records, answer.error_code, answer.error_message)


def _controller(
    config: NodeConfig, kind: int, name: str, stored: Mapping[str, str], eligible_leader_replicas: bool
) -> Controller:
    """Of a cluster in which the resource has what is `stored`."""
    settings = ControllerSettings(cluster_id="castle", node_id=config.node_id, voter_ids=(config.node_id,))
    controller = Controller(settings, NodeConfigRules(config, lambda: config))
    version = LATEST_METADATA_VERSION if eligible_leader_replicas else MetadataVersion.V4_0_IV3
    controller.apply(activate(controller, bootstrap_records(version)), 0)
    assert controller.image.eligible_leader_replicas_enabled is eligible_leader_replicas
    records: list[TopicRecord | ConfigRecord] = []
    if kind == TOPIC:
        records.append(TopicRecord(name=name, topic_id=Uuid(range(16))))
    records += [
        ConfigRecord(resource_type=kind, resource_name=name, name=key, value=text) for key, text in stored.items()
    ]
    controller.image.apply_batch([MetadataRecord(record) for record in records], controller.image.next_offset)
    return controller


def _written(records: Sequence[MetadataRecord], error_code: int, error_message: str | None) -> Written:
    if error_code:
        assert not records
        raise KafkaError(ErrorCode(error_code), error_message or "")
    messages = (record.message for record in records)
    return {message.name: message.value for message in messages if isinstance(message, ConfigRecord)}
