"""`NodeConfig`: all that a node was told, checked, as typed attributes; it never changes.

    config = NodeConfig.load(read_properties(path), {"num.partitions": "4"})
    config.num_partitions
    config = config.with_dynamic(cluster={"log.retention.ms": "60000"}, broker={})

An attribute has its key's name with underscores for dots. Where several keys say one thing together, such as those of
listeners or log.dirs, it is what they come to.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, NamedTuple

from barnabas.broker.configuration.addresses import Address, Voter
from barnabas.broker.configuration.barnabas_defaults import FITTED_TO_BROKERS
from barnabas.broker.configuration.checks import (
    CHECKS,
    WARNINGS,
    connection_overrides,
    parse_super_users,
    topic_defaults,
)
from barnabas.broker.configuration.clamping import clamped
from barnabas.broker.configuration.keys import ATTRIBUTES, AUTHORIZER_KEYS, FORMER_KEYS, FREE_PREFIXES, KEYS, NodeKeys
from barnabas.broker.configuration.listeners import Endpoint, SecurityProtocol
from barnabas.broker.configuration.quorum import check_addresses, read_addresses
from barnabas.broker.configuration.synonyms import overridden
from barnabas.broker.configuration.to_come import is_to_come
from barnabas.broker.configuration.values import ConfigurationError, Values, read_values
from barnabas.storage.topic_config import TopicConfig

__all__ = ["NodeConfig", "Notice", "keys_without_effect"]


class Notice(NamedTuple):
    """Something to log at the start: `warning`, or else information."""

    warning: bool
    text: str


@dataclass(frozen=True, kw_only=True, repr=False, eq=False)
class NodeConfig(NodeKeys):
    """Made by `load` and `with_dynamic`. Its own attributes are those that several keys make together."""

    texts: Mapping[str, str]
    """What counts of all that was given, as it was written; passwords too."""
    static: Mapping[str, str]
    """What the start was given: the file and the settings over it."""
    cluster: Mapping[str, str]
    """What is set for every broker while it runs."""
    broker: Mapping[str, str]
    """What is set for this broker while it runs."""
    values: Mapping[str, Any]
    """Every key's value, read."""
    notices: tuple[Notice, ...]

    alone: bool
    """This node is its own quorum, and knows of no other controller."""
    process_roles: frozenset[str]
    log_dirs: tuple[str, ...]
    metadata_log_dir: str
    listeners: tuple[Endpoint, ...]
    controller_listeners: tuple[Endpoint, ...]
    advertised_listeners: tuple[Endpoint, ...]
    advertised_controller_listeners: tuple[Endpoint, ...]
    protocols: Mapping[str, SecurityProtocol]
    inter_broker_listener_name: str
    inter_broker_protocol: SecurityProtocol
    early_start_listeners: frozenset[str]
    controller_quorum_voters: Mapping[int, Voter]
    controller_quorum_bootstrap_servers: tuple[Address, ...]
    max_connections_per_ip_overrides: Mapping[str, int]
    topic_defaults: TopicConfig

    @classmethod
    def load(cls, file: Mapping[str, str] | None = None, settings: Mapping[str, str] | None = None) -> NodeConfig:
        """ConfigurationError, with everything that is wrong. `settings` come from --set, and win over the file."""
        given = _settled(dict(file or {}), settings or {})
        return _build(_with_node_id(given), {}, {})

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str], *, fitted: bool = True) -> NodeConfig:
        """What is set while the broker runs, in place of what was set so before: for the whole cluster, and over it for
        this broker. What may not be set so must have been left out (dynamic.py). ConfigurationError leaves the caller
        with what was there before. `fitted` moves a few values into their bounds, rather than to refuse them."""
        return _build(self.static, cluster, broker, fitted=fitted)

    @property
    def is_controller(self) -> bool:
        return "controller" in self.process_roles

    @property
    def offsets_retention_ms(self) -> int:
        return self.offsets_retention_minutes * 60_000

    @property
    def super_users(self) -> frozenset[str]:
        """Principals, as TYPE:NAME, who may do everything; nobody where there is no authorizer."""
        return parse_super_users(self.texts.get("super.users", "") if self.authorizer_class_name else "")

    @property
    def allow_everyone_if_no_acl_found(self) -> bool:
        """Kafka takes everything else for false, and so does this: nobody is let in by a mistake of writing."""
        return self.texts.get("allow.everyone.if.no.acl.found", "").strip().lower() == "true"

    def fitted_to_brokers(self, name: str, live_brokers: int) -> int:
        """The replicas or in-sync replicas that a topic of the cluster's own gets: as it was set, or as Kafka's default
        wants and the brokers that there are allow."""
        assert name in FITTED_TO_BROKERS, name
        value: int = self.values[name]
        return value if name in self.texts else max(1, min(value, live_brokers))

    def of_listener(self, listener: str, name: str, mechanism: str = "") -> Any:
        """A key's value for one listener (and one mechanism of SASL): its own, or everybody's."""
        prefix = f"listener.name.{listener.lower()}."
        own = f"{prefix}{mechanism.lower()}.{name}" if mechanism else prefix + name
        key = KEYS[name]
        return key.parse(self.texts[own]) if own in self.texts else self.values[name]

    def __repr__(self) -> str:
        """Short, and without passwords."""
        roles = ",".join(sorted(self.process_roles))
        return f"<NodeConfig of node {self.node_id}: {roles}, {len(self.static)} keys given>"


