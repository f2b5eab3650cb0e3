"""What brokers and administrators ask of a controller, answered as Apache Kafka's answers it, field by field."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

import pytest

from barnabas.protocol.messages.allocate_producer_ids import AllocateProducerIdsRequest
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.protocol.messages.alter_configs import AlterableConfig as Replaced
from barnabas.protocol.messages.alter_configs import AlterConfigsRequest
from barnabas.protocol.messages.alter_configs import AlterConfigsResource as ReplacedResource
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.broker_heartbeat import BrokerHeartbeatRequest
from barnabas.protocol.messages.broker_registration import BrokerRegistrationResponse
from barnabas.protocol.messages.controller_registration import ControllerRegistrationRequest, Listener
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest
from barnabas.protocol.messages.create_partitions import CreatePartitionsRequest, CreatePartitionsTopic
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.list_partition_reassignments import ListPartitionReassignmentsRequest
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.protocol.schema import Message, Uuid
from tests.broker.controller_door.broker_requests import FAR, alteration, assignment, directory_of, registration
from tests.broker.controller_door.twin_doors import Door, TwinDoors

pytestmark = [pytest.mark.java, pytest.mark.slow]

Made = Callable[[Door], Message]
NOWHERE = Uuid([9] * 16)


def ask_all(doors: TwinDoors, requests: Iterable[Made], version: int | None = None) -> list[Any]:
    return [doors.same(make, version) for make in requests]


def register(doors: TwinDoors, broker_id: int, **fields: Any) -> None:
    """And let in."""
    for door in (doors.kafka, doors.ours):
        answer = door.ask(registration(broker_id, door.cluster_id, **fields), 4)
        assert isinstance(answer, BrokerRegistrationResponse)
        assert answer.error_code == 0, (door.name, answer)
        door.broker_epochs[broker_id] = answer.broker_epoch
        door.names[answer.broker_epoch] = f"the epoch of {broker_id}"
    doors.same(lambda d: heartbeat(d, broker_id))


def heartbeat(door: Door, broker_id: int, **fields: Any) -> BrokerHeartbeatRequest:
    known = {"broker_epoch": door.broker_epochs.get(broker_id, -1), "current_metadata_offset": FAR}
    return BrokerHeartbeatRequest(broker_id=broker_id, **{**known, **fields})


def create(doors: TwinDoors, name: str, *replicas: list[int]) -> None:
    assignments = [CreatableReplicaAssignment(number, each) for number, each in enumerate(replicas)]
    topic = CreatableTopic(name=name, num_partitions=-1, replication_factor=-1, assignments=assignments)
    for door in (doors.kafka, doors.ours):
        answer = door.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7)
        assert isinstance(answer, CreateTopicsResponse)
        assert answer.topics[0].error_code == 0, (door.name, answer)
        door.topic_ids[name] = answer.topics[0].topic_id
        door.names[answer.topics[0].topic_id] = f"the id of {name}"


def test_registrations(doors: TwinDoors) -> None:
    ask_all(
        doors,
        [
            lambda d: registration(7, "another"),
            lambda d: registration(7, d.cluster_id, is_migrating_zk_broker=True),
            lambda d: registration(1, d.cluster_id),
        ],
        4,
    )
    for version in range(5):
        told = doors.same(lambda d: registration(7, "another"), version)
        assert told["error_code"] == "INCONSISTENT_CLUSTER_ID"
    # Before version 2 nobody says which directories he has.
    for version in (0, 1):
        doors.same(lambda d: registration(7, d.cluster_id), version)

    def odd(door: Door, **fields: Any) -> Message:
        request = registration(7, door.cluster_id)
        for name, value in fields.items():
            setattr(request, name, value)
        return request

    ask_all(
        doors,
        [
            lambda d: odd(d, log_dirs=[]),
            lambda d: odd(d, log_dirs=[Uuid.ZERO]),
            lambda d: odd(d, log_dirs=[directory_of(7), directory_of(7)]),
            lambda d: odd(d, log_dirs=[d.directory]),
            lambda d: odd(d, features=[]),
            lambda d: odd(d, features=registration(7, "").features[:1]),
        ],
        4,
    )
    register(doors, 7)
    ask_all(
        doors,
        [
            lambda d: registration(7, d.cluster_id),
            lambda d: registration(7, d.cluster_id, incarnation=2),
            lambda d: registration(8, d.cluster_id).__class__(
                **{**_fields(registration(8, d.cluster_id)), "log_dirs": [directory_of(7)]}
            ),
        ],
        4,
    )


def test_heartbeats(doors: TwinDoors) -> None:
    register(doors, 11)
    ask_all(
        doors,
        [
            lambda d: heartbeat(d, 99),
            lambda d: heartbeat(d, 11, broker_epoch=0),
            lambda d: heartbeat(d, 11),
            lambda d: heartbeat(d, 11, want_fence=True),
            lambda d: heartbeat(d, 11, current_metadata_offset=0),
            lambda d: heartbeat(d, 11),
            lambda d: heartbeat(d, 11, want_fence=True, want_shut_down=True),
            lambda d: heartbeat(d, 11),
            lambda d: heartbeat(d, 11, want_shut_down=True),
        ],
    )


def test_partitions(doors: TwinDoors) -> None:
    for broker_id in (21, 22, 23):
        register(doors, broker_id)
    create(doors, "led", [21, 22], [22, 21])

    def altered(by: int, isr: list[int], **fields: Any) -> Made:
        def make(door: Door) -> Message:
            epochs = {each: door.broker_epochs.get(each, 5) for each in isr}
            return alteration(by, door.broker_epochs.get(by, 5), door.topic_ids["led"], epochs, **fields)

        return make

    for version in (2, 3):
        ask_all(
            doors,
            [
                altered(99, [21]),
                altered(22, [22]),
                altered(21, [21, 99]),
                altered(21, [22]),
                altered(21, [21, 23]),
                altered(21, [21], number=7),
                altered(21, [21], leader_epoch=1),
                altered(21, [21], leader_epoch=-1),
                altered(21, [21], partition_epoch=1),
                altered(21, [21], partition_epoch=-1),
                lambda d: alteration(21, d.broker_epochs[21], NOWHERE, {21: -1}),
                lambda d: alteration(21, d.broker_epochs[21] - 1, d.topic_ids["led"], {21: -1}),
            ],
            version,
        )
    doors.same(lambda d: alteration(21, d.broker_epochs[21], d.topic_ids["led"], {21: d.broker_epochs[21], 22: 1}), 3)
    doors.same(altered(21, [21]), 3)
    doors.same(altered(21, [21, 22], partition_epoch=1), 2)
    one_after_the_other: list[tuple[Made, int]] = [
        (lambda d: assignment(21, d.broker_epochs[21], directory_of(21), d.topic_ids["led"], 1, 9), 0),
        (lambda d: assignment(21, d.broker_epochs[21], directory_of(21), NOWHERE, 0), 0),
        (lambda d: assignment(23, d.broker_epochs[23], directory_of(23), d.topic_ids["led"], 0), 0),
        (lambda d: assignment(21, 0, directory_of(21), d.topic_ids["led"], 0), 0),
        (lambda d: AllocateProducerIdsRequest(broker_id=21, broker_epoch=0), 0),
        (lambda d: AllocateProducerIdsRequest(broker_id=99, broker_epoch=0), 0),
        (lambda d: elected(0, "led", 0, 1, 9), 2),
        (lambda d: elected(1, "led", 0), 2),
        (lambda d: elected(0, "none", 0), 1),
        (lambda d: elected(7, "led", 0), 2),
        (lambda d: reassigned("led", 1, [23, 22]), 1),
        (lambda d: ListPartitionReassignmentsRequest(topics=None, timeout_ms=1_000), 0),
        (lambda d: reassigned("led", 1, None), 0),
        (lambda d: reassigned("led", 1, None), 1),
        (lambda d: reassigned("led", 1, [99]), 1),
        (lambda d: reassigned("none", 0, [21]), 1),
        (lambda d: heartbeat(d, 21, want_shut_down=True), 1),
        (lambda d: heartbeat(d, 22, offline_log_dirs=[directory_of(22)]), 1),
        (lambda d: UnregisterBrokerRequest(broker_id=99), 0),
        (lambda d: UnregisterBrokerRequest(broker_id=23), 0),
        (lambda d: heartbeat(d, 23), 2),
    ]
    for make, version in one_after_the_other:
        doors.same(make, version)


def elected(kind: int, topic: str, *numbers: int) -> ElectLeadersRequest:
    wanted = [TopicPartitions(topic=topic, partitions=list(numbers))]
    return ElectLeadersRequest(election_type=kind, topic_partitions=wanted, timeout_ms=5_000)


def reassigned(topic: str, number: int, replicas: list[int] | None) -> AlterPartitionReassignmentsRequest:
    target = ReassignablePartition(partition_index=number, replicas=replicas)
    return AlterPartitionReassignmentsRequest(topics=[ReassignableTopic(name=topic, partitions=[target])])


def _fields(message: Message) -> dict[str, Any]:
    return {each.name: getattr(message, each.name) for each in message.__fields__}


def replaced(kind: int, resource: str, **configs: str) -> AlterConfigsRequest:
    wanted = [Replaced(name=name.replace("_", "."), value=value) for name, value in configs.items()]
    return AlterConfigsRequest(resources=[ReplacedResource(resource_type=kind, resource_name=resource, configs=wanted)])


def altered_configs(kind: int, resource: str, **configs: str) -> IncrementalAlterConfigsRequest:
    wanted = [
        AlterableConfig(name=name.replace("_", "."), config_operation=0, value=value) for name, value in configs.items()
    ]
    return IncrementalAlterConfigsRequest(
        resources=[AlterConfigsResource(resource_type=kind, resource_name=resource, configs=wanted)]
    )


def test_administration(doors: TwinDoors) -> None:
    create(doors, "managed", [1])
    topics = [TopicData(topic_name="orders", partitions=[PartitionData(partition_index=0)])]
    ask_all(
        doors,
        [
            lambda d: DescribeClusterRequest(endpoint_type=1),
            lambda d: DescribeQuorumRequest(topics=topics),
            lambda d: CreateAclsRequest(creations=[]),
            lambda d: CreateAclsRequest(creations=[AclCreation(2, "x", 3, "User:x", "*", 3, 3)]),
            lambda d: DeleteTopicsRequest(topic_names=["nowhere"], timeout_ms=5_000),
            lambda d: replaced(2, "managed", retention_ms="1"),
            lambda d: replaced(2, "nowhere", retention_ms="1"),
            lambda d: replaced(4, "99", log_retention_ms="1"),
            lambda d: replaced(8, "1", root="INFO"),
            lambda d: replaced(77, "x", y="z"),
            lambda d: altered_configs(2, "managed", retention_ms="2"),
            lambda d: altered_configs(2, "managed", retention_ms="x"),
            lambda d: altered_configs(4, "", cordoned_log_dirs="/x"),
            lambda d: altered_configs(4, "1", cordoned_log_dirs="/x"),
            lambda d: altered_configs(4, "1", log_retention_ms="77"),
            lambda d: altered_configs(8, "1", nobodys_logger="INFO"),
            lambda d: altered_configs(8, "2", root="INFO"),
            lambda d: altered_configs(77, "x", y="z"),
            lambda d: DescribeConfigsRequest(
                resources=[
                    DescribeConfigsResource(
                        resource_type=2, resource_name="managed", configuration_keys=["retention.ms"]
                    ),
                    DescribeConfigsResource(resource_type=4, resource_name="99", configuration_keys=["node.id"]),
                    DescribeConfigsResource(resource_type=2, resource_name="nowhere", configuration_keys=[]),
                ]
            ),
            lambda d: CreatePartitionsRequest(
                topics=[CreatePartitionsTopic("managed", 1, None), CreatePartitionsTopic("nowhere", 4, None)],
                timeout_ms=5_000,
            ),
            lambda d: AlterClientQuotasRequest(
                entries=[EntryData([EntityData("user", "x")], [OpData("producer_byte_rate", 7.0)])],
                validate_only=False,
            ),
            lambda d: AlterClientQuotasRequest(
                entries=[EntryData([EntityData("nothing", "x")], [OpData("producer_byte_rate", 7.0)])],
                validate_only=False,
            ),
        ],
    )
    for version in (0, 1, 2):
        feature = FeatureUpdateKey(feature="nobodys.feature", max_version_level=1)
        doors.same(lambda d: UpdateFeaturesRequest(timeout_ms=5_000, feature_updates=[feature]), version)  # noqa: B023
    doors.same(lambda d: DescribeClusterRequest(endpoint_type=2), 2)
    # Apache Kafka's controller gives up its leadership over it, and so it comes last.
    odd = Listener("CONTROLLER", "h", 1, 77)
    registered = ControllerRegistrationRequest(controller_id=9, incarnation_id=NOWHERE, listeners=[odd])
    told = doors.same(lambda d: registered, 0)
    assert told["error_code"] != "NONE"
