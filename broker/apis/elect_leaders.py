"""ElectLeaders, versions 0 to 2: preferred leaders again, or, from version 1 on, any leader at all where there is none.

Asked for all partitions (null), the answer has only those whose leader changed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.mutations import check_patience
from barnabas.coordination.controller.elect_leaders import elect_leaders
from barnabas.protocol.errors import KafkaError
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node


async def handle(node: Node, call: Call, request: ElectLeadersRequest) -> ElectLeadersResponse:
    if request.topic_partitions != []:
        check_patience(request.timeout_ms)
    return await node.controller.decide(lambda controller, _now_ms: elect_leaders(controller, request, call.version))


def refused(call: Call, request: ElectLeadersRequest, error: KafkaError) -> ElectLeadersResponse:
    return ElectLeadersResponse(
        # Version 0 has no error of the whole.
        error_code=error.code if call.version else 0,
        replica_election_results=[
            ReplicaElectionResult(
                topic=topic.topic,
                partition_result=[
                    PartitionResult(partition_id=number, error_code=error.code, error_message=error.message or None)
                    for number in topic.partitions
                ],
            )
            for topic in request.topic_partitions or ()
        ],
    )
