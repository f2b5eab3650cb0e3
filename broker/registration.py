"""What this node tells the controller of itself when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.broker.controller_listener import controller_addresses
from barnabas.coordination.controller.registration import SECURITY_PROTOCOLS
from barnabas.protocol.messages import controller_registration
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["controller_registration_request", "registration_request"]

_NUMBERS = {name: number for number, name in SECURITY_PROTOCOLS.items()}
_ANYWHERE = ("0.0.0.0", "::", "")  # noqa: S104 - nothing is bound here


def registration_request(node: Node) -> BrokerRegistrationRequest:
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
        features=[
            Feature(name=name, min_supported_version=levels.low, max_supported_version=levels.high)
            for name, levels in node.supported_features.items()
        ],
        rack=node.config.broker_rack,
        log_dirs=[each.meta.directory_id for each in online if each.meta and each.meta.directory_id],
        previous_broker_epoch=node.directories.previous_broker_epoch or -1,
    )


def controller_registration_request(node: Node) -> controller_registration.ControllerRegistrationRequest:
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
        features=[
            controller_registration.Feature(
                name=name, min_supported_version=levels.low, max_supported_version=levels.high
            )
            for name, levels in node.supported_features.items()
        ],
    )
