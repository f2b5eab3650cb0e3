"""DescribeLogDirs, versions 1 to 5: what each log directory holds, and how far copies are behind that move to another
one. Partitions that are not here are left out; the log of the quorum is nobody's business."""

from __future__ import annotations

import os
from collections.abc import Collection
from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.log_directory_paths import configured_directories
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.describe_log_dirs import (
    DescribeLogDirsPartition,
    DescribeLogDirsRequest,
    DescribeLogDirsResponse,
    DescribeLogDirsResult,
    DescribeLogDirsTopic,
)
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory, TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node

UNKNOWN_BYTES = -1


def handle(node: Node, _call: Call, request: DescribeLogDirsRequest) -> DescribeLogDirsResponse:
    wanted = None
    if request.topics is not None:
        wanted = {TopicPartition(topic.topic, number) for topic in request.topics for number in topic.partitions}
    return DescribeLogDirsResponse(
        results=[_describe(node, name, path, wanted) for name, path in configured_directories(node.config).items()]
    )


def _describe(node: Node, name: str, path: Path, wanted: Collection[TopicPartition] | None) -> DescribeLogDirsResult:
    directory = node.directories.by_path(path)
    if directory is None:
        return DescribeLogDirsResult(error_code=ErrorCode.KAFKA_STORAGE_ERROR, log_dir=name)
    total_bytes, usable_bytes = _room(path)
    return DescribeLogDirsResult(
        log_dir=name,
        topics=_topics(node, directory, wanted),
        total_bytes=total_bytes,
        usable_bytes=usable_bytes,
        is_cordoned=path in node.directories.cordoned,
    )


def _topics(
    node: Node, directory: LogDirectory, wanted: Collection[TopicPartition] | None
) -> list[DescribeLogDirsTopic]:
    topics: dict[str, DescribeLogDirsTopic] = {}
    for is_future, logs in ((False, directory.logs), (True, directory.futures)):
        for partition, log in logs.items():
            if wanted is None or partition in wanted:
                topic = topics.setdefault(partition.topic, DescribeLogDirsTopic(name=partition.topic))
                topic.partitions.append(
                    DescribeLogDirsPartition(
                        partition_index=partition.partition,
                        partition_size=log.size,
                        offset_lag=_lag(node, partition, log, is_future),
                        is_future_key=is_future,
                    )
                )
    return list(topics.values())


def _lag(node: Node, name: TopicPartition, log: Log, is_future: bool) -> int:
    """A copy is behind the log, a log behind the high watermark, if at all."""
    partition = node.partitions.find(*name)
    if partition is None:
        return -1
    if is_future:
        return partition.log.end_offset - log.end_offset
    return max(partition.high_watermark.offset - log.end_offset, 0)


def _room(path: Path) -> tuple[int, int]:
    try:
        found = os.statvfs(path)
    except OSError:
        # Such as with durability=memory, where there is no such directory.
        return UNKNOWN_BYTES, UNKNOWN_BYTES
    return found.f_blocks * found.f_frsize, found.f_bavail * found.f_frsize


def refused(_call: Call, _request: DescribeLogDirsRequest, error: KafkaError) -> DescribeLogDirsResponse:
    return DescribeLogDirsResponse(error_code=error.code)
