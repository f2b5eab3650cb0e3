"""A clean stop: what is led is handed over, within a time limit; then every directory closes its logs, several at once,
and its marker is the last that it writes."""

from __future__ import annotations

from collections import deque
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

import trio

from barnabas.broker.unless import StoppedEarly, unless
from barnabas.protocol.errors import KafkaError
from barnabas.storage.log import Log
from barnabas.storage.log_directories import own_high_watermarks
from barnabas.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["close_directories", "shut_down_controlled"]

_ASK_AGAIN_S = 0.1


async def shut_down_controlled(node: Node) -> None:
    """Until the controller says that nobody needs this broker any more, or the time is over, or the node fails: where
    it is the controller, nobody would answer. When it has answered the first time, others lead or nobody does; where no
    other broker has to read that, the second answer lets go."""
    if not node.config.controlled_shutdown_enable:
        return
    limit_ms = node.config.barnabas_controlled_shutdown_timeout_ms
    with trio.move_on_after(limit_ms / 1000) as patience:
        with suppress(StoppedEarly):
            await unless(node.failed, partial(_until_let_go, node))
    if patience.cancelled_caught:
        node.report(f"the controller has not let this broker go within {limit_ms} ms; it stops all the same")


async def _until_let_go(node: Node) -> None:
    pause_s = 0.0
    heard_s = trio.current_time()
    while True:
        try:
            if await node.heartbeats.beat(want_shut_down=True):
                return
            heard_s = trio.current_time()
        except KafkaError as error:
            if trio.current_time() > heard_s + node.config.broker_session_timeout_ms / 1000:
                # A controller that comes back by now takes this broker for dead, whatever it is told.
                node.report(f"no controller answers, and the broker stops without handing over what it leads: {error}")
                return
        await trio.sleep(pause_s)
        pause_s = _ASK_AGAIN_S


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
