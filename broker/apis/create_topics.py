"""CreateTopics, versions 2 to 7: decided by the controller, answered when it is committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.protocol.messages.create_topics import CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, _call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    return await node.controller.decide(
        lambda controller, _now_ms: create_topics(
            controller, request, topic_ids=node.topic_ids(), seed=int.from_bytes(node.random_bytes(8), "big")
        )
    )
