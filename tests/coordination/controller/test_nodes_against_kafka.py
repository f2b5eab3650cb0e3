"""A second broker that is only ours to play comes to a real Kafka 4.3.1 and goes again; our controller sees the same.

So partitions are placed, led, moved and lost over two brokers, while Kafka's own decides with us. Kafka's session
timeout is long, because nobody sends the second broker's heartbeats of its own accord.
"""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from barnabas.coordination.cluster.features import SUPPORTED_FEATURES
from barnabas.protocol.errors import ErrorCode
from barnabas.protocol.messages import assign_replicas_to_dirs as directories
from barnabas.protocol.messages.alter_partition import AlterPartitionRequest, BrokerState, PartitionData, TopicData
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationRequest, Feature, Listener
from barnabas.protocol.messages.create_topics import CreatableReplicaAssignment, CreatableTopic, CreateTopicsRequest
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.twins import Twins
from tests.kafka.broker import KafkaBroker

pytestmark = [pytest.mark.java, pytest.mark.slow]

SECOND = 2
DIRECTORIES = [Uuid(range(50, 66)), Uuid(range(150, 166))]
FAR = 1_000_000_000
"""Behind every offset: all metadata has been read."""


@pytest.fixture(scope="module")
def shared_twins(kafka_classpath: str) -> Iterator[Twins]:
    # Kafka's broker 1 would take the second one out of the ISR, because it never fetches.
    config = {"broker.session.timeout.ms": "600000", "replica.lag.time.max.ms": "600000"}
    with KafkaBroker(kafka_classpath, config=config) as kafka:
        twins = Twins(kafka)
        yield twins
        twins.close()


@pytest.fixture
def twins(shared_twins: Twins) -> Iterator[Twins]:
    yield shared_twins
    shared_twins.same_state()
    if SECOND in shared_twins.ours.image.brokers:
        shared_twins.same(UnregisterBrokerRequest(broker_id=SECOND), 0)
    names = list(shared_twins.ours.image.topics.by_name)
    shared_twins.same(DeleteTopicsRequest(topic_names=names, timeout_ms=30_000), 5)


def registration(twins: Twins, incarnation: int = 1) -> BrokerRegistrationRequest:
    return BrokerRegistrationRequest(
        broker_id=SECOND,
        cluster_id=twins.kafka.cluster_id,
        incarnation_id=Uuid([incarnation] * 16),
        listeners=[Listener("PLAINTEXT", "127.0.0.1", 9, 0)],
        features=[Feature(name, *levels) for name, levels in SUPPORTED_FEATURES.items()],
        rack="far away",
        log_dirs=DIRECTORIES,
    )


def register(twins: Twins, incarnation: int = 1, version: int = 4, previous_epoch: int = -1) -> None:
    request = registration(twins, incarnation)
    request.previous_broker_epoch = previous_epoch
    twins.same(request, version)
    twins.learn_epochs()


def beat(
    twins: Twins,
    *,
    offset: int = FAR,
    fence: bool = False,
    stop: bool = False,
    offline: list[Uuid] | None = None,
    cordoned: list[Uuid] | None = None,
    epoch: int | None = None,
    version: int = 2,
) -> None:
    known = twins.ours.image.brokers[SECOND].epoch
    request = BrokerHeartbeatRequest(
        broker_id=SECOND,
        broker_epoch=known if epoch is None else epoch,
        current_metadata_offset=offset,
        want_fence=fence,
        want_shut_down=stop,
        offline_log_dirs=offline or [],
        cordoned_log_dirs=cordoned,
    )
    twins.same(request, version)
    twins.same_state()


def create(twins: Twins, name: str, *replicas: list[int]) -> None:
    assignments = [
        CreatableReplicaAssignment(partition_index=number, broker_ids=each) for number, each in enumerate(replicas)
    ]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
    answer = twins.same(CreateTopicsRequest(topics=[topic]), 7)
    assert answer.topics[0].error_code == ErrorCode.NONE
    twins.learn_epochs()
    twins.same_state()


@pytest.mark.parametrize("version", range(5))
def test_registrations_that_are_refused(twins: Twins, version: int) -> None:
    def refused(**changes: object) -> None:
        request = registration(twins)
        for name, value in changes.items():
            setattr(request, name, value)
        assert twins.same(request, version).error_code != ErrorCode.NONE

    refused(cluster_id="another")
    refused(cluster_id="another", features=[])
    refused(features=[])
    refused(features=[Feature("metadata.version", 7, 29)])
    refused(features=[Feature("metadata.version", 7, 30)])
    refused(features=[*registration(twins).features, Feature("group.version", 0, 0)])
    refused(broker_id=1)
    if version >= 1:
        refused(is_migrating_zk_broker=True)
        refused(is_migrating_zk_broker=True, cluster_id="another")
    if version < 2:
        refused()
    else:
        refused(log_dirs=[])
        refused(log_dirs=[DIRECTORIES[0], DIRECTORIES[0]])
        refused(log_dirs=[Uuid.ZERO, DIRECTORIES[0]])
        refused(log_dirs=[Uuid((99).to_bytes(16, "big"))])
        refused(log_dirs=[twins.ours.image.brokers[1].directories[0]])


