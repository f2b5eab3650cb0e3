"""IncrementalAlterConfigs, versions 0 and 1: single configurations of topics, brokers, groups and subscriptions are
set, removed, added to or taken from; and the levels of loggers, which no log keeps."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.forwarding import forward
from barnabas.broker.loggers import alter_loggers, check_node
from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
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


async def handle(node: Node, call: Call, request: IncrementalAlterConfigsRequest) -> IncrementalAlterConfigsResponse:
    def alter(resource: ConfigResource, operations: Sequence[AlterableConfig]) -> None:
        check_node(resource.name, node.node_id)
        alter_loggers(operations, validate_only=request.validate_only)

    if not node.config.is_controller:
        return await _with_the_controller(node, call, request, alter)
    return await node.controller.decide(
        lambda controller, _now_ms: incremental_alter_configs(controller, request, alter_loggers=alter)
    )


async def _with_the_controller(
    node: Node,
    call: Call,
    request: IncrementalAlterConfigsRequest,
    alter: Callable[[ConfigResource, Sequence[AlterableConfig]], None],
) -> IncrementalAlterConfigsResponse:
    """The loggers are this node's own, all else is the controller's, which is another node."""
    own = [each for each in request.resources if each.resource_type == ResourceType.BROKER_LOGGER]
    rest = [each for each in request.resources if each.resource_type != ResourceType.BROKER_LOGGER]
    answer = IncrementalAlterConfigsResponse()
    if rest or not own:
        passed_on = IncrementalAlterConfigsRequest(resources=rest, validate_only=request.validate_only)
        told = await forward(node, call, passed_on)
        assert isinstance(told, IncrementalAlterConfigsResponse)
        answer = told
    for each in own:
        response = AlterConfigsResourceResponse(resource_type=each.resource_type, resource_name=each.resource_name)
        try:
            alter(ConfigResource(each.resource_type, each.resource_name), each.configs)
        except KafkaError as error:
            response.error_code, response.error_message = error.code, error.message or None
        answer.responses.append(response)
    return answer


def refused(_call: Call, request: IncrementalAlterConfigsRequest, error: KafkaError) -> IncrementalAlterConfigsResponse:
    return IncrementalAlterConfigsResponse(responses=refusals(AlterConfigsResourceResponse, request.resources, error))
