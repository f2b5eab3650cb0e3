"""What the fetchers of this node are made of: who leads what it follows, and where that is, as the metadata says."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from socket import SO_RCVBUF, SOL_SOCKET
from typing import TYPE_CHECKING

import trio

from barnabas.client.channel import Channel
from barnabas.replication.fetchers import Fetchers
from barnabas.replication.neighbours import FetchSettings, Neighbours

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["open_fetchers"]

SYSTEMS_OWN = -1


def open_fetchers(node: Node) -> Fetchers:
    """They hear of the partitions from now on."""
    config = node.static_config
    fetchers = Fetchers(
        Neighbours(
            node_id=node.node_id,
            broker_epoch=lambda: node.broker_epoch,
            settings=FetchSettings(
                min_bytes=config.replica_fetch_min_bytes,
                max_wait_ms=config.replica_fetch_wait_max_ms,
                max_bytes=config.replica_fetch_response_max_bytes,
                partition_max_bytes=config.replica_fetch_max_bytes,
                backoff_ms=config.replica_fetch_backoff_ms,
                timeout_ms=config.replica_socket_timeout_ms,
            ),
            fetchers_per_source=lambda: node.config.num_replica_fetchers,
            channel=lambda source, number: _channel(node, source, number),
            quota=node.replica_throttles.follower,
            cutting=node.housekeeping.cutting.around,
            now_ms=node.clock.now_ms,
            steady_ms=node.clock.steady.now_ms,
            report=node.report,
            warn=node.warn,
            report_exception=node.report_exception,
        )
    )
    node.partitions.on_follow.append(fetchers.follow)
    node.partitions.on_lead.append(fetchers.leave)
    node.partitions.on_close.append(fetchers.leave)
    return fetchers


def _channel(node: Node, source: int, number: int) -> Channel:
    config = node.static_config
    return Channel(
        f"broker {source}",
        _dial(node, source),
        client_id=f"broker-{node.node_id}-fetcher-{number}",
        # One batch more than may be asked for, if it is the first; it came to its leader in a request.
        max_answer_bytes=config.replica_fetch_response_max_bytes + config.socket_request_max_bytes,
    )


def _dial(node: Node, source: int) -> Callable[[], Awaitable[trio.abc.Stream]]:
    """Where the broker is when it is dialled: it may have come back somewhere else."""

    buffer_bytes = node.static_config.replica_socket_receive_buffer_bytes

    async def dial() -> trio.abc.Stream:
        name = node.config.inter_broker_listener_name
        broker = node.image.brokers.get(source)
        for endpoint in broker.endpoints if broker is not None else ():
            if endpoint.name == name:
                stream = await node.network.dial(endpoint.host, endpoint.port)
                if isinstance(stream, trio.SocketStream) and buffer_bytes != SYSTEMS_OWN:
                    stream.setsockopt(SOL_SOCKET, SO_RCVBUF, buffer_bytes)
                return stream
        raise OSError(f"it has not registered with a listener {name}")

    return dial