_ALTERNATIVES = (("log.dirs", "log.dir"), ("node.id", "broker.id"))


def _settled(file: dict[str, str], settings: Mapping[str, str]) -> dict[str, str]:
    for names in _ALTERNATIVES:
        if any(name in settings for name in names):
            for name in names:
                file.pop(name, None)
    return overridden(file, settings)


def _with_node_id(given: Mapping[str, str]) -> dict[str, str]:
    """Each of the two names stands for the other where only one is given."""
    filled = dict(given)
    for name, other in (("node.id", "broker.id"), ("broker.id", "node.id")):
        if name in given and other not in given:
            filled[other] = given[name]
    return filled


def _build(
    static: Mapping[str, str],
    cluster: Mapping[str, str],
    broker: Mapping[str, str],
    *,
    fitted: bool = False,
) -> NodeConfig:
    texts = overridden(static, cluster, broker)
    if fitted:
        texts = clamped(texts)
    # Some keys are only looked at where they were set while the broker ran.
    idle = {name for name in texts.keys() - cluster.keys() - broker.keys() if name in KEYS and KEYS[name].dynamic_only}
    values, problems = read_values({name: text for name, text in texts.items() if name not in idle})
    problems += values.problems((*CHECKS, check_addresses))
    if problems:
        raise ConfigurationError(problems)
    return NodeConfig(
        texts=MappingProxyType(texts),
        static=MappingProxyType(dict(static)),
        cluster=MappingProxyType(dict(cluster)),
        broker=MappingProxyType(dict(broker)),
        values=MappingProxyType(dict(values)),
        notices=(*_notices(static), *(Notice(True, text) for text in values.problems(WARNINGS))),
        **_derived(values),
        **{attribute: values[key.name] for attribute, key in ATTRIBUTES.items()},
    )


def _derived(values: Values) -> dict[str, Any]:
    directories = values["log.dirs"] or values["log.dir"]
    return {
        "alone": values.alone,
        "process_roles": frozenset(values["process.roles"]),
        "log_dirs": directories,
        "metadata_log_dir": directories[0] if values["metadata.log.dir"] is None else values["metadata.log.dir"],
        "max_connections_per_ip_overrides": connection_overrides(values["max.connections.per.ip.overrides"]),
        "topic_defaults": topic_defaults(values),
        **read_addresses(values)._asdict(),
    }


def _notices(given: Mapping[str, str]) -> Iterator[Notice]:
    known = [KEYS[name] for name in sorted(given) if name in KEYS and not KEYS[name].dynamic_only]
    idle = [key.name for key in known if not key.does]
    former = [name for name in sorted(given) if name not in KEYS and name.startswith(FORMER_KEYS)]
    if idle or former:
        yield Notice(False, f"These keys are accepted and have no effect in Barnabas: {', '.join(idle + former)}.")
    to_come = [key.name for key in known if key.does and is_to_come(key.name)]
    if to_come:
        yield Notice(False, f"These keys are accepted and have no effect in Barnabas yet: {', '.join(to_come)}.")
    for name, why, instead in keys_without_effect(given):
        yield Notice(True, f"{name} {why}, and is left alone{f': did you mean {instead}?' if instead else '.'}")


def keys_without_effect(given: Iterable[str]) -> Iterator[tuple[str, str, str]]:
    """Those that Kafka's start leaves alone: why, and the key that may be meant."""
    for name in sorted(given):
        if name in KEYS:
            if KEYS[name].dynamic_only:
                yield name, "can only be set while the broker runs, with kafka-configs", ""
        elif not name.startswith((*FREE_PREFIXES, *FORMER_KEYS)) and name not in AUTHORIZER_KEYS:
            # Containers of Kafka take its keys from the environment, as KAFKA_MESSAGE_MAX_BYTES.
            spelled = name.lower().removeprefix("kafka_").replace("_", ".")
            yield name, "is no key of a broker", next(iter(difflib.get_close_matches(spelled, KEYS, 1)), "")
