"""The configurations that a cluster keeps: of topics, brokers, their loggers, groups and the metrics of clients."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from enum import IntEnum
from typing import NamedTuple

from barnabas.client.cluster import Cluster, check
from barnabas.protocol.apis import APIS
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResourceResult,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest, ListConfigResourcesResponse

__all__ = ["Resource", "ResourceKind", "Source", "alter_configs", "describe_configs", "list_config_resources"]

_SET, _DELETE = 0, 1
_FIRST_WITH_DOCUMENTATION = 3


class ResourceKind(IntEnum):
    TOPIC = 2
    BROKER = 4
    BROKER_LOGGER = 8
    CLIENT_METRICS = 16
    GROUP = 32


class Source(IntEnum):
    """Where a value comes from, by Kafka's names."""

    UNKNOWN = 0
    DYNAMIC_TOPIC_CONFIG = 1
    DYNAMIC_BROKER_CONFIG = 2
    DYNAMIC_DEFAULT_BROKER_CONFIG = 3
    STATIC_BROKER_CONFIG = 4
    DEFAULT_CONFIG = 5
    DYNAMIC_BROKER_LOGGER_CONFIG = 6
    DYNAMIC_CLIENT_METRICS_CONFIG = 7
    DYNAMIC_GROUP_CONFIG = 8

    @classmethod
    def _missing_(cls, _value: object) -> Source:
        return cls.UNKNOWN


class Resource(NamedTuple):
    kind: ResourceKind
    name: str
    """Of a broker its number; empty for what holds for all brokers."""

    def __str__(self) -> str:
        return f"{self.kind.name.lower().replace('_', ' ')} {self.name or 'defaults'}"

    @property
    def node_id(self) -> int | None:
        """The broker that alone can answer for it."""
        is_brokers = self.kind in (ResourceKind.BROKER, ResourceKind.BROKER_LOGGER)
        return int(self.name) if is_brokers and self.name else None


def describe_configs(
    cluster: Cluster, resources: Iterable[Resource], *, synonyms: bool = False, documentation: bool = False
) -> dict[Resource, list[DescribeConfigsResourceResult]]:
    """All that each has, in the broker's order; KafkaError for one that is not there."""
    found: dict[Resource, list[DescribeConfigsResourceResult]] = {}
    for node_id, asked in _by_node(resources).items():
        request = DescribeConfigsRequest(
            resources=[
                DescribeConfigsResource(resource_type=each.kind, resource_name=each.name, configuration_keys=None)
                for each in asked
            ],
            include_synonyms=synonyms,
            include_documentation=documentation and _tells_documentation(cluster),
        )
        if node_id is None:
            answer = cluster.ask(request, DescribeConfigsResponse)
        else:
            answer = cluster.ask_node(node_id, request, DescribeConfigsResponse)
        for result in answer.results:
            resource = Resource(ResourceKind(result.resource_type), result.resource_name)
            check(result.error_code, result.error_message or str(resource))
            found[resource] = result.configs
    return found


def alter_configs(
    cluster: Cluster, resource: Resource, values: Mapping[str, str], removed: Iterable[str] = (), *, dry: bool = False
) -> None:
    """These keys get these values, those that are removed what they would be without; all others stay as they are."""
    changes = [AlterableConfig(name=key, config_operation=_DELETE, value="") for key in removed]
    changes += [AlterableConfig(name=key, config_operation=_SET, value=value) for key, value in values.items()]
    altered = AlterConfigsResource(resource_type=resource.kind, resource_name=resource.name, configs=changes)
    request = IncrementalAlterConfigsRequest(resources=[altered], validate_only=dry)
    if resource.node_id is None:
        answer = cluster.ask_controller(request, IncrementalAlterConfigsResponse)
    else:
        answer = cluster.ask_node(resource.node_id, request, IncrementalAlterConfigsResponse)
    for response in answer.responses:
        check(response.error_code, response.error_message or str(resource))


def list_config_resources(cluster: Cluster, kind: ResourceKind) -> list[str]:
    """The names of those that have a configuration of their own. NotOffered by brokers before Kafka 4.1, but for
    client metrics, which are all that this question was about until then."""
    at_most = 0 if kind is ResourceKind.CLIENT_METRICS else None
    request = ListConfigResourcesRequest(resource_types=[] if at_most == 0 else [kind])
    answer = cluster.ask(request, ListConfigResourcesResponse, at_most=at_most)
    check(answer.error_code)
    return [each.resource_name for each in answer.config_resources if each.resource_type == kind]


def _by_node(resources: Iterable[Resource]) -> dict[int | None, list[Resource]]:
    found: dict[int | None, list[Resource]] = {}
    for resource in resources:
        found.setdefault(resource.node_id, []).append(resource)
    return found


def _tells_documentation(cluster: Cluster) -> bool:
    return cluster.version_of(APIS[DescribeConfigsRequest.__definition__.key]) >= _FIRST_WITH_DOCUMENTATION
