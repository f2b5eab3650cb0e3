"""DeleteTopics, versions 1 to 6: decided by the controller; the logs are renamed at once and removed later."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    return await node.controller.decide(lambda controller, _now_ms: delete_topics(controller, request, call.version))
