"""IncrementalAlterConfigs, versions 0 and 1: single configurations of topics, brokers, groups and subscriptions are
set, removed, added to or taken from; and the levels of loggers, which no log keeps."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.loggers import alter_loggers, check_node
from barnabas.coordination.cluster.configs import ConfigResource
from barnabas.coordination.controller.config_requests import refusals
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    def alter(resource: ConfigResource, operations: Sequence[AlterableConfig]) -> None:
        check_node(resource.name, node.node_id)
        alter_loggers(operations, validate_only=request.validate_only)

    return await node.controller.decide(
        lambda controller, _now_ms: incremental_alter_configs(controller, request, alter_loggers=alter)
    )


def refused(_call: Call, request: IncrementalAlterConfigsRequest, error: KafkaError) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=refusals(AlterConfigsResourceResponse, request.resources, error))
