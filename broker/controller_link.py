"""What a broker asks of the controller: decided here where the controller is in this process, sent there where not."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from barnabas.broker.controller import ControllerService, Decision
from barnabas.coordination.controller.alter_partition import alter_partition
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.create_topics import create_topics
from barnabas.coordination.controller.heartbeat import heartbeat
from barnabas.coordination.controller.producer_ids import allocate_producer_ids
from barnabas.coordination.controller.registration import registered
from barnabas.coordination.controller.replica_directories import assign_replicas_to_directories
from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.protocol.messages.alter_partition import AlterPartitionRequest
from barnabas.protocol.messages.assign_replicas_to_dirs import AssignReplicasToDirsRequest
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest
from barnabas.protocol.messages.controller_registration import ControllerRegistrationRequest
from barnabas.protocol.messages.create_topics import CreateTopicsRequest
from barnabas.protocol.schema import Message

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["ControllerLink", "LocalController"]

Answer = TypeVar("Answer", bound=Message)

_REGISTRATION_VERSION = 4
_ALTER_PARTITION_VERSION = 3


class ControllerLink(Protocol):
    async def ask(self, request: Message, answer: type[Answer]) -> Answer:
        """The answer of the active controller, whatever error codes it has, when what it decided is committed.
        KafkaError where none could be had: the request may have been carried out all the same."""


class LocalController:
    """In this process, where the words of a refusal are not lost: a registration raises them as KafkaError."""

    def __init__(self, node: Node, service: ControllerService) -> None:
        self._node = node
        self._service = service

    async def ask(self, request: Message, answer: type[Answer]) -> Answer:
        reply = await self._service.decide(_DECISIONS[type(request)](self._node, request))
        assert isinstance(reply, answer)
        return reply


def _register(node: Node, request: BrokerRegistrationRequest) -> Decision[Any]:
    return lambda controller, now_ms: registered(
        controller, request, _REGISTRATION_VERSION, next_offset=node.journal.end_offset, now_ms=now_ms
    )


def _heartbeat(_node: Node, request: BrokerHeartbeatRequest) -> Decision[Any]:
    return lambda controller, now_ms: heartbeat(controller, request, now_ms=now_ms)


def _alter_partition(_node: Node, request: AlterPartitionRequest) -> Decision[Any]:
    return lambda controller, _now_ms: alter_partition(controller, request, _ALTER_PARTITION_VERSION)


def _allocate_producer_ids(_node: Node, request: AllocateProducerIdsRequest) -> Decision[Any]:
    return lambda controller, _now_ms: allocate_producer_ids(controller, request)


def _assign_directories(_node: Node, request: AssignReplicasToDirsRequest) -> Decision[Any]:
    return lambda controller, _now_ms: assign_replicas_to_directories(controller, request)


def _register_controller(_node: Node, request: ControllerRegistrationRequest) -> Decision[Any]:
    return lambda controller, _now_ms: register_controller(controller, request)


def _create_topics(node: Node, request: CreateTopicsRequest) -> Decision[Any]:
    seed = int.from_bytes(node.random_bytes(8), "big")
    return lambda controller, _now_ms: create_topics(controller, request, topic_ids=node.topic_ids(), seed=seed)


_DECISIONS: Mapping[type[Message], Callable[[Node, Any], Decision[Any]]] = {
    AllocateProducerIdsRequest: _allocate_producer_ids,
    AlterPartitionRequest: _alter_partition,
    AssignReplicasToDirsRequest: _assign_directories,
    BrokerHeartbeatRequest: _heartbeat,
    BrokerRegistrationRequest: _register,
    ControllerRegistrationRequest: _register_controller,
    CreateTopicsRequest: _create_topics,
}
