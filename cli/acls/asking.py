"""What is asked of the cluster about ACLs. Reading them is any node's; changing them the controller's."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from barnabas.cli.acls.names import Entry, Operation, Pattern, PatternType, Permission, ResourceType
from barnabas.client.cluster import Cluster, check
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

__all__ = ["create", "delete", "describe"]


def describe(cluster: Cluster, patterns: Iterable[Pattern]) -> dict[Pattern, set[Entry]]:
    """Of these, or of all."""
    found: dict[Pattern, set[Entry]] = {}
    filters: list[tuple[ResourceType, str | None, PatternType]] = list(patterns) or [
        (ResourceType.ANY, None, PatternType.ANY)
    ]
    for resource_type, name, pattern_type in filters:
        request = DescribeAclsRequest(
            resource_type_filter=resource_type,
            resource_name_filter=name,
            pattern_type_filter=pattern_type,
            principal_filter=None,
            host_filter=None,
            operation=Operation.ANY,
            permission_type=Permission.ANY,
        )
        answer = cluster.ask(request, DescribeAclsResponse)
        check(answer.error_code, answer.error_message)
        for resource in answer.resources:
            pattern = _pattern(resource)
            found.setdefault(pattern, set()).update(_entry(each) for each in resource.acls)
    return found


def create(cluster: Cluster, pattern: Pattern, entries: Iterable[Entry]) -> None:
    creations = [
        AclCreation(
            resource_type=pattern.resource_type,
            resource_name=pattern.name,
            resource_pattern_type=pattern.pattern_type,
            principal=entry.principal,
            host=entry.host,
            operation=entry.operation,
            permission_type=entry.permission,
        )
        for entry in sorted(entries)
    ]
    for result in cluster.ask_controller(CreateAclsRequest(creations=creations), CreateAclsResponse).results:
        check(result.error_code, result.error_message)


def delete(cluster: Cluster, pattern: Pattern, entries: Iterable[Entry]) -> dict[Pattern, set[Entry]]:
    """Those that are gone. Without entries all that the pattern matches."""
    wanted: list[tuple[str | None, str | None, Operation, Permission]] = sorted(entries) or [
        (None, None, Operation.ANY, Permission.ANY)
    ]
    filters = [
        DeleteAclsFilter(
            resource_type_filter=pattern.resource_type,
            resource_name_filter=pattern.name,
            pattern_type_filter=pattern.pattern_type,
            principal_filter=principal,
            host_filter=host,
            operation=operation,
            permission_type=permission,
        )
        for principal, host, operation, permission in wanted
    ]
    found: dict[Pattern, set[Entry]] = {}
    answer = cluster.ask_controller(DeleteAclsRequest(filters=filters), DeleteAclsResponse)
    for result in answer.filter_results:
        check(result.error_code, result.error_message)
        for each in result.matching_acls:
            check(each.error_code, each.error_message)
            found.setdefault(_pattern(each), set()).add(_entry(each))
    return found


def _pattern(resource: Any) -> Pattern:
    return Pattern(
        _or_unknown(ResourceType, resource.resource_type),
        resource.resource_name,
        _or_unknown(PatternType, resource.pattern_type),
    )


def _entry(acl: Any) -> Entry:
    operation, permission = _or_unknown(Operation, acl.operation), _or_unknown(Permission, acl.permission_type)
    return Entry(acl.principal, acl.host, operation, permission)


def _or_unknown(kind: Any, value: int) -> Any:
    """A newer broker may have more."""
    return kind(value) if value in {int(each) for each in kind} else kind.UNKNOWN
