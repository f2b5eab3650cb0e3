"""What the fetchers of a node are given to reach the brokers that lead what it follows."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from typing import NamedTuple

from barnabas.client.channel import Channel
from barnabas.coordination.quotas.replication import ReplicationQuota
from barnabas.replication.partition import Partition

__all__ = ["FetchSettings", "Neighbours"]


class FetchSettings(NamedTuple):
    """replica.fetch.* and replica.socket.timeout.ms"""

    min_bytes: int
    max_wait_ms: int
    max_bytes: int
    partition_max_bytes: int
    backoff_ms: int
    timeout_ms: int


class Neighbours(NamedTuple):
    """What all fetchers of a node share."""

    node_id: int
    broker_epoch: Callable[[], int]
    settings: FetchSettings
    fetchers_per_source: Callable[[], int]
    """num.replica.fetchers, which may change."""
    channel: Callable[[int, int], Channel]
    """To a broker, for the fetcher of a number."""
    quota: ReplicationQuota
    cutting: Callable[[Sequence[Partition]], AbstractAsyncContextManager[None]]
    """Around what cuts their logs: nobody else has hands on them, and after it the cut is safe. KafkaError if not."""
    now_ms: Callable[[], int]
    steady_ms: Callable[[], int]
    report: Callable[[str], None]
    warn: Callable[[str], None]
    report_exception: Callable[[str, BaseException], None]
