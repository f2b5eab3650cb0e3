"""What the controller has to ask those who know configurations: which there are, what they may be, what holds."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple, Protocol

from barnabas.coordination.cluster.configs import ConfigResource

__all__ = ["ConfigLayers", "ConfigRules"]

from barnabas.protocol.messages.create_topics import CreatableTopicConfigs


class ConfigLayers(NamedTuple):
    """What is set for a topic, and what holds where it is silent: each layer counts before the next. Below all of
    them lie the node's own file and Kafka's defaults, which the rules know themselves."""

    topic: Mapping[str, str]
    node: Mapping[str, str]
    """Of the controller's own node, under brokers' names for them."""
    cluster: Mapping[str, str]


class ConfigRules(Protocol):
    def validate(self, resource: ConfigResource, configs: Mapping[str, str], previous: Mapping[str, str]) -> None:
        """Raise KafkaError unless `configs` may take the place of `previous`: INVALID_CONFIG for names and values,
        INVALID_REQUEST for resources that cannot be. Of brokers the controller only checks the name."""

    def validate_for_broker(self, resource: ConfigResource, configs: Mapping[str, str]) -> None:
        """What a broker checks of its own dynamic configurations, or those of all brokers, before the controller gets
        to see them: KafkaError, mostly INVALID_REQUEST."""

    def is_list(self, resource_type: int, name: str) -> bool | None:
        """Whether values can be appended; None for a name that there is not."""

    def default(self, resource_type: int, name: str) -> str | None:
        """As text; None where there is none."""

    def topic_value(self, name: str, layers: ConfigLayers) -> str:
        """The one value that counts."""

    def describe_topic(self, layers: ConfigLayers) -> Sequence[CreatableTopicConfigs]:
        """Every configuration of a topic with its value and where that comes from, sorted by name."""
