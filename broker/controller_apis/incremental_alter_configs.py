"""IncrementalAlterConfigs, versions 0 and 1, of a controller: by brokers that pass it on, or asked of the controller
itself. The levels of its own loggers are altered here, too."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from barnabas.broker.apis.incremental_alter_configs import refused as refused
from barnabas.broker.call import Call
from barnabas.broker.loggers import alter_loggers, check_node
from barnabas.coordination.cluster.configs import ConfigResource
from barnabas.coordination.controller.incremental_alter_configs import incremental_alter_configs
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    def alter(resource: ConfigResource, operations: Sequence[AlterableConfig]) -> None:
        check_node(resource.name, node.node_id)
        alter_loggers(operations, validate_only=request.validate_only)

    return await node.controller.decide(
        lambda controller, _now_ms: incremental_alter_configs(
            controller, request, at_broker=False, forwarded=call.is_forwarded, alter_loggers=alter
        )
    )
