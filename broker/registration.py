"""What this node tells the controller of itself when it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from barnabas.coordination.controller.registration import SECURITY_PROTOCOLS
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["registration_request"]

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
