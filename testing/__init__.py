"""A broker inside your tests: no container, no JVM, no file.

    from barnabas.testing import Broker

    with Broker() as broker:
        producer = KafkaProducer(bootstrap_servers=broker.bootstrap_servers)
        ...
        broker.wait_for("orders", count=3)

Names are loaded when they are first asked for: pytest imports this package in every run.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from barnabas.protocol.errors import ErrorCode as ErrorCode
    from barnabas.protocol.errors import KafkaError as KafkaError
    from barnabas.testing.async_broker import AsyncBroker as AsyncBroker
    from barnabas.testing.broker import Broker as Broker
    from barnabas.testing.clock import Clock as Clock
    from barnabas.testing.cluster import Cluster as Cluster
    from barnabas.testing.cluster_node import ClusterNode as ClusterNode
    from barnabas.testing.errors import BrokerFailed as BrokerFailed
    from barnabas.testing.errors import NotInTime as NotInTime
    from barnabas.testing.errors import UnknownTopic as UnknownTopic
    from barnabas.testing.faults import Fault as Fault
    from barnabas.testing.groups import Group as Group
    from barnabas.testing.groups import GroupMember as GroupMember
    from barnabas.testing.history import Request as Request
    from barnabas.testing.record import Record as Record

_MODULES = {
    "AsyncBroker": "async_broker",
    "Broker": "broker",
    "BrokerFailed": "errors",
    "Clock": "clock",
    "Cluster": "cluster",
    "ClusterNode": "cluster_node",
    "ErrorCode": "errors",
    "Fault": "faults",
    "Group": "groups",
    "GroupMember": "groups",
    "KafkaError": "errors",
    "NotInTime": "errors",
    "Record": "record",
    "Request": "history",
    "UnknownTopic": "errors",
}

__all__ = [
    "AsyncBroker",
    "Broker",
    "BrokerFailed",
    "Clock",
    "Cluster",
    "ClusterNode",
    "ErrorCode",
    "Fault",
    "Group",
    "GroupMember",
    "KafkaError",
    "NotInTime",
    "Record",
    "Request",
    "UnknownTopic",
]


def __getattr__(name: str) -> object:
    if name not in _MODULES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    found: object = getattr(import_module(f"{__name__}.{_MODULES[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted(__all__)
