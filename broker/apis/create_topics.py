"""CreateTopics, versions 2 to 7: decided by the controller, answered when it is committed.

A request without time is refused only where there is something to decide: names that it has twice come first, and that
of the metadata's own log.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.mutations import admission, check_patience
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.permissions import repeated
from barnabas.coordination.controller.topic_names import CLUSTER_METADATA_TOPIC
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.create_topics import CreatableTopicResult, CreateTopicsRequest, CreateTopicsResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_QUOTA = 6


async def handle(node: Node, call: Call, request: CreateTopicsRequest) -> CreateTopicsResponse:
    names = [topic.name for topic in request.topics]
    if set(names) - set(repeated(names)) - {CLUSTER_METADATA_TOPIC}:
        check_patience(request.timeout_ms)
    admit = admission(node, call, first_that_refuses=FIRST_WITH_QUOTA)
    return await node.controller.decide(
        lambda controller, _now_ms: create_topics(
            controller,
            request,
            topic_ids=node.topic_ids(),
            seed=int.from_bytes(node.random_bytes(8), "big"),
            admit=admit,
        )
    )


def refused(_call: Call, request: CreateTopicsRequest, error: KafkaError) -> CreateTopicsResponse:
    return CreateTopicsResponse(
        topics=[
            CreatableTopicResult(name=topic.name, error_code=error.code, error_message=error.message or None)
            for topic in request.topics
        ]
    )
