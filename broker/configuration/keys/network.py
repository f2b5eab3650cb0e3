"""Sockets: what is listened on, how many connections and bytes are let in."""

from __future__ import annotations

from dataclasses import dataclass

from barnabas.broker.configuration.key import CLUSTER_WIDE, HIGH, INT_MAX, LOW, MEDIUM, PER_BROKER, READ_ONLY, Key, key
from barnabas.broker.configuration.rules import DISTINCT, SOME
from barnabas.storage.topic_config_types import ANY, INT, LIST, LONG, STRING, at_least, one_of

__all__ = ["OTHERS", "WITHOUT_EFFECT", "NetworkKeys"]

# fmt: off

@dataclass(frozen=True, kw_only=True, init=False, repr=False, eq=False)
class NetworkKeys:
    """Each is one attribute of the node's configuration."""

    socket_request_max_bytes: int = key(INT, 104_857_600, at_least(1), HIGH, READ_ONLY,
        "The most bytes of one request.")
    socket_listen_backlog_size: int = key(INT, 50, at_least(1), MEDIUM, READ_ONLY,
        "How many connections the system keeps that are not accepted yet.")
    socket_receive_buffer_bytes: int = key(INT, 102_400, ANY, HIGH, READ_ONLY,
        "The receive buffer of a connection; -1 leaves it to the system.")
    socket_send_buffer_bytes: int = key(INT, 102_400, ANY, HIGH, READ_ONLY,
        "The send buffer of a connection; -1 leaves it to the system.")
    max_connections: int = key(INT, INT_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most connections of this node, and with listener.name.NAME. in front of one listener.")
    max_connections_per_ip: int = key(INT, INT_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most connections from one address.")
    max_connection_creation_rate: int = key(INT, INT_MAX, at_least(0), MEDIUM, CLUSTER_WIDE,
        "The most new connections each second, and with listener.name.NAME. in front of one listener.")
    connections_max_idle_ms: int = key(LONG, 600_000, ANY, MEDIUM, READ_ONLY,
        "How long a connection may do nothing before it is closed; a negative value is forever.")
    connection_failed_authentication_delay_ms: int = key(INT, 100, at_least(0), LOW, READ_ONLY,
        "How long the answer to a failed authentication is held back.")
    queued_max_request_bytes: int = key(LONG, -1, ANY, MEDIUM, READ_ONLY,
        "The most bytes of requests that are read and not answered yet; -1 is no limit.")
    fetch_max_bytes: int = key(INT, 57_671_680, at_least(1024), MEDIUM, READ_ONLY,
        "The most bytes of one answer to Fetch.")
    max_incremental_fetch_session_cache_slots: int = key(INT, 1000, at_least(0), MEDIUM, READ_ONLY,
        "The most fetch sessions that are remembered.")
    max_request_partition_size_limit: int = key(INT, 2000, at_least(1), MEDIUM, READ_ONLY,
        "The most partitions in one answer to DescribeTopicPartitions.")


OTHERS = (
    Key("listeners", LIST, ("PLAINTEXT://:9092",), SOME, HIGH, PER_BROKER,
        "Where this node listens, as NAME://HOST:PORT with commas between; without a host everywhere."),
    Key("advertised.listeners", LIST, None, SOME, HIGH, READ_ONLY,
        "Where clients are told to connect; without it where this node listens."),
    Key("listener.security.protocol.map", STRING,
        "SASL_SSL:SASL_SSL,PLAINTEXT:PLAINTEXT,SSL:SSL,SASL_PLAINTEXT:SASL_PLAINTEXT", ANY, LOW, PER_BROKER,
        "Which protocol each listener speaks, as NAME:PROTOCOL with commas between."),
    Key("inter.broker.listener.name", STRING, None, ANY, MEDIUM, READ_ONLY,
        "The listener that brokers use among themselves."),
    Key("security.inter.broker.protocol", STRING, "PLAINTEXT", one_of("PLAINTEXT", "SSL", "SASL_PLAINTEXT",
        "SASL_SSL"), MEDIUM, READ_ONLY,
        "The protocol that brokers use among themselves, where no listener is named."),
    Key("early.start.listeners", LIST, None, DISTINCT, HIGH, READ_ONLY,
        "Listeners that open before the node knows all it must; without it those of controllers."),
    Key("max.connections.per.ip.overrides", STRING, "", ANY, MEDIUM, CLUSTER_WIDE,
        "The most connections from some addresses, as HOST:NUMBER with commas between."),
)
"""They are looked at together, and made into something else."""

WITHOUT_EFFECT = (
    # A request is served when it is read: none is ever queued.
    Key("queued.max.requests", INT, 500, at_least(1), HIGH, READ_ONLY),
    Key("num.network.threads", INT, 3, at_least(1), HIGH, CLUSTER_WIDE),
)
