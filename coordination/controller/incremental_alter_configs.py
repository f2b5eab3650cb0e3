"""IncrementalAlterConfigs (0-1): single configurations are set, deleted, or, if they are lists, added to or taken from.

A resource's configurations change together or not at all; one resource's failure is not another's.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.config_change import (
    APPEND,
    DELETE,
    SET,
    SUBTRACT,
    ConfigOperation,
    alter_resource,
    changed_list,
    java_split,
)
from barnabas.coordination.controller.config_requests import (
    Change,
    alter_resources,
    answers,
    check_named_once,
    check_own_broker,
)
from barnabas.coordination.controller.errors import NO_ERROR, ApiError, api_error
from barnabas.coordination.controller.permissions import anyone
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResourceResponse,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)

__all__ = ["incremental_alter_configs"]

_Change = Change[Sequence[AlterableConfig]]


def no_loggers(_: ConfigResource, __: Sequence[AlterableConfig]) -> None:
    raise KafkaError(ErrorCode.INVALID_REQUEST, "This node's loggers cannot be altered.")


def incremental_alter_configs(
    controller: Controller,
    request: IncrementalAlterConfigsRequest,
    *,
    at_broker: bool = True,
    forwarded: bool = False,
    may_alter: Callable[[ConfigResource], bool] = anyone,
    alter_loggers: Callable[[ConfigResource, Sequence[AlterableConfig]], None] = no_loggers,
) -> Outcome[MetadataRecord, IncrementalAlterConfigsResponse]:
    """`at_broker`: this node was asked as a broker, and passes on what it finds no fault with. `forwarded`: another
    broker has done that. `alter_loggers` alters what no log keeps, or raises KafkaError."""
    changes: list[_Change] = [
        Change(ConfigResource(resource.resource_type, resource.resource_name), resource.configs)
        for resource in request.resources
    ]

    def alter(change: _Change) -> list[MetadataRecord]:
        operations = {config.name: ConfigOperation(config.config_operation, config.value) for config in change.configs}
        return alter_resource(controller, change.resource, operations, forwarded=at_broker or forwarded)

    def preprocess(change: _Change) -> bool:
        nulls = [config.name for config in change.configs if config.value is None and config.config_operation != DELETE]
        check_named_once((config.name for config in change.configs), nulls)
        match ResourceType(change.resource.type):
            case ResourceType.BROKER_LOGGER:
                alter_loggers(change.resource, change.configs)
                return False
            case ResourceType.BROKER:
                check_own_broker(controller, change.resource)
                controller.rules.validate_for_broker(change.resource, _applied(controller, change))
            case ResourceType.UNKNOWN:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no resource type {change.resource.type}.")
        return True

    loggers: list[tuple[ConfigResource, ApiError]] = []
    if not at_broker:
        loggers = [(one.resource, _alter_loggers(one, alter_loggers)) for one in changes if _is_of_loggers(one)]
        changes = [one for one in changes if not _is_of_loggers(one)]
    altered = alter_resources(
        controller, changes, at_broker=at_broker, preprocess=preprocess, alter=alter, may_alter=may_alter
    )
    responses = answers(AlterConfigsResourceResponse, [*altered.results, *loggers])
    records = [] if request.validate_only else altered.records
    return Outcome(records, IncrementalAlterConfigsResponse(responses=responses))


def _is_of_loggers(change: _Change) -> bool:
    return ResourceType(change.resource.type) is ResourceType.BROKER_LOGGER


def _alter_loggers(
    change: _Change, alter_loggers: Callable[[ConfigResource, Sequence[AlterableConfig]], None]
) -> ApiError:
    try:
        alter_loggers(change.resource, change.configs)
    except KafkaError as error:
        return api_error(error)
    return NO_ERROR


def _applied(controller: Controller, change: _Change) -> dict[str, str]:
    """The broker's configurations as they would be."""
    for config in change.configs:
        if config.config_operation not in (SET, DELETE, APPEND, SUBTRACT):
            raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no operation {config.config_operation}.")
    configs = dict(controller.image.configs.of(change.resource))
    for config in change.configs:
        name, operation = config.name, config.config_operation
        if operation == SET:
            configs[name] = config.value or ""
        elif operation == DELETE:
            configs.pop(name, None)
        else:
            configs[name] = _with_list_changed(controller, change.resource.type, configs.get(name), config)
    return configs


def _with_list_changed(controller: Controller, resource_type: int, current: str | None, config: AlterableConfig) -> str:
    if not controller.rules.is_list(resource_type, config.name):
        raise KafkaError(ErrorCode.INVALID_CONFIG, f"{config.name} is no list that there is.")
    if current is None:
        current = controller.rules.default(resource_type, config.name) or ""
    return changed_list(java_split(current) if current else [], config.config_operation, config.value)
