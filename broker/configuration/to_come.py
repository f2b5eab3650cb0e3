"""Keys that say what they will do, once Barnabas has what they are for: until then they are checked, kept and described
like all others, nothing comes of them, and the start says so to whoever has set one."""

from __future__ import annotations

__all__ = ["is_to_come"]

_FEATURES = (
    # Transactions
    "add.partitions.to.txn.",
    "transaction.",
    "transactional.",
    # Groups of the newer protocols
    "group.consumer.",
    "group.coordinator.",
    "group.share.",
    "group.streams.",
    "share.coordinator.",
    # Several nodes
    "alter.log.dirs.replication.",
    "controller.quorum.",
    "controller.socket.",
    "socket.connection.setup.",
    # TLS and SASL
    "connection.failed.authentication.",
    "connections.max.reauth.",
    "sasl.",
    "ssl.",
    # Metrics
    "metrics.",
    # What is not final
    "unstable.",
)
"""How their keys begin."""

_READ_ALREADY = frozenset(
    {
        "controller.quorum.auto.join.enable",
        "controller.quorum.bootstrap.servers",
        "controller.quorum.fetch.max.bytes",
        "controller.quorum.fetch.snapshot.max.bytes",
        "controller.quorum.request.timeout.ms",
        "controller.quorum.retry.backoff.ms",
        "controller.quorum.voters",
        "group.streams.max.standby.replicas",
        "sasl.enabled.mechanisms",
        "sasl.mechanism.inter.broker.protocol",
        "share.coordinator.state.topic.min.isr",
        "share.coordinator.state.topic.num.partitions",
        "share.coordinator.state.topic.replication.factor",
        "share.coordinator.state.topic.segment.bytes",
        "transaction.state.log.min.isr",
        "transaction.state.log.num.partitions",
        "transaction.state.log.replication.factor",
        "transaction.state.log.segment.bytes",
    }
)
_OTHERS = frozenset(
    {
        "internal.metadata.delete.delay.millis",
        "log.cleaner.io.buffer.size",
        "log.dir.failure.timeout.ms",
        "offsets.load.buffer.size",
        "server.max.startup.time.ms",
    }
)


def is_to_come(name: str) -> bool:
    return name in _OTHERS or (name.startswith(_FEATURES) and name not in _READ_ALREADY)
