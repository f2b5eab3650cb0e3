"""`barnabas configs alter`."""

from __future__ import annotations

import argparse
from collections.abc import Collection, Mapping

from barnabas.cli.configs.clients import QUOTA_TYPES
from barnabas.cli.configs.entities import RESOURCES, Entities, singular
from barnabas.cli.configs.values import keys_to_remove, parse_password, values_to_set
from barnabas.cli.failures import CommandFailed, WrongUsage
from barnabas.cli.output import Output
from barnabas.client.cluster import Cluster
from barnabas.client.configs import Resource, ResourceKind, alter_configs, describe_configs
from barnabas.client.quotas import CLIENT_QUOTAS, IP_QUOTAS, alter_quotas, describe_quotas
from barnabas.client.scram import SCRAM_MECHANISMS, alter_scram

__all__ = ["alter"]


def alter(cluster: Cluster, entities: Entities, arguments: argparse.Namespace, output: Output) -> None:
    values = values_to_set(arguments.add_config, arguments.add_config_file)
    removed = keys_to_remove(arguments.delete_config)
    kind, name = entities.kind, entities.names[0]
    if kind in RESOURCES:
        _alter_resource(cluster, Resource(RESOURCES[kind][0], name), values, removed)
    else:
        _alter_client(cluster, entities, values, removed)
    if name:
        output.line(f"Completed updating config for {singular(kind)} {name}.")
    else:
        output.line(f"Completed updating default config for {kind} in the cluster.")
    if output.as_json:
        shown = {key: "(hidden)" if key in SCRAM_MECHANISMS else value for key, value in values.items()}
        output.json(
            {
                "entity_types": entities.kinds,
                "entity_names": [each or None for each in entities.names],
                "set": shown,
                "removed": removed,
            }
        )


def _alter_resource(cluster: Cluster, resource: Resource, values: Mapping[str, str], removed: Collection[str]) -> None:
    if resource.kind is ResourceKind.BROKER_LOGGER:
        known = {each.name for each in describe_configs(cluster, [resource])[resource]}
        if unknown := [key for key in [*removed, *values] if key not in known]:
            raise CommandFailed(
                f"Broker {resource.name} has no logger {', '.join(unknown)}: "
                f"see barnabas configs --describe --broker-logger {resource.name}."
            )
    alter_configs(cluster, resource, values, removed)


def _alter_client(cluster: Cluster, entities: Entities, values: Mapping[str, str], removed: Collection[str]) -> None:
    """Quotas of users, clients and addresses, and the passwords of users: two things that Kafka gives one option."""
    possible = _possible_keys(entities)
    if unknown := [key for key in [*values, *removed] if key not in possible]:
        raise WrongUsage(
            f"{', '.join(unknown)} is nothing that {_described(entities)} can have: {', '.join(possible)}."
        )
    passwords = [key for key in [*values, *removed] if key in SCRAM_MECHANISMS]
    if not passwords:
        _alter_quotas(cluster, entities, values, removed)
        return
    if entities.has_default:
        raise WrongUsage("Passwords are those of one user: --user NAME, not --user-defaults or --entity-default.")
    if len(passwords) < len(values) + len(removed):
        raise WrongUsage("Quotas and passwords are kept apart: alter the one, then the other.")
    alter_scram(cluster, entities.names[0], {key: parse_password(key, value) for key, value in values.items()}, removed)


def _possible_keys(entities: Entities) -> tuple[str, ...]:
    if entities.kind == "ips":
        return IP_QUOTAS
    if entities.kinds == ["users"]:
        return (*CLIENT_QUOTAS, *SCRAM_MECHANISMS)
    return CLIENT_QUOTAS


def _described(entities: Entities) -> str:
    return " and ".join(entities.kinds)


def _alter_quotas(cluster: Cluster, entities: Entities, values: Mapping[str, str], removed: Collection[str]) -> None:
    entity = {QUOTA_TYPES[kind]: name or None for kind, name in zip(entities.kinds, entities.names, strict=True)}
    numbers = {key: _number(key, value) for key, value in values.items()}
    if removed:
        there = [key for quota in describe_quotas(cluster, entity, strict=True) for key in quota.values]
        if unknown := [key for key in removed if key not in there]:
            raise CommandFailed(f"{', '.join(unknown)} is not set: see barnabas configs --describe.")
    alter_quotas(cluster, entity, numbers, removed)


def _number(key: str, text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise WrongUsage(f"{key}={text} is no number.") from None
