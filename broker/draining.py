"""The end of a node's connections: what is under way is answered, and nothing new is begun."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import suppress

import trio

from barnabas.broker.listener import Listener
from barnabas.protocol.errors import KafkaError
from barnabas.replication.partition import Partition

__all__ = ["drain", "settle"]

LONGEST_S = 3.0
"""Beyond it a client waits for something that does not come, or does not read its answer."""

_LOOK_AGAIN_S = 0.005


async def settle(partitions: Iterable[Partition]) -> None:
    """Until the records that wait for the disk are there: who sent them is told so, and not that they may be lost."""
    with trio.move_on_after(LONGEST_S):
        for partition in partitions:
            if partition.leads:
                with suppress(KafkaError):
                    await partition.safe.reaches(partition.log_end.offset)


async def drain(listeners: Sequence[Listener]) -> None:
    with trio.move_on_after(LONGEST_S):
        while True:
            connections = [connection for listener in listeners for connection in listener.connections]
            for connection in connections:
                if connection.is_idle:
                    connection.close("the broker stops")
                elif connection.on_gone is not None:
                    connection.on_gone()  # nothing new comes, so that there is nothing to wait for
            if not any(connection.is_open for connection in connections):
                return
            await trio.sleep(_LOOK_AGAIN_S)
