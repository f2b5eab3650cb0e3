"""Where Barnabas has another default than Kafka, and why: so that it starts without any file, as one node that is all.

Whoever sets one of these keys gets what is set.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from barnabas.broker.configuration.key import REQUIRED, Key

__all__ = ["ALONE_DEFAULTS", "BARNABAS_DEFAULTS", "FITTED_TO_BROKERS", "Default", "default_of"]


class Default(NamedTuple):
    value: Any
    why: str


BARNABAS_DEFAULTS: Mapping[str, Default] = {
    "process.roles": Default(("broker", "controller"), "One node is broker and controller; Kafka has no default."),
    "node.id": Default(1, "Kafka has no default, and its own example says 1."),
    "controller.listener.names": Default(("CONTROLLER",), "Kafka has no default, and its own example says CONTROLLER."),
    "listeners": Default(
        ("PLAINTEXT://127.0.0.1:9092",),
        "Kafka listens on every address, without a password: nobody should do so who did not ask for it.",
    ),
    "socket.receive.buffer.bytes": Default(-1, "The system fits the buffers of a connection to its speed, if it may."),
    "socket.send.buffer.bytes": Default(-1, "The same for what is sent."),
    "replica.socket.receive.buffer.bytes": Default(-1, "The same for what a follower fetches."),
    "log.dir": Default(("./barnabas-data",), "What is in /tmp is gone when the machine starts again."),
}
"""They count for every node."""

ALONE_DEFAULTS: Mapping[str, Default] = {
    "group.initial.rebalance.delay.ms": Default(0, "Kafka waits three seconds for the members of a large deployment."),
    "group.streams.initial.rebalance.delay.ms": Default(0, "The same for streams groups."),
}
"""They count for a node that is its own quorum: broker and controller, with neither controller.quorum.voters nor
controller.quorum.bootstrap.servers."""

FITTED_TO_BROKERS = (
    "offsets.topic.replication.factor",
    "share.coordinator.state.topic.min.isr",
    "share.coordinator.state.topic.replication.factor",
    "transaction.state.log.min.isr",
    "transaction.state.log.replication.factor",
)
"""Kafka's defaults want three brokers, and a single one then serves neither groups nor transactions; a default is taken
for the most that is wanted, and no more than there are brokers."""


def default_of(key: Key, alone: bool) -> Any:
    own = BARNABAS_DEFAULTS.get(key.name) or (ALONE_DEFAULTS.get(key.name) if alone else None)
    if own is not None:
        return own.value
    assert key.default is not REQUIRED, key.name
    return key.default
