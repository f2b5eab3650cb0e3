"""AlterPartitionReassignments (0-1) and ListPartitionReassignments (0): partitions move to other brokers.

A partition that moves has the new replicas and the old ones until all new ones are in sync; whatever change then comes
first, mostly that of the ISR, ends the move. Null replicas call a move off.
"""

from __future__ import annotations

from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.assignment import check_assignment
from barnabas.coordination.controller.errors import NO_ERROR, api_error
from barnabas.coordination.controller.leadership import partition_changer
from barnabas.coordination.controller.partition_change import Election
from barnabas.coordination.controller.reassignment import Reassignment
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    AlterPartitionReassignmentsResponse,
    ReassignablePartition,
    ReassignablePartitionResponse,
    ReassignableTopicResponse,
)
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsResponse,
    OngoingPartitionReassignment,
    OngoingTopicReassignment,
)

__all__ = ["alter_partition_reassignments", "list_partition_reassignments"]


def alter_partition_reassignments(
    controller: Controller, request: AlterPartitionReassignmentsRequest
) -> Outcome[MetadataRecord, AlterPartitionReassignmentsResponse]:
    if not request.topics:
        return Outcome(reply=AlterPartitionReassignmentsResponse())
    may_resize = request.allow_replication_factor_change
    decided: dict[tuple[str, int], MetadataRecord] = {}
    responses = []
    for topic in request.topics:
        response = ReassignableTopicResponse(name=topic.name)
        for target in topic.partitions:
            error = NO_ERROR
            try:
                record = _reassign(controller, topic.name, target, may_resize)
                # Both are decided on the same state: the second could not follow the first.
                if record is not None and decided.setdefault((topic.name, target.partition_index), record) != record:
                    raise KafkaError(ErrorCode.INVALID_REQUEST, "The partition cannot go to two places at once.")
            except KafkaError as refused:
                error = api_error(refused)
            response.partitions.append(
                ReassignablePartitionResponse(
                    partition_index=target.partition_index, error_code=error.code, error_message=error.message
                )
            )
        responses.append(response)
    reply = AlterPartitionReassignmentsResponse(
        allow_replication_factor_change=may_resize, error_message=None, responses=responses
    )
    return Outcome(list(decided.values()), reply)


def _reassign(
    controller: Controller, topic_name: str, target: ReassignablePartition, may_resize: bool
) -> MetadataRecord | None:
    topic = controller.image.topics.by_name.get(topic_name)
    partition = None if topic is None else topic.partitions.get(target.partition_index)
    if topic is None or partition is None:
        raise KafkaError(
            ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
            f"There is no partition {target.partition_index} of a topic {topic_name}.",
        )
    if target.replicas is None:
        return _cancel(controller, topic, target.partition_index, partition)
    check_assignment(controller, target.replicas, None)
    if not may_resize:
        _check_size(partition, target.replicas)
    reassignment = Reassignment.begin(partition.replicas, target.replicas)
    changer = partition_changer(controller, topic, target.partition_index, partition)
    changer.replicas = reassignment.replicas
    if reassignment.removing:
        changer.removing = reassignment.removing
    if reassignment.adding:
        changer.adding = reassignment.adding
    return changer.build()


def _cancel(controller: Controller, topic: Topic, number: int, partition: Partition) -> MetadataRecord | None:
    if not partition.reassigning:
        raise KafkaError(ErrorCode.NO_REASSIGNMENT_IN_PROGRESS)
    unclean_enabled = controller.unclean_election_enabled(topic.name)
    reverted = Reassignment.of(partition).reverted(partition.isr)
    if reverted.unclean and not unclean_enabled:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            "None of the old replicas is in sync any more, and the topic does not allow an unclean leader.",
        )
    changer = partition_changer(controller, topic, number, partition)
    if unclean_enabled:
        changer.election = Election.UNCLEAN
    changer.isr = reverted.isr
    changer.replicas = reverted.replicas
    changer.removing, changer.adding = [], []
    return changer.build()


def _check_size(partition: Partition, target: list[int]) -> None:
    present = {*partition.replicas, *partition.adding_replicas} - {*partition.removing_replicas}
    size = len(present) if partition.reassigning else len(partition.replicas)
    if size != len(target):
        raise KafkaError(
            ErrorCode.INVALID_REPLICATION_FACTOR, f"The partition would have {len(target)} replicas instead of {size}."
        )


def list_partition_reassignments(
    controller: Controller, request: ListPartitionReassignmentsRequest
) -> ListPartitionReassignmentsResponse:
    topics = controller.image.topics
    if request.topics is None:
        wanted = [(topic, sorted(topic.partitions)) for topic in topics]
    else:
        wanted = [
            (topics.by_name[topic.name], topic.partition_indexes)
            for topic in request.topics
            if topic.name in topics.by_name
        ]
    ongoing = []
    for topic, numbers in wanted:
        partitions = [
            OngoingPartitionReassignment(
                partition_index=number,
                replicas=list(partition.replicas),
                adding_replicas=list(partition.adding_replicas),
                removing_replicas=list(partition.removing_replicas),
            )
            for number in numbers
            if (partition := topic.partitions.get(number)) is not None and partition.reassigning
        ]
        if partitions:
            ongoing.append(OngoingTopicReassignment(name=topic.name, partitions=partitions))
    return ListPartitionReassignmentsResponse(error_message=None, topics=ongoing)