@pytest.mark.parametrize("version", range(2, 5))
def test_a_broker_comes_and_goes(twins: Twins, version: int) -> None:
    register(twins, version=version)
    for request_version in range(3):
        twins.same(DescribeClusterRequest(include_fenced_brokers=request_version >= 2), request_version)
    beat(twins, epoch=5)
    beat(twins, offset=0)
    beat(twins, fence=True)
    register(twins, version=version)  # the same run of the broker amends what it said
    register(twins, incarnation=2, version=version)
    beat(twins)
    register(twins, incarnation=2, version=version)
    refused = registration(twins, incarnation=3)
    assert twins.same(refused, version).error_code == ErrorCode.DUPLICATE_BROKER_REGISTRATION
    beat(twins, cordoned=[])
    beat(twins, cordoned=[DIRECTORIES[0]])
    beat(twins, cordoned=DIRECTORIES)
    twins.same(CreateTopicsRequest(topics=[CreatableTopic(name="cordoned", num_partitions=1, replication_factor=2)]), 7)
    beat(twins, cordoned=[], version=2)
    beat(twins, fence=True)
    beat(twins, stop=True)
    beat(twins, stop=True, fence=True)


def test_partitions_of_two_brokers(twins: Twins) -> None:
    register(twins)
    twins.same(CreateTopicsRequest(topics=[CreatableTopic(name="fenced", num_partitions=4, replication_factor=2)]), 7)
    create(twins, "by-hand", [1, 2], [2, 1])
    nobody = CreatableTopic("nobody", -1, -1, [CreatableReplicaAssignment(partition_index=0, broker_ids=[2])])
    assert twins.same(CreateTopicsRequest(topics=[nobody]), 7).topics[0].error_code != ErrorCode.NONE
    beat(twins)
    create(twins, "two", [1, 2], [2, 1])
    create(twins, "one", [2])
    preferred = TopicPartitions("by-hand", [0, 1])
    for kind in (0, 1):
        twins.same(ElectLeadersRequest(election_type=kind, topic_partitions=[preferred]), 2)
        twins.same(ElectLeadersRequest(election_type=kind, topic_partitions=None), 2)
        twins.same_state()
    beat(twins, stop=True)
    beat(twins, stop=True, offset=0)
    twins.same(CreateTopicsRequest(topics=[CreatableTopic(name="stopping", num_partitions=1, replication_factor=2)]), 7)
    beat(twins, stop=True)
    twins.same(ElectLeadersRequest(election_type=0, topic_partitions=None), 2)
    twins.same(ElectLeadersRequest(election_type=1, topic_partitions=None), 2)


@pytest.mark.parametrize("clean", [True, False])
def test_a_broker_returns(twins: Twins, clean: bool) -> None:
    register(twins, incarnation=11)
    beat(twins)
    create(twins, "shared", [2, 1], [1, 2])
    create(twins, "alone", [2])
    beat(twins, stop=True)
    beat(twins, stop=True)
    epoch = twins.ours.image.brokers[SECOND].epoch
    # The request's own field is not translated, so each of them is told what it gave out.
    request = registration(twins, incarnation=12)
    theirs = registration(twins, incarnation=12)
    request.previous_broker_epoch = epoch if clean else -1
    theirs.previous_broker_epoch = twins.kafka_epochs[epoch] if clean else -1
    twins.same(request, 4, for_kafka=theirs)
    twins.learn_epochs()
    twins.same_state()
    beat(twins)
    twins.same(ElectLeadersRequest(election_type=0, topic_partitions=None), 2)
    twins.same(ElectLeadersRequest(election_type=1, topic_partitions=None), 2)


def test_a_disk_fails(twins: Twins) -> None:
    register(twins, incarnation=21)
    beat(twins)
    create(twins, "disks", [2, 1], [2, 1], [1, 2])
    topic_id = twins.ours.image.topics.by_name["disks"].id

    def assign(directory: Uuid, *partitions: int, topic: Uuid = topic_id) -> None:
        topics = [directories.TopicData(topic, [directories.PartitionData(each) for each in partitions])]
        request = directories.AssignReplicasToDirsRequest(
            broker_id=SECOND,
            broker_epoch=twins.ours.image.brokers[SECOND].epoch,
            directories=[directories.DirectoryData(directory, topics)],
        )
        twins.same(request, 0)
        twins.same_state()

    assign(DIRECTORIES[0], 0, 2, 7)
    assign(DIRECTORIES[1], 1)
    assign(DIRECTORIES[0], 0, topic=Uuid(range(16)))
    beat(twins, offline=[DIRECTORIES[0]])
    beat(twins, offline=[DIRECTORIES[0]])
    assign(DIRECTORIES[0], 1)
    beat(twins, offline=[Uuid(range(70, 86))])


