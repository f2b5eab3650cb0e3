"""DescribeClientQuotas, versions 0 and 1: the quotas of the users, clients and addresses that a filter lets through."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.describe_client_quotas import describe_client_quotas
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, _call: Call, request: DescribeClientQuotasRequest) -> DescribeClientQuotasResponse:
    return describe_client_quotas(node.image, request)
