"""AlterClientQuotas, versions 0 and 1: quotas of users, clients and addresses are set and removed.

An address may be given by a name that has one: names are looked up first, since that may take its time.
"""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING

import trio

from barnabas.broker.call import Call
from barnabas.coordination.cluster.quotas import IP
from barnabas.coordination.controller.client_quotas import alter_client_quotas, is_address
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    ResponseEntryData,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: AlterClientQuotasRequest) -> AlterClientQuotasResponse:
    hosts = {name for name in _names(request) if is_address(name) or await _has_address(name)}
    return await node.controller.decide(
        lambda controller, _now_ms: alter_client_quotas(controller, request, is_host=hosts.__contains__)
    )


def _names(request: AlterClientQuotasRequest) -> set[str]:
    return {
        part.entity_name
        for entry in request.entries
        for part in entry.entity
        if part.entity_type == IP and part.entity_name
    }


async def _has_address(name: str) -> bool:
    try:
        return bool(await trio.socket.getaddrinfo(name, None, type=socket.SOCK_STREAM))
    except (OSError, UnicodeError):
        return False


def refused(_call: Call, request: AlterClientQuotasRequest, error: KafkaError) -> AlterClientQuotasResponse:
    return AlterClientQuotasResponse(
        entries=[
            ResponseEntryData(
                error_code=error.code,
                error_message=error.message or None,
                entity=[EntityData(entity_type=one.entity_type, entity_name=one.entity_name) for one in entry.entity],
            )
            for entry in request.entries
        ]
    )
