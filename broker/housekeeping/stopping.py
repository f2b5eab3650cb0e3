"""A clean stop: what is led is handed over, within a time limit; then every directory closes its logs, several at once,
and its marker is the last that it writes."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING

import trio

from barnabas.storage.log import Log
from barnabas.storage.log_directories import own_high_watermarks
from barnabas.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["close_directories", "shut_down_controlled"]

_ASK_AGAIN_S = 0.1


async def shut_down_controlled(node: Node) -> None:
    """Until the controller says that nobody needs this broker any more, or the time is over."""
    if not node.config.controlled_shutdown_enable:
        return
    limit_ms = node.config.barnabas_controlled_shutdown_timeout_ms
    with trio.move_on_after(limit_ms / 1000) as patience:
        while not await node.heartbeats.beat(want_shut_down=True):
            await trio.sleep(_ASK_AGAIN_S)
    if patience.cancelled_caught:
        node.report(f"the controller has not let this broker go within {limit_ms} ms; it stops all the same")


async def close_directories(node: Node) -> None:
    """Each on its own: one that fails gets no marker, and the others do."""
    high_watermarks = node.partitions.high_watermarks()
    try:
        async with trio.open_nursery() as nursery:
            for directory in list(node.directories.online):
                nursery.start_soon(_close, node, directory, own_high_watermarks(directory, high_watermarks))
    finally:
        node.directories.abandon()


async def _close(node: Node, directory: LogDirectory, high_watermarks: dict[TopicPartition, int]) -> None:
    waiting = deque([*directory.logs.values(), *directory.futures.values()])
    failures: list[OSError] = []

    async def close_some() -> None:
        await trio.to_thread.run_sync(_close_logs, waiting, failures)

    async with trio.open_nursery() as nursery:
        for _ in range(node.config.num_recovery_threads_per_data_dir):
            nursery.start_soon(close_some)
    with node.directories.surviving(directory):
        if failures:
            raise failures[0]
        await trio.to_thread.run_sync(directory.finish, high_watermarks, node.broker_epoch)


def _close_logs(waiting: deque[Log], failures: list[OSError]) -> None:
    """One thread's part."""
    while not failures:
        try:
            log = waiting.popleft()
        except IndexError:
            return
        try:
            log.close()
        except OSError as error:
            failures.append(error)
