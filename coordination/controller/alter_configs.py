"""AlterConfigs (0-2): all configurations of a resource at once; what is not named goes back to its default."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.config_change import replace_resource
from barnabas.coordination.controller.config_requests import (
    Change,
    alter_resources,
    answers,
    check_named_once,
    check_own_broker,
)
from barnabas.coordination.controller.permissions import anyone
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_configs import (
    AlterableConfig,
    AlterConfigsRequest,
    AlterConfigsResourceResponse,
    AlterConfigsResponse,
)

__all__ = ["alter_configs"]

_Change = Change[Sequence[AlterableConfig]]


def alter_configs(
    controller: Controller,
    request: AlterConfigsRequest,
    *,
    at_broker: bool = True,
    forwarded: bool = False,
    may_alter: Callable[[ConfigResource], bool] = anyone,
) -> Outcome[MetadataRecord, AlterConfigsResponse]:
    """`at_broker` and `forwarded` as in incremental_alter_configs."""
    changes: list[_Change] = [
        Change(ConfigResource(resource.resource_type, resource.resource_name), resource.configs)
        for resource in request.resources
    ]

    def alter(change: _Change) -> list[MetadataRecord]:
        configs = {config.name: config.value for config in change.configs}
        return replace_resource(controller, change.resource, configs, forwarded=at_broker or forwarded)

    def preprocess(change: _Change) -> bool:
        nulls = [config.name for config in change.configs if config.value is None]
        check_named_once((config.name for config in change.configs), nulls)
        match ResourceType(change.resource.type):
            case ResourceType.BROKER:
                check_own_broker(controller, change.resource)
                configs = {config.name: config.value or "" for config in change.configs}
                controller.rules.validate_for_broker(change.resource, configs)
            case ResourceType.UNKNOWN | ResourceType.BROKER_LOGGER:
                raise KafkaError(ErrorCode.INVALID_REQUEST, f"There is no resource type {change.resource.type} here.")
        return True

    altered = alter_resources(
        controller, changes, at_broker=at_broker, preprocess=preprocess, alter=alter, may_alter=may_alter
    )
    responses = answers(AlterConfigsResourceResponse, altered.results)
    return Outcome([] if request.validate_only else altered.records, AlterConfigsResponse(responses=responses))
