"""AlterClientQuotas (0-1): limits of users, clients and addresses are set or removed, entity by entity."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from enum import Enum
from ipaddress import ip_address

from barnabas.coordination.cluster.quotas import CLIENT_ID, IP, USER, QuotaEntity, entity_data, quota_entity
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.errors import NO_ERROR, ApiError, api_error
from barnabas.coordination.controller.permissions import repeated
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    OpData,
    ResponseEntryData,
)
from barnabas.protocol.records.cluster_metadata import ClientQuotaRecord

__all__ = ["alter_client_quotas", "is_address"]


class QuotaType(Enum):
    """The largest value, and what it is called."""

    DOUBLE = math.inf
    INT = 2.0**31 - 1
    LONG = 2.0**63


_USER_AND_CLIENT: Mapping[str, QuotaType] = {
    "producer_byte_rate": QuotaType.LONG,
    "consumer_byte_rate": QuotaType.LONG,
    "request_percentage": QuotaType.DOUBLE,
    "controller_mutation_rate": QuotaType.DOUBLE,
}
_ADDRESS: Mapping[str, QuotaType] = {"connection_creation_rate": QuotaType.INT}

_LARGEST_FRACTION = 1e-6


def is_address(name: str) -> bool:
    """Whether this is an address as it stands; a name that has to be looked up is none."""
    try:
        ip_address(name)
    except ValueError:
        return False
    return True


def alter_client_quotas(
    controller: Controller, request: AlterClientQuotasRequest, *, is_host: Callable[[str], bool] = is_address
) -> Outcome[MetadataRecord, AlterClientQuotasResponse]:
    """`is_host` says whether something is an address, or a name that has one: whoever can look names up passes it."""
    records: list[MetadataRecord] = []
    results: dict[QuotaEntity, ApiError] = {}
    for entry in request.entries:
        entity = quota_entity((part.entity_type, part.entity_name) for part in entry.entity)
        if entity in results or repeated(operation.key for operation in entry.ops):
            # What an earlier entry said of the same entity stays, as in Kafka; only the answer is an error.
            named = ", ".join(f"{entity_type} {name}" for entity_type, name in entity) or "nobody"
            results[entity] = ApiError(
                ErrorCode.INVALID_REQUEST, f"The request names {named}, or one of the quotas there, twice."
            )
            continue
        try:
            records += _alter(controller, entity, entry.ops, is_host)
            results[entity] = NO_ERROR
        except KafkaError as refused:
            results[entity] = api_error(refused)
    entries = [
        ResponseEntryData(
            error_code=error.code,
            error_message=error.message,
            entity=[EntityData(entity_type=entity_type, entity_name=name) for entity_type, name in entity],
        )
        for entity, error in results.items()
    ]
    return Outcome([] if request.validate_only else records, AlterClientQuotasResponse(entries=entries))


def _alter(
    controller: Controller, entity: QuotaEntity, operations: list[OpData], is_host: Callable[[str], bool]
) -> list[MetadataRecord]:
    keys = _keys_of(entity, is_host)
    current = controller.image.quotas.of(entity)
    records = []
    for operation in operations:
        key, value = operation.key, operation.value
        if operation.remove:
            if key in current:
                records.append(ClientQuotaRecord(entity=entity_data(entity), key=key, remove=True))
            continue
        _check_value(keys, key, value)
        if key not in current or not _same(current[key], value):
            records.append(ClientQuotaRecord(entity=entity_data(entity), key=key, value=value))
    return [MetadataRecord(record) for record in records]


def _keys_of(entity: QuotaEntity, is_host: Callable[[str], bool]) -> Mapping[str, QuotaType]:
    """Which quotas an entity may have."""
    named = dict(entity)
    if not named:
        raise _refusal("A quota belongs to a user, a client id or an address.")
    for entity_type, name in entity:
        if entity_type not in (USER, CLIENT_ID, IP):
            raise _refusal(f"There are no quotas for a {entity_type or 'type without a name'}.")
        if name == "":
            raise _refusal(f"The name of a {entity_type} must not be empty; the default is null.")
    if IP not in named:
        return _USER_AND_CLIENT
    if len(named) > 1:
        raise _refusal("The quota of an address cannot be that of a user or client id as well.")
    address = named[IP]
    if address is not None and not is_host(address):
        raise _refusal(f"{address} is no address, nor a name that has one.")
    return _ADDRESS


def _check_value(keys: Mapping[str, QuotaType], key: str, value: float) -> None:
    quota_type = keys.get(key)
    if quota_type is None:
        raise _refusal(f"There is no quota {key} for this entity; there are {', '.join(keys)}.")
    if value <= 0:
        raise _refusal(f"The quota {key} has to be greater than 0.")
    if quota_type is QuotaType.DOUBLE:
        return
    if value > quota_type.value:
        raise _refusal(f"The quota {key} is too large.")
    if abs(math.fmod(value, 1.0)) > _LARGEST_FRACTION:
        raise _refusal(f"The quota {key} has to be a whole number.")


def _same(one: float, other: float) -> bool:
    """Java takes NaN for itself."""
    return one == other or (math.isnan(one) and math.isnan(other))


def _refusal(why: str) -> KafkaError:
    return KafkaError(ErrorCode.INVALID_REQUEST, why)
