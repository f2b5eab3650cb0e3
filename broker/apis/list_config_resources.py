"""ListConfigResources, versions 0 and 1: what can be described. Version 0 is ListClientMetricsResources, and knows of
nothing else. Topics and brokers are listed whether or not they have configurations of their own, groups and
subscriptions if they have."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.cluster.configs import ResourceType
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.list_config_resources import (
    ConfigResource,
    ListConfigResourcesRequest,
    ListConfigResourcesResponse,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

ALL = (
    ResourceType.GROUP,
    ResourceType.CLIENT_METRICS,
    ResourceType.BROKER_LOGGER,
    ResourceType.BROKER,
    ResourceType.TOPIC,
)


def handle(node: Node, call: Call, request: ListConfigResourcesRequest) -> ListConfigResourcesResponse:
    supported = ALL if call.version else (ResourceType.CLIENT_METRICS,)
    if not set(request.resource_types) <= set(supported):
        return ListConfigResourcesResponse(error_code=ErrorCode.UNSUPPORTED_VERSION)
    wanted = request.resource_types or supported
    return ListConfigResourcesResponse(
        config_resources=[
            ConfigResource(resource_name=name, resource_type=kind)
            for kind in ALL
            if kind in wanted
            for name in _names(node, call, kind)
        ]
    )


def _names(node: Node, call: Call, kind: ResourceType) -> Iterable[str]:
    match kind:
        case ResourceType.TOPIC:
            return node.image.topics.by_name
        case ResourceType.BROKER | ResourceType.BROKER_LOGGER:
            listener = call.connection.listener
            return [
                str(broker.id)
                for broker in node.image.brokers.values()
                if any(endpoint.name == listener for endpoint in broker.endpoints)
            ]
        case _:
            return [resource.name for resource in node.image.configs.by_resource if resource.type == kind]


def refused(_call: Call, _request: ListConfigResourcesRequest, error: KafkaError) -> ListConfigResourcesResponse:
    return ListConfigResourcesResponse(error_code=error.code)
