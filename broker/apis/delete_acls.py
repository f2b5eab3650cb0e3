"""DeleteAcls, versions 1 to 3: the ACLs that fit a filter are removed. Without an authorizer each filter is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.unsecured import check_known
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.delete_acls import DeleteAclsFilterResult, DeleteAclsRequest, DeleteAclsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(_node: Node, _call: Call, request: DeleteAclsRequest) -> DeleteAclsResponse:
    for wanted in request.filters:
        check_known(
            "DeleteAcls",
            wanted.resource_type_filter,
            wanted.pattern_type_filter,
            wanted.operation,
            wanted.permission_type,
        )
    return DeleteAclsResponse(
        filter_results=[
            DeleteAclsFilterResult(error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured.")
            for _ in request.filters
        ]
    )
