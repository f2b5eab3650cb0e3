"""What brokers ask of their controller, and a broker that does nothing else."""

from __future__ import annotations

from typing import Any

from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.protocol.messages import alter_partition as altering
from barnabas.protocol.messages import assign_replicas_to_dirs as assigning
from barnabas.protocol.messages.alter_partition import AlterPartitionRequest, AlterPartitionResponse
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest, BrokerHeartbeatResponse
from barnabas.protocol.messages.broker_registration import (
    BrokerRegistrationRequest,
    BrokerRegistrationResponse,
    Feature,
    Listener,
)
from barnabas.protocol.schema import Uuid
from tests.broker.twins import fitted
from tests.kafka.client import RawClient

__all__ = ["FakeBroker", "alteration", "assignment", "directory_of", "registration"]

FAR = 1 << 40


def directory_of(broker_id: int, number: int = 0) -> Uuid:
    return Uuid([200, broker_id, number, *[1] * 13])


def registration(
    broker_id: int, cluster_id: str, *, incarnation: int = 1, directories: int = 1, **fields: Any
) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=broker_id,
        cluster_id=cluster_id,
        incarnation_id=Uuid([broker_id, incarnation, *[7] * 14]),
        listeners=[Listener("PLAINTEXT", "localhost", 9000 + broker_id, 0)],
        features=[Feature(name, *levels) for name, levels in SUPPORTED_FEATURES.items()],
        rack=None,
        log_dirs=[directory_of(broker_id, number) for number in range(directories)],
        **fields,
    )


def alteration(
    broker_id: int,
    broker_epoch: int,
    topic_id: Uuid,
    isr: dict[int, int],
    *,
    number: int = 0,
    leader_epoch: int = 0,
    partition_epoch: int = 0,
) -> AlterPartitionRequest:
    """The in-sync replicas, with the epochs of their brokers; for `fitted`, since each version says it its own way."""
    partition = altering.PartitionData(
        partition_index=number,
        leader_epoch=leader_epoch,
        new_isr=list(isr),
        new_isr_with_epochs=[altering.BrokerState(*each) for each in isr.items()],
        partition_epoch=partition_epoch,
    )
    topics = [altering.TopicData(topic_id=topic_id, partitions=[partition])]
    return AlterPartitionRequest(broker_id=broker_id, broker_epoch=broker_epoch, topics=topics)


def assignment(
    broker_id: int, broker_epoch: int, directory: Uuid, topic_id: Uuid, *numbers: int
) -> assigning.AssignReplicasToDirsRequest:
    partitions = [assigning.PartitionData(number) for number in numbers]
    topics = [assigning.TopicData(topic_id=topic_id, partitions=partitions)]
    return assigning.AssignReplicasToDirsRequest(
        broker_id=broker_id,
        broker_epoch=broker_epoch,
        directories=[assigning.DirectoryData(id=directory, topics=topics)],
    )


class FakeBroker:
    """It registers, is heard of when it is told to, and takes every partition that it is given."""

    def __init__(self, client: RawClient, cluster_id: str, broker_id: int, **fields: Any) -> None:
        self.client = client
        self.id = broker_id
        answer = client.ask(registration(broker_id, cluster_id, **fields), 4, BrokerRegistrationResponse)
        assert answer.error_code == 0, answer
        self.epoch = answer.broker_epoch

    def beat(self, **fields: Any) -> BrokerHeartbeatResponse:
        request = BrokerHeartbeatRequest(
            broker_id=self.id, broker_epoch=self.epoch, **{"current_metadata_offset": FAR, **fields}
        )
        return self.client.ask(request, 2, BrokerHeartbeatResponse)

    def in_service(self) -> FakeBroker:
        assert not self.beat().is_fenced
        return self

    def alter(self, topic_id: Uuid, *isr: FakeBroker, **fields: Any) -> altering.ResponsePartitionData:
        request = alteration(self.id, self.epoch, topic_id, {each.id: each.epoch for each in isr}, **fields)
        answer = self.client.ask(fitted(request, 3), 3, AlterPartitionResponse)
        assert answer.error_code == 0, answer
        return answer.topics[0].partitions[0]
