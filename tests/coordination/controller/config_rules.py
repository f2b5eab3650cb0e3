"""Configurations for tests: those of topics as storage/ knows them, and a few of the others."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.controller.config_rules import ConfigLayers
from barnabas.coordination.controller.topic_names import why_invalid
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_topics import CreatableTopicConfigs
from barnabas.storage.topic_config import KAFKA_DEFAULTS, TOPIC_CONFIGS, TopicConfig

# Where a value comes from, as CreateTopics numbers it.
TOPIC, NODE, CLUSTER, DEFAULT = 1, 2, 3, 5

BROKER_INTEGERS = {"log.retention.ms", "message.max.bytes", "min.insync.replicas", "log.cleaner.threads"}
BROKER_LISTS = {"cordoned.log.dirs": "", "log.cleanup.policy": "delete"}
GROUP_INTEGERS = {"consumer.session.timeout.ms": (45_000, 60_000), "consumer.heartbeat.interval.ms": (5_000, 15_000)}
CLIENT_METRICS = {"interval.ms", "metrics", "match"}


def invalid(code: ErrorCode) -> KafkaError:
    return KafkaError(code, "this value cannot be")


class TestRules:
    """A ConfigRules."""

    __test__ = False

    def validate(self, resource: ConfigResource, configs: Mapping[str, str], previous: Mapping[str, str]) -> None:
        match resource.type:
            case ResourceType.TOPIC:
                if not resource.name:
                    raise invalid(ErrorCode.INVALID_REQUEST)
                if why_invalid(resource.name):
                    raise invalid(ErrorCode.INVALID_TOPIC_EXCEPTION)
                TopicConfig.parse(configs, previous=previous)
            case ResourceType.BROKER:
                if resource.name and not resource.name.isdigit():
                    raise invalid(ErrorCode.INVALID_REQUEST)
            case ResourceType.CLIENT_METRICS:
                if not resource.name or not set(configs) <= CLIENT_METRICS:
                    raise invalid(ErrorCode.INVALID_REQUEST)
            case ResourceType.GROUP:
                self._validate_group(resource, configs)
            case _:
                raise invalid(ErrorCode.INVALID_REQUEST)

    def _validate_group(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        if not resource.name:
            raise invalid(ErrorCode.INVALID_REQUEST)
        for name, value in configs.items():
            if name not in GROUP_INTEGERS:
                raise invalid(ErrorCode.INVALID_CONFIG)
            lowest, highest = GROUP_INTEGERS[name]
            if not value.isdigit() or not lowest <= int(value) <= highest:
                raise invalid(ErrorCode.INVALID_CONFIG)

    def validate_for_broker(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        for name, value in configs.items():
            if name not in BROKER_INTEGERS and name not in BROKER_LISTS:
                raise invalid(ErrorCode.INVALID_REQUEST)
            if name in BROKER_INTEGERS and not value.lstrip("-").isdigit():
                raise invalid(ErrorCode.INVALID_REQUEST)

    def is_list(self, resource_type: int, name: str) -> bool | None:
        if resource_type == ResourceType.TOPIC:
            key = TOPIC_CONFIGS.get(name)
            return None if key is None else key.type.name == "LIST"
        if resource_type == ResourceType.BROKER:
            return name in BROKER_LISTS if name in BROKER_INTEGERS or name in BROKER_LISTS else None
        return None

    def default(self, resource_type: int, name: str) -> str | None:
        if resource_type == ResourceType.TOPIC:
            return as_text(getattr(KAFKA_DEFAULTS, TOPIC_CONFIGS[name].field))
        return BROKER_LISTS.get(name)

    def topic_value(self, name: str, layers: ConfigLayers) -> str:
        return self._find(name, layers)[0] or ""

    def describe_topic(self, layers: ConfigLayers) -> Sequence[CreatableTopicConfigs]:
        described = []
        for name in sorted(TOPIC_CONFIGS):
            if TOPIC_CONFIGS[name].internal and name not in layers.topic:
                continue
            value, source = self._find(name, layers)
            described.append(CreatableTopicConfigs(name=name, value=value, config_source=source))
        return described

    def _find(self, name: str, layers: ConfigLayers) -> tuple[str | None, int]:
        if name in layers.topic:
            return layers.topic[name], TOPIC
        server_names = TOPIC_CONFIGS[name].server_names
        for layer, source in ((layers.node, NODE), (layers.cluster, CLUSTER)):
            for server_name in server_names:
                if server_name in layer:
                    return layer[server_name], source
        return as_text(getattr(KAFKA_DEFAULTS, TOPIC_CONFIGS[name].field)), DEFAULT


def as_text(value: object) -> str | None:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return ",".join(value)
    return None if value is None else str(value)
