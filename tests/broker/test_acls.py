"""ACLs without an authorizer are refused, and who leaves a kind open is shown out."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from barnabas.protocol.messages.delete_acls import DeleteAclsFilter, DeleteAclsRequest, DeleteAclsResponse
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse
from barnabas.protocol.schema import Message
from tests.kafka.client import RawClient

from .running import RunningNode

TOPIC, ANY, ALLOW, READ, PREFIXED = 2, 1, 3, 3, 4

EVERYTHING = DescribeAclsRequest(resource_type_filter=ANY, pattern_type_filter=ANY, operation=ANY, permission_type=ANY)
CREATION = AclCreation(
    resource_type=TOPIC,
    resource_name="orders",
    resource_pattern_type=PREFIXED,
    principal="User:clara",
    host="*",
    operation=READ,
    permission_type=ALLOW,
)
FILTER = DeleteAclsFilter(resource_type_filter=TOPIC, operation=READ, permission_type=ALLOW)


def opened(kind: str) -> dict[str, Any]:
    return {kind: 0}


OPEN_KINDS: list[tuple[Message, type[Message]]] = [
    *(
        (replace(EVERYTHING, **opened(kind)), DescribeAclsResponse)
        for kind in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    ),
    *(
        (CreateAclsRequest(creations=[CREATION, replace(CREATION, **opened(kind))]), CreateAclsResponse)
        for kind in ("resource_type", "resource_pattern_type", "operation", "permission_type")
    ),
    *(
        (DeleteAclsRequest(filters=[FILTER, replace(FILTER, **opened(kind))]), DeleteAclsResponse)
        for kind in ("resource_type_filter", "pattern_type_filter", "operation", "permission_type")
    ),
]


def test_each_is_refused(client: RawClient) -> None:
    described = client.ask(EVERYTHING, 3, DescribeAclsResponse)
    assert (described.error_code, described.resources) == (ErrorCode.SECURITY_DISABLED, [])
    created = client.ask(CreateAclsRequest(creations=[CREATION] * 3), 3, CreateAclsResponse)
    assert [one.error_code for one in created.results] == [ErrorCode.SECURITY_DISABLED] * 3
    deleted = client.ask(DeleteAclsRequest(filters=[FILTER] * 2), 3, DeleteAclsResponse)
    assert [one.error_code for one in deleted.filter_results] == [ErrorCode.SECURITY_DISABLED] * 2
    assert all(one.matching_acls == [] for one in deleted.filter_results)


def test_an_open_kind_ends_one_connection(node: RunningNode) -> None:
    """And it says in one line why."""
    with node.client() as other:
        for request, answer in OPEN_KINDS:
            with node.client() as careless, pytest.raises(ConnectionError):
                careless.ask(request, 3, answer)
        assert other.ask(EVERYTHING, 3, DescribeAclsResponse).error_code == ErrorCode.SECURITY_DISABLED
    said = [line for line in node.lines if "unknown" in line]
    assert len(said) == len(OPEN_KINDS), node.lines
