"""What the two ways to alter configurations have in common: the resources of a request, checked one by one.

A broker that is asked checks first, and passes on to the controller what it finds no fault with; the answer is in the
order of the request. A controller that is asked itself answers first what it refuses at sight.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Generic, NamedTuple, Protocol, TypeVar

from barnabas.coordination.cluster.configs import ConfigResource, ResourceType
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.config_change import clear_elr_records
from barnabas.coordination.controller.errors import NO_ERROR, ApiError, api_error
from barnabas.coordination.controller.permissions import repeated
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.errors import ErrorCode, KafkaError

__all__ = ["Altered", "Change", "alter_resources", "answers", "check_named_once", "check_own_broker", "refusals"]

Configs = TypeVar("Configs")
Answer = TypeVar("Answer")


class Change(NamedTuple, Generic[Configs]):
    """What a request wants of one resource."""

    resource: ConfigResource
    configs: Configs


class Altered(NamedTuple):
    records: list[MetadataRecord]
    results: list[tuple[ConfigResource, ApiError]]


class NamedResource(Protocol):
    """A resource of either request."""

    resource_type: int
    resource_name: str


def alter_resources(
    controller: Controller,
    changes: Sequence[Change[Configs]],
    *,
    at_broker: bool,
    preprocess: Callable[[Change[Configs]], bool],
    alter: Callable[[Change[Configs]], list[MetadataRecord]],
    may_alter: Callable[[ConfigResource], bool],
) -> Altered:
    """`at_broker`: this node was asked as a broker; then `preprocess` raises what the broker refuses, and says whether
    anything is left for the controller."""
    if at_broker:
        return _alter_at_broker(controller, changes, preprocess, alter, may_alter)
    return _alter_at_controller(controller, changes, alter, may_alter)


def answers(make: Callable[..., Answer], results: Iterable[tuple[ConfigResource, ApiError]]) -> list[Answer]:
    """`make` is the class of one result in either answer."""
    return [
        make(
            error_code=error.code, error_message=error.message, resource_type=resource.type, resource_name=resource.name
        )
        for resource, error in results
    ]


def refusals(make: Callable[..., Answer], resources: Iterable[NamedResource], error: KafkaError) -> list[Answer]:
    """The same for every resource of a request that is refused as a whole."""
    named = (ConfigResource(resource.resource_type, resource.resource_name) for resource in resources)
    return answers(make, ((resource, api_error(error)) for resource in named))


def _alter_at_broker(
    controller: Controller,
    changes: Sequence[Change[Configs]],
    preprocess: Callable[[Change[Configs]], bool],
    alter: Callable[[Change[Configs]], list[MetadataRecord]],
    may_alter: Callable[[ConfigResource], bool],
) -> Altered:
    twice = repeated(change.resource for change in changes)
    records: list[MetadataRecord] = []
    results = []
    for change in changes:
        error = NO_ERROR
        try:
            if change.resource in twice:
                raise KafkaError(ErrorCode.INVALID_REQUEST, "The request names this resource twice.")
            if preprocess(change):
                _check_permission(change.resource, may_alter)
                records += alter(change)
        except KafkaError as refused:
            error = api_error(refused)
        results.append((change.resource, error))
    return Altered(records + clear_elr_records(controller, records), results)


def _alter_at_controller(
    controller: Controller,
    changes: Sequence[Change[Configs]],
    alter: Callable[[Change[Configs]], list[MetadataRecord]],
    may_alter: Callable[[ConfigResource], bool],
) -> Altered:
    twice = repeated(change.resource for change in changes)
    records: list[MetadataRecord] = []
    refused: list[tuple[ConfigResource, ApiError]] = []
    results: list[tuple[ConfigResource, ApiError]] = []
    for change in changes:
        resource = change.resource
        if ResourceType(resource.type) is ResourceType.UNKNOWN:
            unknown = ApiError(ErrorCode.UNSUPPORTED_VERSION, f"There is no resource type {resource.type}.")
            refused.append((resource, unknown))
        elif resource not in twice:
            try:
                _check_permission(resource, may_alter)
            except KafkaError as error:
                refused.append((resource, api_error(error)))
                continue
            try:
                records += alter(change)
                results.append((resource, NO_ERROR))
            except KafkaError as error:
                results.append((resource, api_error(error)))
    again = ApiError(ErrorCode.INVALID_REQUEST, "The request names this resource twice.")
    refused += [(resource, again) for resource in twice if ResourceType(resource.type) is not ResourceType.UNKNOWN]
    return Altered(records + clear_elr_records(controller, records), refused + results)


def check_named_once(names: Iterable[str], without_value: Sequence[str]) -> None:
    if repeated(names):
        raise KafkaError(ErrorCode.INVALID_REQUEST, "A configuration is named twice.")
    if without_value:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"These configurations have no value: {', '.join(without_value)}.")


def check_own_broker(controller: Controller, resource: ConfigResource) -> None:
    """A broker is told by its own id, or all of them without one: another broker could not check it."""
    if not resource.name:
        return
    try:
        node_id = int(resource.name)
    except ValueError:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"{resource.name} is no number of a broker.") from None
    if node_id != controller.settings.node_id:
        raise KafkaError(
            ErrorCode.INVALID_REQUEST, f"This is broker {controller.settings.node_id}: ask broker {node_id} itself."
        )


def _check_permission(resource: ConfigResource, may_alter: Callable[[ConfigResource], bool]) -> None:
    codes = {
        ResourceType.BROKER: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ResourceType.CLIENT_METRICS: ErrorCode.CLUSTER_AUTHORIZATION_FAILED,
        ResourceType.TOPIC: ErrorCode.TOPIC_AUTHORIZATION_FAILED,
        ResourceType.GROUP: ErrorCode.GROUP_AUTHORIZATION_FAILED,
    }
    code = codes.get(ResourceType(resource.type))
    if code is None:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"Resource type {resource.type} cannot be altered here.")
    if not may_alter(resource):
        raise KafkaError(code, "Not authorized to alter this resource.")
