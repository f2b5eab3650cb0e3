"""ApiVersions, versions 0 to 4, of a controller: the broker's answer, with the APIs that are served here."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.apis import api_versions
from barnabas.broker.call import Call
from barnabas.broker.controller_apis import MODULES
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: ApiVersionsRequest) -> ApiVersionsResponse:
    answer = api_versions.handle(node, call, request)
    if not answer.error_code:
        answer.api_keys = api_versions.spoken_versions(MODULES)
    return answer
