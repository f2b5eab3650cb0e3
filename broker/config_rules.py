"""What the controller asks about configurations, answered by the tables of broker/configuration and storage."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress

from barnabas.broker.configuration.client_metrics_configs import check_client_metrics
from barnabas.broker.configuration.describe import describe_topic
from barnabas.broker.configuration.dynamic import check_dynamic, keep_valid
from barnabas.broker.configuration.group_configs import check_group
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.values import ConfigurationError
from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.controller.config_rules import ConfigLayers
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.java_text import parse_integer
from barnabas.protocol.messages.create_topics import CreatableTopicConfigs
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig

__all__ = ["NodeConfigRules"]

_TABLES: Mapping[int, Mapping[str, object]] = {ResourceType.TOPIC: TOPIC_CONFIGS, ResourceType.BROKER: KEYS}
"""Kafka's controller knows of no lists but these, and so nothing is appended to the metrics of a subscription."""


class NodeConfigRules:
    """A ConfigRules. Values are checked against what the running node goes by, as Kafka does; what a topic's value is,
    the layers say that the controller has, which may be ahead of it."""

    def __init__(self, static: NodeConfig, current: Callable[[], NodeConfig]) -> None:
        self._static = static
        self._current = current
        self._cluster: dict[str, str] = {}
        self._node: dict[str, str] = {}
        self._layered = static.with_dynamic({}, {})
        self._defaults: Sequence[CreatableTopicConfigs] = ()

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], previous: Mapping[str, str]) -> None:
        match resource.type:
            case ResourceType.TOPIC:
                _check_topic_name(resource.name)
                TopicConfig.parse(configs, self._current().topic_defaults, previous=previous)
            case ResourceType.BROKER:
                _check_broker_name(resource.name)
            case ResourceType.CLIENT_METRICS:
                check_client_metrics(resource.name, configs)
            case ResourceType.GROUP:
                if not resource.name:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the group is empty.")
                check_group(self._current(), configs)
            case _:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Resources of type {resource.type} are not configured.")

    def validate_for_broker(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        check_dynamic(self._current(), configs, of_one_broker=bool(resource.name))

    def is_list(self, resource_type: int, name: str) -> bool | None:
        key = _TABLES.get(resource_type, {}).get(name)
        return None if key is None else key.type.name == "LIST"  # type: ignore[attr-defined] # every key has a type

    def default(self, resource_type: int, name: str) -> str | None:
        """Kafka's own, whatever this node's file says: it is what a list is appended to that nobody has set."""
        key = _TABLES.get(resource_type, {}).get(name)
        return None if key is None else as_text(key.default)  # type: ignore[attr-defined] # every key has a default

    def topic_value(self, name: str, layers: ConfigLayers) -> str:
        if name in layers.topic:
            return layers.topic[name]
        return as_text(getattr(self._with(layers).topic_defaults, TOPIC_CONFIGS[name].field)) or ""

    def describe_topic(self, layers: ConfigLayers) -> Sequence[CreatableTopicConfigs]:
        config = self._with(layers)
        if layers.topic:
            return _described(config, layers.topic)
        # Most topics come without configurations of their own: then all have the same.
        if not self._defaults:
            self._defaults = _described(config, {})
        return self._defaults

    def _with(self, layers: ConfigLayers) -> NodeConfig:
        """What the file and the layers come to. They change seldom, and are asked of with every topic."""
        if layers.cluster != self._cluster or layers.node != self._node:
            cluster, _ = keep_valid(layers.cluster, of_one_broker=False)
            node, _ = keep_valid(layers.node, of_one_broker=True)
            self._cluster, self._node = dict(layers.cluster), dict(layers.node)
            self._defaults = ()
            # What does not fit together leaves what was there before, as it does for the node itself.
            with suppress(ConfigurationError):
                self._layered = self._static.with_dynamic(cluster, node)
        return self._layered


def _described(config: NodeConfig, overrides: Mapping[str, str]) -> list[CreatableTopicConfigs]:
    return [
        CreatableTopicConfigs(
            name=one.name,
            # As its creator wrote it, where DescribeConfigs says what was understood.
            value=overrides.get(one.name, one.value),
            read_only=one.read_only,
            config_source=one.source,
            is_sensitive=one.sensitive,
        )
        for one in describe_topic(config, overrides)
    ]


def _check_topic_name(name: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the topic is empty.")
    why = why_invalid(name)
    if why:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)


def _check_broker_name(name: str) -> None:
    try:
        known = not name or parse_integer(name, 32) >= 0
    except ValueError:
        known = False
    if not known:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{name[:100]!r} is not the number of a broker.")
