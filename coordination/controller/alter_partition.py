"""AlterPartition (2-3): a leader says who is in sync with it.

It is believed if it is still the leader, knows the partition as it is, and names only brokers in service. If that ends
a reassignment in which the leader itself goes, the change is made and the leader is told NEW_LEADER_ELECTED.
"""

from __future__ import annotations

from barnabas.coordination.cluster.partition import NO_LEADER_CHANGE, LeaderRecoveryState, Partition
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.topics import Topic
from barnabas.coordination.controller.leadership import partition_changer
from barnabas.coordination.controller.partition_change import Election
from barnabas.coordination.controller.state import Controller
from barnabas.coordination.outcome import Outcome
from barnabas.protocol.errors import ErrorCode, KafkaError
from barnabas.protocol.messages.alter_partition import (
    AlterPartitionRequest,
    AlterPartitionResponse,
    BrokerState,
    PartitionData,
    ResponsePartitionData,
    ResponseTopicData,
)
from barnabas.protocol.records.cluster_metadata import PartitionChangeRecord

__all__ = ["alter_partition"]

_WITH_EPOCHS = 3
_ANY_EPOCH = -1


def alter_partition(
    controller: Controller, request: AlterPartitionRequest, version: int
) -> Outcome[MetadataRecord, AlterPartitionResponse]:
    if not request.topics:
        return Outcome(reply=AlterPartitionResponse())
    try:
        controller.registered_broker(request.broker_id, request.broker_epoch)
    except KafkaError as error:
        return Outcome(reply=AlterPartitionResponse(error_code=error.code))
    records: list[MetadataRecord] = []
    response = AlterPartitionResponse()
    for topic_data in request.topics:
        topic = controller.image.topics.by_id.get(topic_data.topic_id)
        results = []
        for data in topic_data.partitions:
            try:
                if topic is None:
                    raise KafkaError(ErrorCode.UNKNOWN_TOPIC_ID)
                result, record = _alter(controller, request.broker_id, topic, data, _isr(data, version))
                if record is not None:
                    records.append(record)
            except KafkaError as error:
                result = ResponsePartitionData(partition_index=data.partition_index, error_code=error.code)
            results.append(result)
        response.topics.append(ResponseTopicData(topic_id=topic_data.topic_id, partitions=results))
    return Outcome(records, response)


def _isr(data: PartitionData, version: int) -> list[BrokerState]:
    if version >= _WITH_EPOCHS:
        return data.new_isr_with_epochs
    return [BrokerState(broker_id=broker_id, broker_epoch=_ANY_EPOCH) for broker_id in data.new_isr]


def _alter(
    controller: Controller, broker_id: int, topic: Topic, data: PartitionData, isr: list[BrokerState]
) -> tuple[ResponsePartitionData, MetadataRecord | None]:
    number = data.partition_index
    partition = topic.partitions.get(number)
    if partition is None:
        raise KafkaError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION)
    _check(controller, broker_id, partition, data, isr)
    changer = partition_changer(controller, topic, number, partition)
    if controller.unclean_election_enabled(topic.name):
        changer.election = Election.UNCLEAN
    changer.isr = [broker.broker_id for broker in isr]
    changer.recovery = LeaderRecoveryState(data.leader_recovery_state)
    record = changer.build()
    if record is not None:
        change = record.message
        assert isinstance(change, PartitionChangeRecord)
        partition = partition.changed_by(change)
        if change.leader not in (broker_id, NO_LEADER_CHANGE):
            refused = ResponsePartitionData(partition_index=number, error_code=ErrorCode.NEW_LEADER_ELECTED)
            return refused, record
    accepted = ResponsePartitionData(
        partition_index=number,
        leader_id=partition.leader,
        leader_epoch=partition.leader_epoch,
        isr=list(partition.isr),
        leader_recovery_state=partition.leader_recovery_state,
        partition_epoch=partition.partition_epoch,
    )
    return accepted, record


def _check(
    controller: Controller, broker_id: int, partition: Partition, data: PartitionData, isr: list[BrokerState]
) -> None:
    if data.leader_epoch > partition.leader_epoch or data.partition_epoch > partition.partition_epoch:
        # The leader knows more than this controller, which therefore is no longer the active one.
        raise KafkaError(ErrorCode.NOT_CONTROLLER)
    if data.leader_epoch < partition.leader_epoch:
        raise KafkaError(ErrorCode.FENCED_LEADER_EPOCH)
    if broker_id != partition.leader:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if data.partition_epoch < partition.partition_epoch:
        raise KafkaError(ErrorCode.INVALID_UPDATE_VERSION)
    ids = [broker.broker_id for broker in isr]
    if len(set(ids)) != len(ids) or not set(ids) <= set(partition.replicas) or partition.leader not in ids:
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    try:
        recovery = LeaderRecoveryState(data.leader_recovery_state)
    except ValueError:
        raise KafkaError(ErrorCode.UNKNOWN_SERVER_ERROR) from None
    if recovery is LeaderRecoveryState.RECOVERING and (
        len(ids) > 1 or partition.leader_recovery_state is LeaderRecoveryState.RECOVERED
    ):
        raise KafkaError(ErrorCode.INVALID_REQUEST)
    if not all(_is_eligible(controller, broker) for broker in isr):
        raise KafkaError(ErrorCode.INELIGIBLE_REPLICA)


def _is_eligible(controller: Controller, named: BrokerState) -> bool:
    broker = controller.image.brokers.get(named.broker_id)
    if broker is None or not broker.active:
        return False
    return named.broker_epoch in (_ANY_EPOCH, broker.epoch)
