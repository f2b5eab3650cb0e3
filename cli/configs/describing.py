"""`barnabas configs describe`: of what has configurations."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from barnabas.cli.configs.clients import describe_clients
from barnabas.cli.configs.entities import DEFAULT_NAME, RESOURCES, Entities, singular
from barnabas.cli.failures import CommandFailed
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster
from barnabas.client.configs import Resource, Source, describe_configs, list_config_resources
from barnabas.client.errors import NotOffered
from barnabas.client.groups import list_groups
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_configs import DescribeConfigsResourceResult

__all__ = ["config_json", "describe", "describe_resources"]

_FROM = {
    Source.DYNAMIC_TOPIC_CONFIG: "this topic",
    Source.DYNAMIC_BROKER_CONFIG: "this broker",
    Source.DYNAMIC_DEFAULT_BROKER_CONFIG: "all brokers",
    Source.STATIC_BROKER_CONFIG: "server.properties",
    Source.DEFAULT_CONFIG: "default",
    Source.DYNAMIC_BROKER_LOGGER_CONFIG: "this logger",
    Source.DYNAMIC_CLIENT_METRICS_CONFIG: "this",
    Source.DYNAMIC_GROUP_CONFIG: "this group",
}

Configs = Sequence[DescribeConfigsResourceResult]


def describe(cluster: Cluster, entities: Entities, arguments: argparse.Namespace, output: Output) -> None:
    if entities.kind in RESOURCES:
        name = entities.names[0] if entities.names else None
        describe_resources(cluster, entities.kind, name, arguments, output)
    else:
        describe_clients(cluster, entities, arguments, output)


def describe_resources(
    cluster: Cluster, kind: str, name: str | None, arguments: argparse.Namespace, output: Output
) -> None:
    names = _names(cluster, kind) if name is None else [name]
    if name is not None and not arguments.all and name not in [*_names(cluster, kind), DEFAULT_NAME]:
        raise CommandFailed(
            f"There is no {singular(kind)} {name}, and nothing is configured for it: "
            f"see barnabas configs --describe --entity-type {kind}."
        )
    found = {each: _configs(cluster, kind, each, everything=arguments.all) for each in names}
    if output.as_json:
        output.json([config_json(kind, each, configs) for each, configs in found.items()])
    elif arguments.plain:
        for each, configs in found.items():
            _plainly(kind, each, configs, output, everything=arguments.all)
    else:
        _for_people(kind, found, output, everything=arguments.all)


def _configs(cluster: Cluster, kind: str, name: str, *, everything: bool) -> Configs:
    resource_kind, source = RESOURCES[kind]
    if kind == "brokers" and name == DEFAULT_NAME:
        source = Source.DYNAMIC_DEFAULT_BROKER_CONFIG
    resource = Resource(resource_kind, name)
    configs = describe_configs(cluster, [resource], synonyms=True)[resource]
    wanted = [each for each in configs if everything or source is None or each.config_source == source]
    return sorted(wanted, key=lambda config: config.name)


# Which there are


def _names(cluster: Cluster, kind: str) -> list[str]:
    return _LISTS[kind](cluster)


def _topics(cluster: Cluster) -> list[str]:
    return sorted(cluster.topics())


def _brokers(cluster: Cluster) -> list[str]:
    return [*(str(node.node_id) for node in cluster.nodes), DEFAULT_NAME]


def _client_metrics(cluster: Cluster) -> list[str]:
    return sorted(list_config_resources(cluster, RESOURCES["client-metrics"][0]))


def _groups(cluster: Cluster) -> list[str]:
    """Those that have members or offsets, and those that have only a configuration."""
    found = {group.name for group in list_groups(cluster)}
    try:
        found.update(list_config_resources(cluster, RESOURCES["groups"][0]))
    except NotOffered:
        pass
    except KafkaError as error:
        # By brokers before Kafka 4.1, and to users who may not ask, only those are told that are there.
        if error.code is not ErrorCode.CLUSTER_AUTHORIZATION_FAILED:
            raise
    return sorted(found)


_LISTS: dict[str, Callable[[Cluster], list[str]]] = {
    "topics": _topics,
    "brokers": _brokers,
    "broker-loggers": _brokers,
    "client-metrics": _client_metrics,
    "groups": _groups,
}


# For people


def _for_people(kind: str, found: dict[str, Configs], output: Output, *, everything: bool) -> None:
    told = {name: configs for name, configs in found.items() if configs}
    for number, (name, configs) in enumerate(told.items()):
        if number:
            output.line()
        output.line(output.good(f"{singular(kind)} {name}" if name else f"all {kind}"))
        rows = [[each.name, _value(each), _origin(each.config_source), _otherwise(each)] for each in configs]
        with_others = everything or any(row[3] for row in rows)
        output.table(
            ["config", "value", "from", "otherwise"][: 4 if with_others else 3],
            [row[: 4 if with_others else 3] for row in rows],
        )
    if not told:
        what = (
            "Nothing is" if len(found) != 1 else f"For {singular(kind)} {next(iter(found)) or 'defaults'}, nothing is"
        )
        output.note(f"{what} configured; --all shows what holds without.")


def _value(config: DescribeConfigsResourceResult) -> str:
    if config.is_sensitive:
        return "(hidden)"
    return "" if config.value is None else config.value


def _origin(source: int) -> str:
    return _FROM.get(Source(source), "unknown")


def _otherwise(config: DescribeConfigsResourceResult) -> str:
    """What would hold without the value that does; the first synonym is the value itself."""
    if len(config.synonyms) < 2:
        return ""
    other = config.synonyms[1]
    value = "(hidden)" if config.is_sensitive else other.value
    # Such as log.retention.hours, where log.retention.ms is not set.
    name = "" if other.name == config.name else f"{other.name}="
    return f"{name}{value} ({_origin(other.source)})"


# As kafka-configs.sh


def _plainly(kind: str, name: str, configs: Configs, output: Output, *, everything: bool) -> None:
    if name == DEFAULT_NAME:
        output.line(f"Default configs for {kind} in the cluster are:")
    else:
        output.line(f"{'All' if everything else 'Dynamic'} configs for {singular(kind)} {name} are:")
    for each in configs:
        synonyms = ", ".join(f"{Source(one.source).name}:{one.name}={_null(one.value)}" for one in each.synonyms)
        output.line(
            f"  {each.name}={_null(each.value)} sensitive={str(each.is_sensitive).lower()} synonyms={{{synonyms}}}"
        )


def _null(value: str | None) -> str:
    return "null" if value is None else value


# For programs


def config_json(kind: str, name: str, configs: Configs) -> dict[str, Any]:
    """`entity_name` is null for what holds for all brokers."""
    return {
        "entity_type": kind,
        "entity_name": name or None,
        "configs": [
            {
                "name": each.name,
                "value": each.value,
                "source": Source(each.config_source).name,
                "sensitive": each.is_sensitive,
                "read_only": each.read_only,
                "synonyms": [
                    {"name": one.name, "value": one.value, "source": Source(one.source).name} for one in each.synonyms
                ],
            }
            for each in configs
        ],
    }
