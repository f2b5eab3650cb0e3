"""OffsetCommit 2-10 and TxnOffsetCommit 0-5: where a group's consumers are.

The broker looks first whether it has the topics (`broker_checks`): what comes here names topics and their ids.

What is not obvious:
- A commit without a generation comes from a consumer without membership, or from an administrator, and is taken while
  the group is empty. It creates the group.
- A commit of the members' generation counts as a heartbeat; between JoinGroup and SyncGroup it is refused, while
  everybody joins it is taken, from the generation before.
- A group that does not exist is GROUP_ID_NOT_FOUND from version 9 on, ILLEGAL_GENERATION before.
- A transaction's commit is not held to the group's state, and old clients say nothing of their membership.
- Metadata has a limit, in UTF-16 units, and only its partition is refused.
"""

from __future__ import annotations

from barnabas.coordination.groups.classic_group import ClassicGroup, GroupState
from barnabas.coordination.groups.decision import Decision
from barnabas.coordination.groups.offsets import NO_EXPIRY
from barnabas.coordination.groups.other_groups import GroupType, OtherGroup
from barnabas.coordination.groups.rebalance import UNKNOWN_MEMBER_ID, expect_heartbeat
from barnabas.coordination.groups.records import GroupRecord, offset_record
from barnabas.coordination.groups.refusals import refusal_of_offset_commit, refusal_of_txn_offset_commit
from barnabas.coordination.groups.shard import GroupShard
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitResponse,
    OffsetCommitResponsePartition,
    OffsetCommitResponseTopic,
)
from barnabas.protocol.messages.txn_offset_commit import (
    TxnOffsetCommitRequest,
    TxnOffsetCommitRequestPartition,
    TxnOffsetCommitResponse,
    TxnOffsetCommitResponsePartition,
    TxnOffsetCommitResponseTopic,
)
from barnabas.protocol.records.classic_group import OffsetCommitValue
from barnabas.protocol.schema import Uuid

__all__ = ["decide_offset_commit", "decide_txn_offset_commit"]

_DEFAULT_RETENTION = -1
_GROUP_ID_NOT_FOUND_FROM = 9
_MEMBER_EPOCHS_FROM = 9


def decide_offset_commit(
    shard: GroupShard, request: OffsetCommitRequest, version: int, now_ms: int
) -> Outcome[GroupRecord, OffsetCommitResponse]:
    decision = Decision(shard, now_ms)
    try:
        _check_commit(decision, request, version)
    except KafkaError as error:
        return decision.outcome(refusal_of_offset_commit(request, error.code))
    retention_ms = request.retention_time_ms
    expire_timestamp_ms = NO_EXPIRY if retention_ms == _DEFAULT_RETENTION else now_ms + retention_ms
    response = OffsetCommitResponse()
    for topic in request.topics:
        answer = OffsetCommitResponseTopic(name=topic.name, topic_id=topic.topic_id)
        response.topics.append(answer)
        for partition in topic.partitions:
            code = _commit(
                decision,
                request.group_id,
                topic.name,
                partition.partition_index,
                _committed(partition, now_ms, expire_timestamp_ms, topic.topic_id),
            )
            answer.partitions.append(
                OffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            )
    return decision.outcome(response)


def decide_txn_offset_commit(
    shard: GroupShard, request: TxnOffsetCommitRequest, now_ms: int
) -> Outcome[GroupRecord, TxnOffsetCommitResponse]:
    """Its records are to be appended in a transactional batch of `request.producer_id`, and applied with that id; the
    marker that ends the transaction goes to `GroupShard.end_transaction`. Whether the producer may write is known to
    the broker and the transaction coordinator."""
    decision = Decision(shard, now_ms)
    try:
        _check_txn_commit(decision, request)
    except KafkaError as error:
        return decision.outcome(refusal_of_txn_offset_commit(request, error.code))
    response = TxnOffsetCommitResponse()
    for topic in request.topics:
        answer = TxnOffsetCommitResponseTopic(name=topic.name)
        response.topics.append(answer)
        for partition in topic.partitions:
            code = _commit(
                decision,
                request.group_id,
                topic.name,
                partition.partition_index,
                _committed(partition, now_ms, NO_EXPIRY, Uuid.ZERO),
            )
            answer.partitions.append(
                TxnOffsetCommitResponsePartition(partition_index=partition.partition_index, error_code=code)
            )
    return decision.outcome(response)


