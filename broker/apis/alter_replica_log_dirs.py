"""AlterReplicaLogDirs, versions 1 and 2: a partition's log moves to another directory of this broker.

It is answered when the copying has begun; DescribeLogDirs tells how far it has come. A partition that is not here is an
error, and all the same goes to that directory when it comes. Named twice, it goes where it was last said to go.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from barnabas.broker.call import Call
from barnabas.broker.log_directory_paths import configured_directories
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDirPartitionResult,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirsResponse,
    AlterReplicaLogDirTopicResult,
)
from barnabas.storage.log_directory import TopicPartition

if TYPE_CHECKING:
    from barnabas.broker.node import Node


def handle(node: Node, call: Call, request: AlterReplicaLogDirsRequest) -> AlterReplicaLogDirsResponse:
    wanted = {
        TopicPartition(topic.name, number): directory.path
        for directory in request.dirs
        for topic in directory.topics
        for number in topic.partitions
    }
    results: dict[str, AlterReplicaLogDirTopicResult] = {}
    for partition, path in wanted.items():
        topic = results.setdefault(partition.topic, AlterReplicaLogDirTopicResult(topic_name=partition.topic))
        topic.partitions.append(
            AlterReplicaLogDirPartitionResult(
                partition_index=partition.partition, error_code=_move(node, call, partition, path)
            )
        )
    return AlterReplicaLogDirsResponse(results=list(results.values()))


def _move(node: Node, call: Call, partition: TopicPartition, name: str) -> ErrorCode:
    try:
        node.replica_moves.begin(partition, configured_directories(node.config).get(name, Path(name)))
    except KafkaError as error:
        node.note_refusal(call, partition.topic, partition.partition, error)
        if error.code == ErrorCode.REPLICA_NOT_AVAILABLE and not node.has_partition(*partition):
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        return error.code
    return ErrorCode.NONE


def refused(_call: Call, request: AlterReplicaLogDirsRequest, error: KafkaError) -> AlterReplicaLogDirsResponse:
    return AlterReplicaLogDirsResponse(
        results=[
            AlterReplicaLogDirTopicResult(
                topic_name=topic.name,
                partitions=[
                    AlterReplicaLogDirPartitionResult(partition_index=number, error_code=error.code)
                    for number in topic.partitions
                ],
            )
            for directory in request.dirs
            for topic in directory.topics
        ]
    )
