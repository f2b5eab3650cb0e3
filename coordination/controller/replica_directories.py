"""AssignReplicasToDirs (0): a broker tells in which of its log directories it has its replicas.

If that is a directory that no longer works, the broker cannot lead those partitions any more.
"""

from __future__ import annotations

from barnabas.coordination.cluster.broker import BrokerRegistration
from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.leadership import leader_and_isr_updates, partition_changer
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.assign_replicas_to_dirs import (
    AssignReplicasToDirsRequest,
    AssignReplicasToDirsResponse,
    DirectoryData,
    ResponseDirectoryData,
    ResponsePartitionData,
    ResponseTopicData,
    TopicData,
)

__all__ = ["assign_replicas_to_directories"]


def assign_replicas_to_directories(
    controller: Controller, request: AssignReplicasToDirsRequest
) -> Outcome[MetadataRecord, AssignReplicasToDirsResponse]:
    if not controller.image.required_metadata_version.directories:
        return Outcome(reply=AssignReplicasToDirsResponse(error_code=ErrorCode.UNSUPPORTED_VERSION))
    try:
        broker = controller.registered_broker(request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Outcome(reply=AssignReplicasToDirsResponse(error_code=error.code))
    assignment = _Assignment(controller, broker)
    directories = [assignment.directory(directory) for directory in request.directories]
    moved = leader_and_isr_updates(controller, assignment.offline, remove=broker.id)
    return Outcome(assignment.records + moved, AssignReplicasToDirsResponse(directories=directories))


class _Assignment:
    def __init__(self, controller: Controller, broker: BrokerRegistration) -> None:
        self.controller = controller
        self.broker = broker
        self.records: list[MetadataRecord] = []
        self.offline: list[tuple[Topic, int, Partition]] = []

    def directory(self, directory: DirectoryData) -> ResponseDirectoryData:
        topics = [self._topic(directory, topic) for topic in directory.topics]
        return ResponseDirectoryData(id=directory.id, topics=topics)

    def _topic(self, directory: DirectoryData, data: TopicData) -> ResponseTopicData:
        topic = self.controller.image.topics.by_id.get(data.topic_id)
        partitions = []
        for partition in data.partitions:
            if topic is None:
                code = ErrorCode.UNKNOWN_TOPIC_ID
            else:
                code = self._assign(directory, topic, partition.partition_index)
            partitions.append(ResponsePartitionData(partition_index=partition.partition_index, error_code=code))
        return ResponseTopicData(topic_id=data.topic_id, partitions=partitions)

    def _assign(self, directory: DirectoryData, topic: Topic, number: int) -> ErrorCode:
        partition = topic.partitions.get(number)
        if partition is None:
            return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
        if self.broker.id not in partition.replicas:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        changer = partition_changer(self.controller, topic, number, partition)
        changer.directories[self.broker.id] = directory.id
        record = changer.build()
        if record is not None:
            self.records.append(record)
        if not self.broker.is_online(directory.id):
            self.offline.append((topic, number, partition))
        return ErrorCode.NONE
