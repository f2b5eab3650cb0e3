"""What DescribeConfigs answers: every configuration of a broker, a topic, a group, a subscription to clients' metrics
or a logger with its value, where that comes from, and all names and places that it could have come from, the one that
counts in front.

Kafka hides what is sensitive, and takes for sensitive what it does not know.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from typing import NamedTuple

from barnabas.broker.configuration.barnabas_defaults import default_of
from barnabas.broker.configuration.client_metrics_configs import CLIENT_METRICS_CONFIGS, client_metrics_values
from barnabas.broker.configuration.group_configs import GROUP_CONFIGS, group_values
from barnabas.broker.configuration.key import REQUIRED, ConfigType, Mode, as_text
from barnabas.broker.configuration.keys import KEYS
from barnabas.broker.configuration.node_config import NodeConfig
from barnabas.broker.configuration.synonyms import key_of, synonyms_of
from barnabas.broker.configuration.topic_documentation import TOPIC_DOCUMENTATION
from barnabas.storage.topic_config import TOPIC_CONFIGS, TopicConfig

__all__ = [
    "Described",
    "Source",
    "Synonym",
    "describe_broker",
    "describe_client_metrics",
    "describe_cluster",
    "describe_group",
    "describe_loggers",
    "describe_topic",
    "topic_config",
]


class Source(IntEnum):
    """Where a value comes from, as DescribeConfigs writes it."""

    TOPIC = 1
    DYNAMIC_BROKER = 2
    DYNAMIC_DEFAULT_BROKER = 3
    STATIC_BROKER = 4
    DEFAULT = 5
    LOGGER = 6
    CLIENT_METRICS = 7
    GROUP = 8


class Synonym(NamedTuple):
    name: str
    value: str | None
    source: Source


class Described(NamedTuple):
    name: str
    value: str | None
    source: Source
    sensitive: bool
    read_only: bool
    synonyms: tuple[Synonym, ...]
    type: ConfigType
    documentation: str | None


def describe_broker(config: NodeConfig, names: Iterable[str] | None = None) -> Iterator[Described]:
    """What a broker is asked about itself, all or some names."""
    for name in _wanted(names, _names_of_broker(config)):
        key = key_of(name)
        known = name in KEYS and not KEYS[name].dynamic_only and not KEYS[name].internal
        value = as_text(config.values[name]) if known else config.texts[name]
        synonyms = tuple(_broker_synonyms(config, name))
        yield _described_broker_key(name, value, synonyms, key.sensitive if key else True)


def describe_cluster(config: NodeConfig, names: Iterable[str] | None = None) -> Iterator[Described]:
    """What is set for all brokers together while they run: a broker resource without a name."""
    for name in _wanted(names, sorted(config.cluster)):
        key = key_of(name)
        synonyms = (one for one in _broker_synonyms(config, name) if one.source is Source.DYNAMIC_DEFAULT_BROKER)
        yield _described_broker_key(name, config.cluster[name], tuple(synonyms), key.sensitive if key else True)


def topic_config(config: NodeConfig, overrides: Mapping[str, str]) -> TopicConfig:
    """What a topic with these configurations of its own does, on this broker."""
    return TopicConfig.load(overrides, config.topic_defaults)


def describe_topic(
    config: NodeConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> Iterator[Described]:
    effective = topic_config(config, overrides)
    visible = {key.name for key in TOPIC_CONFIGS.values() if not key.internal} | set(overrides)
    for name in _wanted(names, sorted(visible)):
        key = TOPIC_CONFIGS.get(name)
        value = as_text(getattr(effective, key.field)) if key else None
        synonyms = list(_broker_synonyms(config, key.server_names[0])) if key and key.server_names else []
        if name in overrides:
            synonyms.insert(0, Synonym(name, value, Source.TOPIC))
        yield Described(
            name,
            value,
            synonyms[0].source if synonyms else Source.DEFAULT,
            key is None,
            False,
            tuple(synonyms),
            ConfigType[key.type.name] if key else ConfigType.UNKNOWN,
            TOPIC_DOCUMENTATION.get(name),
        )


def describe_group(
    config: NodeConfig, overrides: Mapping[str, str], names: Iterable[str] | None = None
) -> Iterator[Described]:
    """Of any name: Kafka does not ask whether there is such a group."""
    values = group_values(config, overrides)
    for name in _wanted(names, sorted(values.keys() | overrides.keys())):
        key = GROUP_CONFIGS.get(name)
        value = as_text(values[name]) if key else None
        synonyms: list[Synonym] = []
        if key and key.synonym:
            synonyms = list(_broker_synonyms(config, key.synonym))
        elif key:
            synonyms = [Synonym(name, as_text(key.default), Source.DEFAULT)]
        if name in overrides:
            synonyms.insert(0, Synonym(name, value, Source.GROUP))
        yield _described_own_key(
            name, value, synonyms, key.type.name if key else "UNKNOWN", key.documentation if key else None
        )


def describe_client_metrics(overrides: Mapping[str, str], names: Iterable[str] | None = None) -> Iterator[Described]:
    """Of any name, whether there is such a subscription or not. Nothing of it is taken for a secret."""
    values = client_metrics_values(overrides)
    for name in _wanted(names, sorted(values.keys() | overrides.keys())):
        key = CLIENT_METRICS_CONFIGS.get(name)
        value = as_text(values[name]) if key else overrides[name]
        synonyms = [Synonym(name, value, Source.CLIENT_METRICS)] if name in overrides else []
        described = _described_own_key(
            name, value, synonyms, key.type.name if key else "UNKNOWN", key.documentation if key else None
        )
        yield described._replace(sensitive=False)


def describe_loggers(levels: Mapping[str, str], names: Iterable[str] | None = None) -> Iterator[Described]:
    for name in _wanted(names, sorted(levels)):
        yield Described(name, levels[name], Source.LOGGER, False, False, (), ConfigType.UNKNOWN, "")


def _described_own_key(
    name: str, value: str | None, synonyms: list[Synonym], type_name: str, documentation: str | None
) -> Described:
    source = synonyms[0].source if synonyms else Source.DEFAULT
    unknown = type_name == "UNKNOWN"
    return Described(name, value, source, unknown, False, tuple(synonyms), ConfigType[type_name], documentation)


def _wanted(names: Iterable[str] | None, known: Iterable[str]) -> Iterator[str]:
    """No names at all are all, as Kafka takes it."""
    chosen = set(names or ())
    return (name for name in known if not chosen or name in chosen)


def _names_of_broker(config: NodeConfig) -> list[str]:
    """Kafka's keys but for internal ones, and whatever else was set."""
    visible = {key.name for key in KEYS.values() if not key.internal and not key.dynamic_only}
    return sorted(visible | config.texts.keys())


