"""What the controller has decided about other brokers, told to whoever reads the node's log."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from barnabas.broker.event_log import Event, Level
from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.delta import ImageDelta

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["tell_of_brokers"]


def tell_of_brokers(node: Node, delta: ImageDelta) -> None:
    for broker_id, before in delta.brokers.items():
        if broker_id != node.node_id:
            for text, level in _news(before, node.image.brokers.get(broker_id)):
                node.report(Event(f"broker {broker_id} {text}", level))


def _news(before: BrokerRegistration | None, now: BrokerRegistration | None) -> Iterator[tuple[str, Level]]:
    if now is None:
        yield "is registered no more", Level.INFO
        return
    if before is None or before.epoch != now.epoch:
        where = ", ".join(f"{endpoint.host}:{endpoint.port}" for endpoint in now.endpoints)
        yield f"has registered, at {where}", Level.INFO
    if before is None or before.fenced != now.fenced:
        if not now.fenced:
            yield "is in service", Level.INFO
        elif before is not None and before.epoch == now.epoch:
            leaves = before.in_controlled_shutdown
            yield "is fenced", Level.INFO if leaves else Level.WARNING
    elif now.in_controlled_shutdown and not before.in_controlled_shutdown:
        yield "wants to stop: its partitions get other leaders", Level.INFO
