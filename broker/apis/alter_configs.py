"""AlterConfigs, versions 0 to 2: all configurations of a resource at once; what is not named goes back to its default.

Clients should ask IncrementalAlterConfigs, which does not undo what others set.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.alter_configs import alter_configs
from barnabas.coordination.controller.config_requests import refusals
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.alter_configs import (
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: AlterConfigsRequest) -> AlterConfigsResponse:
    return await node.controller.decide(lambda controller, _now_ms: alter_configs(controller, request))


def refused(_call: Call, request: AlterConfigsRequest, error: KafkaError) -> AlterConfigsResponse:
    return AlterConfigsResponse(responses=refusals(AlterConfigsResourceResponse, request.resources, error))
