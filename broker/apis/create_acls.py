"""CreateAcls, versions 1 to 3: ACLs are added. Without an authorizer each one is refused."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.unsecured import check_known
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.create_acls import AclCreationResult, CreateAclsRequest, CreateAclsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(_node: Node, _call: Call, request: CreateAclsRequest) -> CreateAclsResponse:
    for wanted in request.creations:
        check_known(
            "CreateAcls",
            wanted.resource_type,
            wanted.resource_pattern_type,
            wanted.operation,
            wanted.permission_type,
        )
    return CreateAclsResponse(
        results=[
            AclCreationResult(error_code=ErrorCode.SECURITY_DISABLED, error_message="No Authorizer is configured.")
            for _ in request.creations
        ]
    )
