"""DescribeAcls, versions 1 to 3: the ACLs that fit a filter. Without an authorizer there are none to be told."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.unsecured import check_known
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.describe_acls import DescribeAclsRequest, DescribeAclsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(_node: Node, _call: Call, request: DescribeAclsRequest) -> DescribeAclsResponse:
    check_known(
        "DescribeAcls",
        request.resource_type_filter,
        request.pattern_type_filter,
        request.operation,
        request.permission_type,
    )
    return DescribeAclsResponse(
        error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured on the broker"
    )