def _described_broker_key(name: str, value: str | None, synonyms: tuple[Synonym, ...], sensitive: bool) -> Described:
    exact, key = KEYS.get(name), key_of(name)
    return Described(
        name,
        None if sensitive else value,
        synonyms[0].source if synonyms else Source.DEFAULT,
        sensitive,
        # What is set for one listener may be changed there, but Kafka says so only of the key itself.
        exact is None or exact.mode is Mode.READ_ONLY,
        synonyms,
        key.config_type if key else ConfigType.UNKNOWN,
        exact.documentation if exact and not exact.dynamic_only else None,
    )


def _broker_synonyms(config: NodeConfig, name: str) -> Iterator[Synonym]:
    key = key_of(name)
    hidden = key is None or key.sensitive
    found = [
        Synonym(other, None if hidden else texts[other], source)
        for source, texts in (
            (Source.DYNAMIC_BROKER, config.broker),
            (Source.DYNAMIC_DEFAULT_BROKER, config.cluster),
            (Source.STATIC_BROKER, config.static),
            (Source.DEFAULT, _defaults(config)),
        )
        for other in synonyms_of(name)
        if other in texts
    ]
    # What stands in front of the key's own first mention is another key's, such as hours before milliseconds.
    own = next((at for at, one in enumerate(found) if one.name == name), len(found))
    return iter(found[own:])


def _defaults(config: NodeConfig) -> Mapping[str, str]:
    return _DEFAULTS[config.alone]


def _default_texts(alone: bool) -> dict[str, str]:
    values = {key.name: default_of(key, alone) for key in KEYS.values() if not key.dynamic_only}
    return {
        name: text for name, value in values.items() if value is not REQUIRED and (text := as_text(value)) is not None
    }


_DEFAULTS = {alone: _default_texts(alone) for alone in (False, True)}
