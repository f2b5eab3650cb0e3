"""CreatePartitions (0-3): `count` is what a topic shall have in all; it can only grow.

Kafka's limit of records in a batch breaks off in the middle of a topic that asks for more, and what came before is
written; here such a topic is refused as a whole.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.coordination.cluster.partition import Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.assignment import MAX_RECORDS, assigned_partition, placed_partitions
from barnabas.coordination.controller.errors import NO_ERROR, ApiError, api_error
from barnabas.coordination.controller.permissions import anyone, free, repeated
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsRequest,
    CreatePartitionsResponse,
    CreatePartitionsTopic,
    CreatePartitionsTopicResult,
)

__all__ = ["create_partitions"]


def create_partitions(
    controller: Controller,
    request: CreatePartitionsRequest,
    *,
    seed: int,
    may_alter: Callable[[str], bool] = anyone,
    admit: Callable[[int], None] = free,
) -> Outcome[MetadataRecord, CreatePartitionsResponse]:
    """`admit` as in create_topics."""
    twice = repeated(topic.name for topic in request.topics)
    records: list[MetadataRecord] = []
    results = [
        _result(name, ApiError(ErrorCode.INVALID_REQUEST, "The request names this topic twice.")) for name in twice
    ]
    for topic in request.topics:
        if topic.name in twice:
            continue
        if not may_alter(topic.name):
            results.append(_result(topic.name, ApiError(ErrorCode.TOPIC_AUTHORIZATION_FAILED)))
            continue
        error = NO_ERROR
        try:
            records += _grow(controller, topic, seed, MAX_RECORDS - len(records), admit)
        except KafkaError as refused:
            error = api_error(refused)
        seed += 1
        results.append(_result(topic.name, error))
    return Outcome([] if request.validate_only else records, CreatePartitionsResponse(results=results))


def _result(name: str, error: ApiError) -> CreatePartitionsTopicResult:
    return CreatePartitionsTopicResult(name=name, error_code=error.code, error_message=error.message)


def _grow(
    controller: Controller, request: CreatePartitionsTopic, seed: int, room: int, admit: Callable[[int], None]
) -> list[MetadataRecord]:
    topic = controller.image.topics.by_name.get(request.name)
    if topic is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    present = len(topic.partitions)
    added = request.count - present
    if added <= 0:
        raise KafkaError(
            ErrorCode.INVALID_PARTITIONS,
            f"Topic {topic.name} has {present} partitions; {request.count} would not be more.",
        )
    if request.assignments is not None and len(request.assignments) != added:
        raise KafkaError(
            ErrorCode.INVALID_REPLICA_ASSIGNMENT,
            f"{added} partitions are to be added, and {len(request.assignments)} are assigned.",
        )
    if added > room:
        raise KafkaError(
            ErrorCode.POLICY_VIOLATION, f"One request creates at most {MAX_RECORDS} partitions: use several."
        )
    admit(added)
    partitions = _new_partitions(controller, request, topic.partitions[0], present, added, seed)
    image = controller.image
    return [
        partition.to_record(
            topic.id,
            number,
            image.required_metadata_version,
            eligible_leader_replicas=image.eligible_leader_replicas_enabled,
        )
        for number, partition in enumerate(partitions, present)
    ]


def _new_partitions(
    controller: Controller, request: CreatePartitionsTopic, like: Partition, present: int, added: int, seed: int
) -> list[Partition]:
    replication_factor = len(like.replicas)
    if request.assignments is None:
        return placed_partitions(controller, added, replication_factor, seed)
    return [
        assigned_partition(controller, assignment.broker_ids, number, replication_factor)
        for number, assignment in enumerate(request.assignments, present)
    ]
