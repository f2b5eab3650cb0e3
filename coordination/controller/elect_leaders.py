"""ElectLeaders (0-2): a partition gets its preferred leader back, or any at all although nobody has everything.

Asked for all partitions (null), those that need no election are not in the answer; asked for some, they are.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.coordination.cluster.partition import NO_LEADER
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.controller.errors import NO_ERROR, ApiError
from barnabas.coordination.controller.leadership import partition_changer
from barnabas.coordination.controller.partition_change import Election
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages.elect_leaders import (
    ElectLeadersRequest,
    ElectLeadersResponse,
    PartitionResult,
    ReplicaElectionResult,
)

__all__ = ["elect_leader", "elect_leaders"]

_ELECTIONS = {0: Election.PREFERRED, 1: Election.UNCLEAN}


def elect_leaders(
    controller: Controller, request: ElectLeadersRequest, version: int
) -> Outcome[MetadataRecord, ElectLeadersResponse]:
    if request.topic_partitions == []:
        return Outcome(reply=ElectLeadersResponse())
    election = _ELECTIONS.get(request.election_type)
    if election is None:
        return Outcome(reply=_refused(request, version))
    records: list[MetadataRecord] = []
    results = []
    for topic, partitions in _wanted(controller, request):
        result = ReplicaElectionResult(topic=topic)
        for partition in partitions:
            error, record = elect_leader(controller, topic, partition, election)
            if record is not None:
                records.append(record)
            if request.topic_partitions is not None or error.code != ErrorCode.ELECTION_NOT_NEEDED:
                result.partition_result.append(_partition_result(partition, error))
        results.append(result)
    return Outcome(records, ElectLeadersResponse(replica_election_results=results))


def elect_leader(
    controller: Controller, topic_name: str, number: int, election: Election
) -> tuple[ApiError, MetadataRecord | None]:
    topic = controller.image.topics.by_name.get(topic_name)
    partition = None if topic is None else topic.partitions.get(number)
    if topic is None or partition is None:
        unknown = f"There is no partition {number} of a topic {topic_name}."
        return ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, unknown), None
    satisfied = (
        partition.leader == partition.preferred_leader
        if election is Election.PREFERRED
        else partition.leader != NO_LEADER
    )
    if satisfied:
        return ApiError(ErrorCode.ELECTION_NOT_NEEDED, "The partition has the leader that it should have."), None
    changer = partition_changer(controller, topic, number, partition)
    changer.election = election
    record = changer.build()
    if record is not None:
        return NO_ERROR, record
    if election is Election.PREFERRED:
        return ApiError(ErrorCode.PREFERRED_LEADER_NOT_AVAILABLE, "The preferred leader cannot lead now."), None
    return ApiError(ErrorCode.ELIGIBLE_LEADERS_NOT_AVAILABLE, "No replica is alive."), None


def _wanted(controller: Controller, request: ElectLeadersRequest) -> Iterable[tuple[str, Iterable[int]]]:
    if request.topic_partitions is None:
        return [(topic.name, sorted(topic.partitions)) for topic in controller.image.topics]
    return [(topic.topic, topic.partitions) for topic in request.topic_partitions]


def _refused(request: ElectLeadersRequest, version: int) -> ElectLeadersResponse:
    error = ApiError(ErrorCode.INVALID_REQUEST, f"There is no election of type {request.election_type}.")
    results = [
        ReplicaElectionResult(
            topic=topic.topic,
            partition_result=[_partition_result(partition, error) for partition in topic.partitions],
        )
        for topic in request.topic_partitions or ()
    ]
    # Version 0 has no error of the whole.
    return ElectLeadersResponse(error_code=error.code if version >= 1 else 0, replica_election_results=results)


def _partition_result(partition: int, error: ApiError) -> PartitionResult:
    return PartitionResult(partition_id=partition, error_code=error.code, error_message=error.message)
