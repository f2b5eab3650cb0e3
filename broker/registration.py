"""What this node tells the controller of itself when it starts, and the epoch that it is given as a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.listener import Listener as OpenListener
from barnabas.broker.startable import CannotStart
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.controller_registration import register_controller
from barnabas.coordination.controller.registration import registered
from barnabas.coordination.controller.registration_fields import SECURITY_PROTOCOLS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import controller_registration
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["controller_addresses", "register"]

_VERSION = 4
"""Of BrokerRegistration: the newest."""

Named = TypeVar("Named")

_NUMBERS = {name: number for number, name in SECURITY_PROTOCOLS.items()}
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - nothing is bound here


async def register(node: Node) -> None:
    """The first decisions of the controller in this epoch. CannotStart if it does not take the broker in."""
    bootstrap = [] if node.image.metadata_version is not None else node.journal.bootstrap
    await node.controller.decide(lambda controller, _now_ms: activate(controller, bootstrap))
    request = _registration_request(node)
    try:
        answer = await node.controller.decide(
            lambda controller, now_ms: registered(
                controller, request, _VERSION, next_offset=node.journal.end_offset, now_ms=now_ms
            )
        )
    except KafkaError as error:
        if error.code == ErrorCode.KAFKA_STORAGE_ERROR:
            raise
        raise CannotStart(
            f"The metadata in {node.directories.metadata.path} does not let this broker in: {error.message}; start the "
            "version that wrote it, or name another directory with --data."
        ) from None
    node.broker_epoch = answer.broker_epoch
    if node.controller_listeners and node.image.required_metadata_version.controller_registration:
        ours = _controller_registration_request(node)
        await node.controller.decide(lambda controller, _now_ms: register_controller(controller, ours))


def controller_addresses(advertised: tuple[Endpoint, ...], listeners: list[OpenListener]) -> list[tuple[str, str, int]]:
    """Name, host and port of what others are told of the controller, when its ports are known."""
    bound = {listener.endpoint.listener: listener.address[1] for listener in listeners}
    return [(each.listener, each.host or "localhost", each.port or bound[each.listener]) for each in advertised]


def _registration_request(node: Node) -> BrokerRegistrationRequest:
    advertised = {endpoint.listener: endpoint for endpoint in node.config.advertised_listeners}
    listeners = []
    for listener in node.listeners:
        endpoint = advertised[listener.endpoint.listener]
        host = endpoint.host or listener.address[0]
        listeners.append(
            Listener(
                name=endpoint.listener,
                host="localhost" if host in _ANYWHERE else host,
                port=endpoint.port or listener.address[1],
                security_protocol=_NUMBERS[endpoint.protocol],
            )
        )
    online = node.directories.online
    return BrokerRegistrationRequest(
        broker_id=node.node_id,
        cluster_id=node.cluster_id,
        incarnation_id=node.incarnation_id,
        listeners=listeners,
        features=_features(node, Feature),
        rack=node.config.broker_rack,
        log_dirs=[each.meta.directory_id for each in online if each.meta and each.meta.directory_id],
        previous_broker_epoch=node.directories.previous_broker_epoch or -1,
    )


def _controller_registration_request(node: Node) -> controller_registration.ControllerRegistrationRequest:
    """The same for its controller, which other nodes and tools look for."""
    protocols = {listener.endpoint.listener: listener.endpoint.protocol for listener in node.controller_listeners}
    addresses = controller_addresses(node.config.advertised_controller_listeners, node.controller_listeners)
    return controller_registration.ControllerRegistrationRequest(
        controller_id=node.node_id,
        incarnation_id=node.incarnation_id,
        zk_migration_ready=False,
        listeners=[
            controller_registration.Listener(
                name=name, host=host, port=port, security_protocol=_NUMBERS[protocols[name]]
            )
            for name, host, port in addresses
        ],
        features=_features(node, controller_registration.Feature),
    )


def _features(node: Node, make: Callable[[str, int, int], Named]) -> list[Named]:
    return [make(name, levels.low, levels.high) for name, levels in node.supported_features.items()]
