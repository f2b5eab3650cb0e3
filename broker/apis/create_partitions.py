"""CreatePartitions, versions 0 to 3: a topic gets more partitions. Decided by the controller, answered when it is
committed."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.mutations import admission, check_patience
from barnabas.coordination.controller.create_partitions import create_partitions
from barnabas.coordination.controller.permissions import repeated
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopicResult,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

FIRST_WITH_QUOTA = 3


async def handle(node: Node, call: Call, request: CreatePartitionsRequest) -> CreatePartitionsResponse:
    names = [topic.name for topic in request.topics]
    if set(names) - set(repeated(names)):
        check_patience(request.timeout_ms)
    admit = admission(node, call, first_that_refuses=FIRST_WITH_QUOTA)
    seed = int.from_bytes(node.random_bytes(8), "big")
    return await node.controller.decide(
        lambda controller, _now_ms: create_partitions(controller, request, seed=seed, admit=admit)
    )


def refused(_call: Call, request: CreatePartitionsRequest, error: KafkaError) -> CreatePartitionsResponse:
    return CreatePartitionsResponse(
        results=[
            CreatePartitionsTopicResult(name=topic.name, error_code=error.code, error_message=error.message or None)
            for topic in request.topics
        ]
    )
