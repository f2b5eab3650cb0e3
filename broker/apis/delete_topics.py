"""DeleteTopics, versions 1 to 6: decided by the controller; the logs are renamed at once and removed later."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.mutations import admission, check_patience
from barnabas.coordination.controller.delete_topics import delete_topics
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.delete_topics import DeletableTopicResult, DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.schema import Uuid

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_QUOTA = 5


async def handle(node: Node, call: Call, request: DeleteTopicsRequest) -> DeleteTopicsResponse:
    if node.config.delete_topic_enable and _asks_controller(request):
        check_patience(request.timeout_ms)
    admit = admission(node, call, first_that_refuses=FIRST_WITH_QUOTA)
    return await node.controller.decide(
        lambda controller, _now_ms: delete_topics(controller, request, call.version, admit=admit)
    )


def _asks_controller(request: DeleteTopicsRequest) -> bool:
    """Whether any topic stands there as it should, by its name or its id, and once."""
    named = Counter(request.topic_names)
    named.update(topic.name for topic in request.topics if topic.name is not None and topic.topic_id == Uuid.ZERO)
    ids = Counter(topic.topic_id for topic in request.topics if topic.name is None and topic.topic_id != Uuid.ZERO)
    return 1 in named.values() or 1 in ids.values()


def refused(_call: Call, request: DeleteTopicsRequest, error: KafkaError) -> DeleteTopicsResponse:
    named = [(topic.name, topic.topic_id) for topic in request.topics]
    return DeleteTopicsResponse(
        responses=[
            *(DeletableTopicResult(name=name, topic_id=topic_id, error_code=error.code) for name, topic_id in named),
            *(DeletableTopicResult(name=name, error_code=error.code) for name in request.topic_names),
        ]
    )
