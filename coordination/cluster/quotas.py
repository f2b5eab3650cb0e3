"""Client quotas: limits for users, client ids, both together, or addresses."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

from barnabas.protocol.records.cluster_metadata import ClientQuotaRecord, EntityData

__all__ = ["CLIENT_ID", "IP", "USER", "ClientQuotas", "QuotaEntity", "entity_data", "quota_entity"]

USER = "user"
CLIENT_ID = "client-id"
IP = "ip"

QuotaEntity = tuple[tuple[str, str | None], ...]
"""Types and names, sorted by type; the name None stands for all that have no quota of their own."""


def quota_entity(parts: Iterable[tuple[str, str | None]]) -> QuotaEntity:
    """Of equal types the last counts."""
    named = dict(parts)
    return tuple((entity_type, named[entity_type]) for entity_type in sorted(named))


def entity_data(entity: QuotaEntity) -> list[EntityData]:
    return [EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity]


@dataclass(slots=True)
class ClientQuotas:
    """An entity without quotas has no entry."""

    by_entity: dict[QuotaEntity, dict[str, float]] = field(default_factory=dict)

    def of(self, entity: QuotaEntity) -> Mapping[str, float]:
        return self.by_entity.get(entity, {})

    def apply(self, record: ClientQuotaRecord) -> QuotaEntity:
        entity = quota_entity((part.entity_type, part.entity_name) for part in record.entity)
        quotas = self.by_entity.setdefault(entity, {})
        if record.remove:
            quotas.pop(record.key, None)
        else:
            quotas[record.key] = record.value
        if not quotas:
            del self.by_entity[entity]
        return entity
