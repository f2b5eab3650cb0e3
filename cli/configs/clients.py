"""`barnabas configs describe`, of users, clients and addresses: their quotas, and who has a password."""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from itertools import zip_longest

from barnabas.cli.configs.entities import Entities
from barnabas.cli.configs.java_numbers import java_double
from barnabas.cli.failures import WrongUsage
from barnabas.cli.output import Output
from barnabas.cli.quotas.tables import quota_json, quota_table
from barnabas.client.cluster import Cluster
from barnabas.client.quotas import CLIENT_ID, IP, USER, AnyName, Quota, describe_quotas
from barnabas.client.scram import describe_scram

__all__ = ["QUOTA_TYPES", "describe_clients"]

QUOTA_TYPES = {"users": USER, "clients": CLIENT_ID, "ips": IP}
_TITLES = {USER: "user-principal", CLIENT_ID: "client-id", IP: "ip"}


def describe_clients(cluster: Cluster, entities: Entities, arguments: argparse.Namespace, output: Output) -> None:
    quotas = describe_quotas(cluster, _wanted(entities), strict=True)
    with_passwords = entities.kinds == ["users"] and not entities.has_default
    passwords = describe_scram(cluster, entities.names) if with_passwords else {}
    if output.as_json:
        output.json(
            {
                "quotas": [quota_json(each) for each in quotas],
                "scram_credentials": [
                    {"user": user, "mechanism": mechanism, "iterations": iterations}
                    for user, credentials in passwords.items()
                    for mechanism, iterations in credentials.items()
                ],
            }
        )
    elif arguments.plain:
        _plainly(quotas, passwords, output)
    else:
        _for_people(quotas, passwords, output)


def _wanted(entities: Entities) -> dict[str, str | type[AnyName] | None]:
    """A type without a name is for all names, and an empty name for the default."""
    if len(entities.names) > len(entities.kinds):
        raise WrongUsage("More names are given than types.")
    pairs = zip_longest(entities.kinds, [name or None for name in entities.names], fillvalue=AnyName)
    return {QUOTA_TYPES[str(kind)]: name for kind, name in pairs}


def _for_people(quotas: Sequence[Quota], passwords: Mapping[str, Mapping[str, int]], output: Output) -> None:
    if quotas:
        quota_table(quotas, output)
    if quotas and passwords:
        output.line()
    if passwords:
        rows = [[user, mechanism, count] for user, each in passwords.items() for mechanism, count in each.items()]
        output.table(["user", "password by", "iterations"], rows)
    if not quotas and not passwords:
        output.note("Nothing is configured.")


def _plainly(quotas: Sequence[Quota], passwords: Mapping[str, Mapping[str, int]], output: Output) -> None:
    for quota in quotas:
        named = ", ".join(
            f"the default {_TITLES[kind]}" if name is None else f"{_TITLES[kind]} '{name}'"
            for kind, name in quota.entity.items()
        )
        values = ", ".join(f"{key}={java_double(value)}" for key, value in quota.values.items())
        output.line(f"Quota configs for {named} are {values}")
    for user, each in passwords.items():
        text = ", ".join(f"{mechanism}=iterations={count}" for mechanism, count in each.items())
        output.line(f"SCRAM credential configs for user-principal '{user}' are {text}")
