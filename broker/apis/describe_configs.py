"""DescribeConfigs, versions 1 to 4: of topics, this broker, all brokers, groups, subscriptions to clients' metrics, and
loggers. Each resource succeeds or fails for itself, but one of an unknown kind fails the request."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.configuration.describe import (
    Described,
    describe_broker,
    describe_client_metrics,
    describe_cluster,
    describe_group,
    describe_loggers,
    describe_topic,
)
from barnabas.broker.loggers import check_node, logger_levels
from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
    DescribeConfigsResult,
    DescribeConfigsSynonym,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, _call: Call, request: DescribeConfigsRequest) -> DescribeConfigsResponse:
    for resource in request.resources:
        if ResourceType(resource.resource_type) is ResourceType.UNKNOWN:
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no resource type {resource.resource_type}.")
    return DescribeConfigsResponse(results=[_describe(node, request, resource) for resource in request.resources])


def refused(_call: Call, request: DescribeConfigsRequest, error: KafkaError) -> DescribeConfigsResponse:
    return DescribeConfigsResponse(results=[_refused(resource, error) for resource in request.resources])


def _refused(resource: DescribeConfigsResource, error: KafkaError) -> DescribeConfigsResult:
    return DescribeConfigsResult(
        error_code=error.code,
        error_message=error.message,
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
    )


def _describe(node: Node, request: DescribeConfigsRequest, resource: DescribeConfigsResource) -> DescribeConfigsResult:
    try:
        described = _described(node, resource.resource_type, resource.resource_name, resource.configuration_keys)
        configs = [_written(one, request) for one in described]
    except KafkaError as error:
        return _refused(resource, error)
    return DescribeConfigsResult(
        resource_type=resource.resource_type,
        resource_name=resource.resource_name,
        configs=configs,
    )


def _described(node: Node, kind: int, name: str, names: Iterable[str] | None) -> Iterable[Described]:
    stored = node.image.configs.of(ConfigResource(kind, name))
    match ResourceType(kind):
        case ResourceType.TOPIC:
            why = why_invalid(name)
            if why:
                raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
            if name not in node.image.topics.by_name:
                # Kafka says no more of it.
                raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
            return describe_topic(node.config, stored, names)
        case ResourceType.BROKER if not name:
            return describe_cluster(node.config, names)
        case ResourceType.BROKER:
            check_node(name, node.node_id)
            return describe_broker(node.config, names)
        case ResourceType.BROKER_LOGGER:
            check_node(name, node.node_id)
            return describe_loggers(logger_levels(), names)
        case ResourceType.CLIENT_METRICS:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the client metrics subscription is empty.")
            return describe_client_metrics(stored, names)
        case _:
            if not name:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the group is empty.")
            return describe_group(node.config, stored, names)


def _written(one: Described, request: DescribeConfigsRequest) -> DescribeConfigsResourceResult:
    synonyms = one.synonyms if request.include_synonyms else ()
    return DescribeConfigsResourceResult(
        name=one.name,
        value=one.value,
        read_only=one.read_only,
        config_source=one.source,
        is_sensitive=one.sensitive,
        synonyms=[DescribeConfigsSynonym(name=each.name, value=each.value, source=each.source) for each in synonyms],
        config_type=one.type,
        # Kafka has an empty one for loggers, asked or not.
        documentation=one.documentation if request.include_documentation or not one.documentation else None,
    )
