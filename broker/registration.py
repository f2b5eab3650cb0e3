"""What this node tells the controller of itself when it starts, and the epoch that it is given as a broker."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

import trio

from barnabas.broker.configuration.listeners import Endpoint
from barnabas.broker.listener import Listener as OpenListener
from barnabas.broker.startable import CannotStart
from barnabas.coordination.controller.registration_fields import SECURITY_PROTOCOLS
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages import controller_registration
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["controller_addresses", "register_elsewhere", "register_here"]

Named = TypeVar("Named")

_TRY_AGAIN_S = 0.5
_FOR_GOOD = {
    ErrorCode.INCONSISTENT_CLUSTER_ID: "its log directories belong to another cluster; give it empty ones, or name "
    "that cluster's controllers in controller.quorum.bootstrap.servers.",
    ErrorCode.UNSUPPORTED_VERSION: "the cluster uses features that this broker does not have; see barnabas cluster "
    "features.",
    ErrorCode.INVALID_REGISTRATION: "another broker has one of its log directories, or it was copied; give it "
    "directories of its own.",
}
"""What does not change by waiting, and what to do about it."""

_NUMBERS = {name: number for number, name in SECURITY_PROTOCOLS.items()}
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - nothing is bound here


async def register_here(node: Node) -> None:
    """With the controller in this process. CannotStart if it does not take the broker in."""
    try:
        answer = await node.controller_link.ask(_registration_request(node), BrokerRegistrationResponse)
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
        await node.controller_link.ask(ours, controller_registration.ControllerRegistrationResponse)


async def register_elsewhere(node: Node) -> None:
    """With controllers that are other nodes, as long as a start may wait for them: the session of this broker's last
    run may have to end first. CannotStart if they do not take it in."""
    request = _registration_request(node)
    limit_ms = node.config.initial_broker_registration_timeout_ms
    why = "no controller answers"
    with trio.move_on_after(limit_ms / 1000):
        while True:
            try:
                answer = await node.controller_link.ask(request, BrokerRegistrationResponse)
            except KafkaError as error:
                told = str(error)
            else:
                if not answer.error_code:
                    node.broker_epoch = answer.broker_epoch
                    return
                if answer.error_code in _FOR_GOOD:
                    raise CannotStart(_refusal(node, ErrorCode(answer.error_code)))
                told = f"the controller answers {ErrorCode(answer.error_code).name}"
            if told != why:
                node.report(f"this broker is not registered yet: {told}")
            why = told
            await trio.sleep(_TRY_AGAIN_S)
    raise CannotStart(
        f"The controllers did not let this broker in within {limit_ms} ms (initial.broker.registration.timeout.ms): "
        f"{why}. See whether they run, and whether another broker has node.id={node.node_id}."
    )


async def register_directories(node: Node) -> None:
    """An older metadata.version did not keep them, and the controller has to know them to see that one has failed."""
    while (
        (ours := node.image.brokers.get(node.node_id)) is not None
        and ours.epoch == node.broker_epoch
        and not ours.directories
        and node.image.required_metadata_version.directories
    ):
        try:
            answer = await node.controller_link.ask(_registration_request(node), BrokerRegistrationResponse)
        except KafkaError as error:
            node.warn(f"the controller does not know the log directories of this broker yet: {error}")
        else:
            if answer.error_code:
                code = ErrorCode(answer.error_code).name
                node.warn(f"the controller refuses the log directories of this broker with {code}")
            return
        await trio.sleep(_TRY_AGAIN_S)


def _refusal(node: Node, code: ErrorCode) -> str:
    return f"The controllers refuse broker {node.node_id} with {code.name}: {_FOR_GOOD[code]}"


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
