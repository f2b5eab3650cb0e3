"""Producers that have been idle for producer.id.expiration.ms are forgotten, which is looked at every
producer.id.expiration.check.interval.ms."""

from __future__ import annotations

from typing import TYPE_CHECKING

import trio

if TYPE_CHECKING:
    from barnabas.broker.node import Node

__all__ = ["expire_producers"]


async def expire_producers(node: Node) -> None:
    while True:
        await node.clock.sleep(node.config.producer_id_expiration_check_interval_ms)
        for partition in list(node.partitions):
            producers = partition.log.producers
            producers.expiration_ms = node.config.producer_id_expiration_ms
            producers.expire(node.clock.now_ms())
            await trio.lowlevel.checkpoint()