def test_reassignments_between_brokers(twins: Twins) -> None:
    register(twins, incarnation=31)
    beat(twins)
    create(twins, "of-one", [1], [2])
    create(twins, "of-two", [1, 2], [2, 1])

    def reassign(number: int, replicas: list[int] | None, resize: bool = True) -> None:
        topic, partition = ("of-one", number) if number < 2 else ("of-two", number - 2)
        target = ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])
        twins.same(AlterPartitionReassignmentsRequest(topics=[target], allow_replication_factor_change=resize), 1)
        twins.same(ListPartitionReassignmentsRequest(topics=None), 0)
        twins.same_state()

    reassign(0, [1, 2], resize=False)
    reassign(0, [1, 2])
    reassign(0, None)
    reassign(0, [2])
    reassign(0, [1])
    reassign(0, [2], resize=False)
    reassign(0, None)
    reassign(2, [1])
    reassign(3, [1, 2])
    reassign(3, [1])
    reassign(2, [7])


def test_leaders_alter_partitions(twins: Twins) -> None:
    register(twins, incarnation=41)
    beat(twins)
    create(twins, "led", [2, 1], [2, 1], [1, 2])
    topic = twins.ours.image.topics.by_name["led"]

    def alter(
        version: int,
        number: int,
        isr: list[int],
        *,
        leader_epoch: int = 0,
        partition_epoch: int = 0,
        recovery: int = 0,
        broker_epoch: int | None = None,
        member_epoch: int = -1,
        topic_id: Uuid | None = None,
    ) -> None:
        known = twins.ours.image.brokers[SECOND].epoch
        present = topic.partitions.get(number)
        data = PartitionData(
            partition_index=number,
            leader_epoch=leader_epoch + (present.leader_epoch if present else 0),
            partition_epoch=partition_epoch + (present.partition_epoch if present else 0),
            leader_recovery_state=recovery,
        )
        if version == 2:
            data.new_isr = isr
        else:
            data.new_isr_with_epochs = [BrokerState(broker_id=each, broker_epoch=member_epoch) for each in isr]
        request = AlterPartitionRequest(
            broker_id=SECOND,
            broker_epoch=known if broker_epoch is None else broker_epoch,
            topics=[TopicData(topic.id if topic_id is None else topic_id, [data])],
        )
        twins.same(request, version)
        twins.same_state()

    for version in (2, 3):
        alter(version, 0, [2])
        alter(version, 0, [2, 1])
        alter(version, 0, [1])
        alter(version, 0, [])
        alter(version, 0, [2, 2])
        alter(version, 0, [2, 9])
        alter(version, 2, [2])
        alter(version, 7, [2])
        alter(version, 1, [2], leader_epoch=1)
        alter(version, 1, [2], leader_epoch=-1)
        alter(version, 1, [2], partition_epoch=1)
        alter(version, 1, [2], partition_epoch=-1)
        alter(version, 1, [9], leader_epoch=-1, partition_epoch=1)
        alter(version, 1, [2], recovery=1)
        alter(version, 1, [2, 1], recovery=1)
        alter(version, 1, [2], broker_epoch=3)
        alter(version, 1, [2], topic_id=Uuid(range(16)))
    alter(3, 1, [2, 1], member_epoch=3)


def test_a_reassignment_ends_with_the_leader_gone(twins: Twins) -> None:
    register(twins, incarnation=51)
    beat(twins)
    create(twins, "leaving", [2])
    topic = twins.ours.image.topics.by_name["leaving"]
    target = ReassignableTopic("leaving", [ReassignablePartition(0, [1])])
    twins.same(AlterPartitionReassignmentsRequest(topics=[target]), 1)
    data = PartitionData(
        partition_index=0,
        leader_epoch=topic.partitions[0].leader_epoch,
        partition_epoch=topic.partitions[0].partition_epoch,
        new_isr_with_epochs=[BrokerState(broker_id=2), BrokerState(broker_id=1)],
    )
    request = AlterPartitionRequest(
        broker_id=SECOND,
        broker_epoch=twins.ours.image.brokers[SECOND].epoch,
        topics=[TopicData(topic.id, [data])],
    )
    answer = twins.same(request, 3)
    assert answer.topics[0].partitions[0].error_code == ErrorCode.NEW_LEADER_ELECTED
    twins.same_state()
    twins.same(ListPartitionReassignmentsRequest(topics=None), 0)