def _committed(
    partition: OffsetCommitRequestPartition | TxnOffsetCommitRequestPartition,
    now_ms: int,
    expire_timestamp_ms: int,
    topic_id: Uuid,
) -> OffsetCommitValue:
    return OffsetCommitValue(
        offset=partition.committed_offset,
        leader_epoch=partition.committed_leader_epoch,
        metadata=partition.committed_metadata or "",
        commit_timestamp=now_ms,
        expire_timestamp=expire_timestamp_ms,
        topic_id=topic_id,
    )


def _commit(decision: Decision, group_id: str, topic: str, partition: int, value: OffsetCommitValue) -> ErrorCode:
    metadata = value.metadata
    units = len(metadata) if metadata.isascii() else len(metadata.encode("utf-16-le", "surrogatepass")) // 2
    if units > decision.config.offset_metadata_max_bytes:
        return ErrorCode.OFFSET_METADATA_TOO_LARGE
    decision.records.append(offset_record(group_id, topic, partition, value))
    return ErrorCode.NONE


# Whether the group takes it


def _check_commit(decision: Decision, request: OffsetCommitRequest, version: int) -> None:
    generation = request.generation_id_or_member_epoch
    group = decision.shard.groups.get(request.group_id)
    if group is None:
        if generation >= 0:
            raise KafkaError(
                ErrorCode.GROUP_ID_NOT_FOUND if version >= _GROUP_ID_NOT_FOUND_FROM else ErrorCode.ILLEGAL_GENERATION
            )
        decision.create(request.group_id)
        return
    if isinstance(group, OtherGroup):
        _check_other(group, request.member_id, generation, knows_epochs=version >= _MEMBER_EPOCHS_FROM)
        return
    if group.is_empty and generation < 0:
        return
    if generation < 0 and request.member_id == UNKNOWN_MEMBER_ID and request.group_instance_id is None:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    _check_generation(group, request.member_id, request.group_instance_id, generation)
    if group.state is GroupState.COMPLETING_REBALANCE:
        raise KafkaError(ErrorCode.REBALANCE_IN_PROGRESS)
    expect_heartbeat(decision, group, group.members[request.member_id])


def _check_txn_commit(decision: Decision, request: TxnOffsetCommitRequest) -> None:
    generation = request.generation_id
    says_nothing = request.member_id == UNKNOWN_MEMBER_ID and request.group_instance_id is None and generation < 0
    group = decision.shard.groups.get(request.group_id)
    if group is None:
        if generation >= 0:
            raise KafkaError(ErrorCode.ILLEGAL_GENERATION)
        decision.create(request.group_id)
    elif isinstance(group, OtherGroup):
        if not says_nothing or group.type is GroupType.SHARE:
            _check_other(group, request.member_id, generation, knows_epochs=True)
    elif not says_nothing and not (group.is_empty and generation < 0):
        _check_generation(group, request.member_id, request.group_instance_id, generation)


def _check_generation(group: ClassicGroup, member_id: str, instance_id: str | None, generation: int) -> None:
    group.check_member(member_id, instance_id)
    if generation != group.generation:
        raise KafkaError(ErrorCode.ILLEGAL_GENERATION)


def _check_other(group: OtherGroup, member_id: str, epoch: int, *, knows_epochs: bool) -> None:
    """Nobody can be a member of it here, where it cannot send its heartbeats; but its offsets can be set while it has
    no members, as for any group."""
    if group.type is GroupType.SHARE:
        raise KafkaError(ErrorCode.GROUP_ID_NOT_FOUND)
    if epoch < 0 and not group.member_ids:
        return
    if member_id not in group.member_ids:
        raise KafkaError(ErrorCode.UNKNOWN_MEMBER_ID)
    raise KafkaError(ErrorCode.STALE_MEMBER_EPOCH if knows_epochs else ErrorCode.UNSUPPORTED_VERSION)
