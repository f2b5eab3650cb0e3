"""Quotas as people and programs read them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from barnabas.cli.output import Output
from barnabas.cli.units import number_text, size_text
from barnabas.client.quotas import CLIENT_ID, IP, USER, Quota

__all__ = ["quota_json", "quota_table"]

_ENTITIES = {USER: "user", CLIENT_ID: "client id", IP: "ip"}
_COLUMNS = {
    "producer_byte_rate": "produce",
    "consumer_byte_rate": "fetch",
    "request_percentage": "request time",
    "controller_mutation_rate": "partitions",
    "connection_creation_rate": "connections",
}


def quota_table(quotas: Sequence[Quota], output: Output) -> None:
    """A column for each type of entity and each quota that there is."""
    kinds = [kind for kind in _ENTITIES if any(kind in quota.entity for quota in quotas)]
    known = [key for key in _COLUMNS if any(key in quota.values for quota in quotas)]
    others = sorted({key for quota in quotas for key in quota.values} - set(known))
    rows = [
        [*(_name(quota, kind) for kind in kinds), *(_value(quota, key) for key in [*known, *others])]
        for quota in quotas
    ]
    output.table([*(_ENTITIES[kind] for kind in kinds), *(_COLUMNS.get(key, key) for key in [*known, *others])], rows)


def _name(quota: Quota, kind: str) -> str:
    if kind not in quota.entity:
        return "-"
    name = quota.entity[kind]
    return "(default)" if name is None else name


def _value(quota: Quota, key: str) -> str | None:
    value = quota.values.get(key)
    if value is None:
        return None
    if key.endswith("_byte_rate"):
        return f"{size_text(value)}/s"
    unit = "%" if key == "request_percentage" else "/s" if key.endswith("_rate") else ""
    return number_text(value) + unit


def quota_json(quota: Quota) -> dict[str, Any]:
    """A name that is null is the default of its type."""
    return {"entity": dict(quota.entity), "quotas": dict(quota.values)}
