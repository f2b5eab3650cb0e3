"""What the controller asks about configurations, answered by the tables of broker/configuration and storage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.broker.configuration.describe import describe_topic
from barnabas.broker.configuration.dynamic import check_dynamic
from barnabas.broker.configuration.key import as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.controller.config_rules import ConfigLayers
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_topics import CreatableTopicConfigs
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig

__all__ = ["NodeConfigRules"]


class NodeConfigRules:
    """A ConfigRules."""

    def __init__(self, config: NodeConfig) -> None:
        self._config = config
        self._latest: tuple[tuple[dict[str, str], dict[str, str]], NodeConfig] | None = None

    def _with(self, layers: ConfigLayers) -> NodeConfig:
        """A change of many partitions asks for the same again and again, and reading it takes milliseconds."""
        key = (dict(layers.cluster), dict(layers.node))
        if self._latest is None or self._latest[0] != key:
            self._latest = key, self._config.with_dynamic(layers.cluster, layers.node)
        return self._latest[1]

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], previous: Mapping[str, str]) -> None:
        match resource.type:
            case ResourceType.TOPIC:
                _check_topic_name(resource.name)
                TopicConfig.parse(configs, self._config.topic_defaults, previous=previous)
            case ResourceType.BROKER:
                if resource.name and not (resource.name.isascii() and resource.name.isdigit()):
                    raise KafkaError(
                        ErrorCode.INVALID_REQUEST, f"{resource.name[:100]!r} is not the number of a broker."
                    )
            case _:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"Resources of type {resource.type} are not configured.")

    def validate_for_broker(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        check_dynamic(self._config, configs, of_one_broker=bool(resource.name))

    def is_list(self, resource_type: int, name: str) -> bool | None:
        table = TOPIC_CONFIGS if resource_type == ResourceType.TOPIC else KEYS
        key = table.get(name)
        return None if key is None else key.type.name == "LIST"

    def default(self, resource_type: int, name: str) -> str | None:
        if resource_type == ResourceType.TOPIC:
            return as_text(getattr(self._config.topic_defaults, TOPIC_CONFIGS[name].field))
        return as_text(KEYS[name].default)

    def topic_value(self, name: str, layers: ConfigLayers) -> str:
        if name in layers.topic:
            return layers.topic[name]
        config = self._with(layers)
        return as_text(getattr(config.topic_defaults, TOPIC_CONFIGS[name].field)) or ""

    def describe_topic(self, layers: ConfigLayers) -> Sequence[CreatableTopicConfigs]:
        config = self._with(layers)
        return [
            CreatableTopicConfigs(
                name=one.name,
                value=one.value,
                read_only=one.read_only,
                config_source=one.source,
                is_sensitive=one.sensitive,
            )
            for one in describe_topic(config, layers.topic)
        ]


def _check_topic_name(name: str) -> None:
    if not name:
        raise KafkaError(ErrorCode.INVALID_REQUEST, "The name of the topic is empty.")
    why = why_invalid(name)
    if why:
        raise KafkaError(ErrorCode.INVALID_TOPIC_EXCEPTION, why)
