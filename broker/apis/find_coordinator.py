"""FindCoordinator, versions 0 to 6: who coordinates a group, from version 4 on several at once.

The first one who asks has __consumer_offsets created. Transactions and share groups are not here yet, and whoever asks
for their coordinator is told so, which ends the client's search.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.auto_creation import OFFSETS_TOPIC, create_missing
from barnabas.broker.call import Call
from barnabas.coordination.groups import partition_of_group
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.find_coordinator import Coordinator, FindCoordinatorRequest, FindCoordinatorResponse

if TYPE_CHECKING:
    from barnabas.broker.node import Node

GROUP, TRANSACTION, SHARE = KNOWN_TYPES = range(3)
FIRST_WITH_SEVERAL = 4


async def handle(node: Node, call: Call, request: FindCoordinatorRequest) -> FindCoordinatorResponse:
    keys = request.coordinator_keys if call.version >= FIRST_WITH_SEVERAL else [request.key]
    found = [await _find(node, call, request.key_type, key) for key in keys]
    if call.version >= FIRST_WITH_SEVERAL:
        if request.key_type in KNOWN_TYPES:
            for one in found:
                one.error_message = ""  # Kafka says no word of each
        return FindCoordinatorResponse(coordinators=found)
    return _as_one(found[0])


async def _find(node: Node, call: Call, key_type: int, key: str) -> Coordinator:
    try:
        node_id, host, port = await _coordinator_of(node, call, key_type, key)
    except KafkaError as error:
        return Coordinator(key=key, node_id=-1, port=-1, error_code=error.code, error_message=error.message)
    return Coordinator(key=key, node_id=node_id, host=host, port=port, error_message=ErrorCode.NONE.name)


async def _coordinator_of(node: Node, call: Call, key_type: int, key: str) -> tuple[int, str, int]:
    if key_type != GROUP:
        raise KafkaError(ErrorCode.INVALID_REQUEST, f"There are no coordinators of type {key_type} here.")
    if not node.groups.partition_count:
        errors = await create_missing(node, [OFFSETS_TOPIC])
        if errors:
            raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, f"{OFFSETS_TOPIC} cannot be created.")
    if not node.groups.partition_count:
        # The controller has it, and this node has not read that yet.
        raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")
    leader, _ = node.leader_of(OFFSETS_TOPIC, partition_of_group(key, node.groups.partition_count))
    for broker_id, host, port, _rack in node.brokers_for(call.connection):
        if broker_id == leader:
            return broker_id, host, port
    raise KafkaError(ErrorCode.COORDINATOR_NOT_AVAILABLE, "The coordinator is not available.")


def _as_one(found: Coordinator) -> FindCoordinatorResponse:
    return FindCoordinatorResponse(
        error_code=found.error_code,
        error_message=found.error_message,
        node_id=found.node_id,
        host=found.host,
        port=found.port,
    )
