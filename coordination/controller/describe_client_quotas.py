"""DescribeClientQuotas (0-1): the quotas of all entities that a filter lets through.

Each component wants a type: with this name, or as the default, or with any name. Strictly, an entity has no others.
"""

from __future__ import annotations

from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.quotas import CLIENT_ID, IP, USER
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_client_quotas import (
    ComponentData,
    DescribeClientQuotasRequest,
    DescribeClientQuotasResponse,
    EntityData,
    EntryData,
    ValueData,
)

__all__ = ["describe_client_quotas"]

EXACT, DEFAULT, SPECIFIED = 0, 1, 2


def describe_client_quotas(image: ClusterImage, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    try:
        exact, any_name = _filter(request.components)
    except KafkaError as error:
        return DescribeClientQuotasResponse(error_code=error.code, error_message=error.message, entries=None)
    entries = []
    for entity, quotas in image.quotas.by_entity.items():
        named = dict(entity)
        if request.strict and len(named) != len(exact) + len(any_name):
            continue
        matches = all(entity_type in named and named[entity_type] == name for entity_type, name in exact.items())
        if matches and any_name <= named.keys():
            entries.append(
                EntryData(
                    entity=[EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity],
                    values=[ValueData(key=key, value=value) for key, value in quotas.items()],
                )
            )
    return DescribeClientQuotasResponse(entries=entries)


def _filter(components: list[ComponentData]) -> tuple[dict[str, str | None], set[str]]:
    exact: dict[str, str | None] = {}
    any_name: set[str] = set()
    for component in components:
        entity_type = component.entity_type
        if not entity_type:
            raise _refusal("A component of the filter has no entity type.")
        if entity_type in exact or entity_type in any_name:
            raise _refusal(f"The filter has {entity_type} twice.")
        if entity_type not in (USER, CLIENT_ID, IP):
            raise KafkaError(ErrorCode.UNSUPPORTED_VERSION, f"There are no quotas for a {entity_type}.")
        if component.match_type not in (EXACT, DEFAULT, SPECIFIED):
            raise _refusal(f"There is no match type {component.match_type}.")
        if (component.match is None) == (component.match_type == EXACT):
            raise _refusal("An exact match has a name, and no other has one.")
        if component.match_type == SPECIFIED:
            any_name.add(entity_type)
        else:
            exact[entity_type] = component.match
    wanted = {*exact, *any_name}
    if IP in wanted and len(wanted) > 1:
        raise _refusal("The quota of an address cannot be that of a user or client id as well.")
    return exact, any_name


def _refusal(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
