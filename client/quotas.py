"""Client quotas: how much users, client ids and addresses may do, alone or a client id of a user."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from barnabas.client.cluster import Cluster, check
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    OpData,
)
from barnabas.protocol.messages.alter_client_quotas import EntityData as AlteredEntity
from barnabas.protocol.messages.alter_client_quotas import EntryData as AlteredEntry
from barnabas.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
)

__all__ = [
    "CLIENT_ID",
    "CLIENT_QUOTAS",
    "IP",
    "IP_QUOTAS",
    "USER",
    "AnyName",
    "Quota",
    "alter_quotas",
    "describe_quotas",
]

USER, CLIENT_ID, IP = "user", "client-id", "ip"
"""The types of entities, as they travel and in the order in which they are told."""

CLIENT_QUOTAS = ("producer_byte_rate", "consumer_byte_rate", "request_percentage", "controller_mutation_rate")
"""For users and client ids."""
IP_QUOTAS = ("connection_creation_rate",)

_EXACT, _DEFAULT, _ANY = 0, 1, 2


class AnyName:
    """In place of a name: of that type, whatever it is called."""


class Quota(NamedTuple):
    entity: Mapping[str, str | None]
    """By type; None is the default of that type."""
    values: Mapping[str, float]


def describe_quotas(cluster: Cluster, wanted: Mapping[str, str | type[AnyName] | None], *, strict: bool) -> list[Quota]:
    """Those of the entities that are wanted, in order; `strict` leaves out entities of more types than these."""
    request = DescribeClientQuotasRequest(components=[_component(*each) for each in wanted.items()], strict=strict)
    answer = cluster.ask(request, DescribeClientQuotasResponse)
    check(answer.error_code, answer.error_message)
    found = [
        Quota(
            {each.entity_type: each.entity_name for each in sorted(entry.entity, key=_order)},
            {each.key: each.value for each in sorted(entry.values, key=lambda value: value.key)},
        )
        for entry in answer.entries or []
    ]
    return sorted(found, key=_entity_order)


def alter_quotas(
    cluster: Cluster,
    entity: Mapping[str, str | None],
    values: Mapping[str, float],
    removed: Iterable[str] = (),
    *,
    dry: bool = False,
) -> None:
    """Those that are not named stay."""
    operations = [OpData(key=key, value=value, remove=False) for key, value in values.items()]
    operations += [OpData(key=key, value=0.0, remove=True) for key in removed]
    parts = [AlteredEntity(entity_type=kind, entity_name=name) for kind, name in entity.items()]
    request = AlterClientQuotasRequest(entries=[AlteredEntry(entity=parts, ops=operations)], validate_only=dry)
    for entry in cluster.ask_controller(request, AlterClientQuotasResponse).entries:
        check(entry.error_code, entry.error_message)


def _component(kind: str, name: str | type[AnyName] | None) -> ComponentData:
    if name is AnyName:
        return ComponentData(entity_type=kind, match_type=_ANY, match=None)
    if name is None:
        return ComponentData(entity_type=kind, match_type=_DEFAULT, match=None)
    assert isinstance(name, str)
    return ComponentData(entity_type=kind, match_type=_EXACT, match=name)


def _order(part: object) -> int:
    kinds: Sequence[str] = (USER, CLIENT_ID, IP)
    kind = getattr(part, "entity_type", "")
    return kinds.index(kind) if kind in kinds else len(kinds)


def _entity_order(quota: Quota) -> tuple[object, ...]:
    """Users, each before its clients; then clients; then addresses. Defaults before names."""
    kinds = (USER, CLIENT_ID, IP)
    first = next((at for at, kind in enumerate(kinds) if kind in quota.entity), len(kinds))
    names = [quota.entity.get(kind) for kind in kinds]
    return (
        first,
        *((kind in quota.entity, name is not None, name or "") for kind, name in zip(kinds, names, strict=True)),
    )
