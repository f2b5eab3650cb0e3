"""A real Kafka 4.3.1 and our controller are asked for topics, and answer the same; then their logs say the same."""

from __future__ import annotations

from itertools import count

import pytest

from barnabas.coordination.cluster.bootstrap import bootstrap_records
from barnabas.coordination.cluster.log_batch import read_metadata_batch
from barnabas.coordination.controller.activation import activate
from barnabas.coordination.controller.state import Controller
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.create_partitions import (
    CreatePartitionsAssignment,
    CreatePartitionsRequest,
    CreatePartitionsTopic,
)
from barnabas.protocol.messages.create_topics import (
    CreatableReplicaAssignment,
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.schema import Uuid
from tests.coordination.controller.config_rules import TestRules
from tests.coordination.controller.twins import Twins

pytestmark = [pytest.mark.java, pytest.mark.slow]

UNKNOWN_ID = Uuid(range(100, 116))
NAMES = count()
TIMEOUT_MS = 30_000  # nothing is waited for, but with no time at all Kafka does not begin


def fresh(prefix: str = "topic") -> str:
    return f"{prefix}{next(NAMES)}"


def new(name: str, partitions: int = 1, replicas: int = 1, **configs: str | None) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def assigned(
    name: str, *replicas: list[int], numbers: list[int] | None = None, partitions: int = -1, rf: int = -1
) -> CreatableTopic:
    numbers = list(range(len(replicas))) if numbers is None else numbers
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=rf,
        assignments=[
            CreatableReplicaAssignment(partition_index=number, broker_ids=brokers)
            for number, brokers in zip(numbers, replicas, strict=True)
        ],
    )


def create(twins: Twins, *topics: CreatableTopic, version: int = 7, validate_only: bool = False) -> None:
    twins.same(CreateTopicsRequest(topics=list(topics), validate_only=validate_only), version)


def test_the_first_records(twins: Twins) -> None:
    """Those of the first batch behind the quorum's own."""
    log = twins.kafka.data_directory / "__cluster_metadata-0" / "00000000000000000000.log"
    theirs = next(batch for batch in iterate_batches(log.read_bytes()) if not batch.control)
    new_controller = Controller(twins.ours.settings, TestRules())
    assert list(activate(new_controller, bootstrap_records()).records) == list(read_metadata_batch(theirs))


@pytest.mark.parametrize("version", range(2, 8))
def test_create_topics(twins: Twins, version: int) -> None:
    create(twins, version=version)
    create(twins, new(fresh()), new(fresh(), 3), version=version)
    create(twins, new(fresh(), -1, -1), version=version)
    create(twins, new(fresh(), retention_ms="1000", cleanup_policy="compact,delete"), version=version)
    create(twins, new(fresh(), min_insync_replicas="2"), version=version)
    create(twins, assigned(fresh(), [1], [1]), version=version)
    create(twins, new(fresh()), new(fresh(), retention_ms="5"), version=version, validate_only=True)


def test_topics_that_cannot_be_created(twins: Twins) -> None:
    there, dotted = fresh(), fresh("a.b_c")
    create(twins, new(there), new(dotted))
    long = "x" * 249
    refused = [
        new(there),
        new(dotted),
        new(dotted.replace(".", "_")),
        new(dotted.replace("_", ".")),
        *(new(name) for name in ("", ".", "..", long + "x", "a/b", "a b", "ä", "a\n", "__cluster_metadata")),
        new(fresh(), 0),
        new(fresh(), -2),
        new(fresh(), 1, 0),
        new(fresh(), 1, -2),
        new(fresh(), 1, 2),
        new(fresh(), 1, 32767),
        new(fresh(), 0, 0),
        new(fresh(), 10_001),
        new(fresh(), 10_000),
        new(fresh(), 2_000_000_000),
        new(fresh(), retention_ms=None),
        new(fresh(), retention_ms="later"),
        new(fresh(), no_such_config="1"),
        new(fresh(), retention_ms=None, no_such_config="1"),
        new(fresh(), 0, 0, retention_ms="later"),
        new("a/b", 0, 7, retention_ms="later"),
        new(there, -5, 0, retention_ms=None),
        assigned(fresh(), [1], partitions=1),
        assigned(fresh(), [1], rf=1),
        assigned(fresh(), [1], rf=1, partitions=1),
        assigned(fresh(), []),
        assigned(fresh(), [2]),
        assigned(fresh(), [1, 1]),
        assigned(fresh(), [1, 2]),
        assigned(fresh(), [1], [1], numbers=[0, 0]),
        assigned(fresh(), [1], [1], numbers=[0, 2]),
        assigned(fresh(), [1], numbers=[1]),
        assigned(fresh(), [1], numbers=[-1]),
        assigned(fresh(), [1], [2], numbers=[0, 0]),
        assigned(fresh(), [-1]),
    ]
    for topic in refused:
        create(twins, topic)
        create(twins, topic, version=4)
        create(twins, topic, validate_only=True)
    create(twins, new(long))
    create(twins, *refused[:12])


def test_topics_named_twice(twins: Twins) -> None:
    name, other = fresh(), fresh()
    create(twins, new(name), new(name))
    create(twins, new(name), new(other), new(name, 0), new(name))
    create(twins, new("__cluster_metadata"), new("__cluster_metadata"))
    create(twins, new("a.b" + name), new("a_b" + name))
    create(twins, new("x"), new("x"), new(fresh(), 10_001))


def delete(twins: Twins, *topics: str | Uuid, version: int = 6) -> None:
    if version < 6:
        twins.same(
            DeleteTopicsRequest(timeout_ms=TIMEOUT_MS, topic_names=[name for name in topics if isinstance(name, str)]),
            version,
        )
        return
    states = [
        DeleteTopicState(name=topic) if isinstance(topic, str) else DeleteTopicState(topic_id=topic) for topic in topics
    ]
    twins.same(DeleteTopicsRequest(timeout_ms=TIMEOUT_MS, topics=states), version)


@pytest.mark.parametrize("version", range(1, 7))
def test_delete_topics(twins: Twins, version: int) -> None:
    names = [fresh() for _ in range(4)]
    create(twins, *(new(name, retention_ms="1") for name in names))
    delete(twins, version=version)
    delete(twins, names[0], version=version)
    delete(twins, names[0], names[1], "", "never", version=version)
    delete(twins, names[2], names[2], names[3], "never", "never", version=version)
    create(twins, new(names[0], 2))
    delete(twins, names[0], version=version)


def test_delete_topics_by_id(twins: Twins) -> None:
    names = [fresh() for _ in range(6)]
    create(twins, *map(new, names))
    ids = [twins.ours.image.topics.by_name[name].id for name in names]
    delete(twins, ids[0])
    delete(twins, ids[0], UNKNOWN_ID)
    delete(twins, ids[1], ids[1], names[2])
    delete(twins, ids[2], ids[3], names[3])
    delete(twins, ids[1], ids[1], names[1])
    delete(twins, names[4], names[4], ids[4])
    both = DeleteTopicState(name=names[5], topic_id=ids[5])
    neither = DeleteTopicState()
    twins.same(
        DeleteTopicsRequest(timeout_ms=TIMEOUT_MS, topics=[both, neither, neither, DeleteTopicState(name=names[5])]), 6
    )


def grow(
    twins: Twins,
    name: str,
    total: int,
    *assignments: list[int],
    version: int = 3,
    given: bool = False,
    validate_only: bool = False,
) -> None:
    topic = CreatePartitionsTopic(
        name=name,
        count=total,
        assignments=[CreatePartitionsAssignment(broker_ids=each) for each in assignments]
        if assignments or given
        else None,
    )
    twins.same(CreatePartitionsRequest(timeout_ms=TIMEOUT_MS, topics=[topic], validate_only=validate_only), version)


@pytest.mark.parametrize("version", range(4))
def test_create_partitions(twins: Twins, version: int) -> None:
    name = fresh()
    create(twins, new(name))
    grow(twins, name, 3, version=version, validate_only=True)
    grow(twins, name, 3, version=version)
    grow(twins, name, 5, [1], [1], version=version)
    for total in (5, 4, 0, -1):
        grow(twins, name, total, version=version)
    grow(twins, name, 6, given=True, version=version)
    grow(twins, name, 6, [1], [1], version=version)
    grow(twins, name, 6, [2], version=version)
    grow(twins, name, 6, [], version=version)
    grow(twins, name, 6, [1, 1], version=version)
    grow(twins, name, 6, [1, 2], version=version)
    grow(twins, "never", 6, [2], version=version)
    grow(twins, "", 6, version=version)
    twins.same(CreatePartitionsRequest(timeout_ms=TIMEOUT_MS), version)
    again = CreatePartitionsTopic(name=name, count=9, assignments=None)
    other = CreatePartitionsTopic(name="never", count=9, assignments=None)
    twins.same(CreatePartitionsRequest(timeout_ms=TIMEOUT_MS, topics=[again, other, again, other, again]), version)


@pytest.mark.parametrize("version", range(3))
def test_elect_leaders(twins: Twins, version: int) -> None:
    name = fresh()
    create(twins, new(name, 2))
    kinds = (0,) if version == 0 else (0, 1, 2, -1)
    for kind in kinds:
        for partitions in ([TopicPartitions(name, [0, 1, 2, -1]), TopicPartitions("never", [0])], [], None):
            twins.same(ElectLeadersRequest(election_type=kind, topic_partitions=partitions), version)


@pytest.mark.parametrize("version", range(2))
def test_reassignments(twins: Twins, version: int) -> None:
    name = fresh()
    create(twins, new(name, 2))

    def reassign(topic: str, partition: int, replicas: list[int] | None, resize: bool = True) -> None:
        target = ReassignableTopic(topic, [ReassignablePartition(partition, replicas)])
        request = AlterPartitionReassignmentsRequest(topics=[target])
        if version >= 1:
            request.allow_replication_factor_change = resize
        twins.same(request, version)

    reassign(name, 0, [1])
    reassign(name, 0, None)
    reassign(name, 7, [1])
    reassign(name, 7, None)
    reassign("never", 0, [1])
    for replicas in ([], [2], [1, 1], [1, 2], [-1]):
        reassign(name, 1, replicas)
        reassign(name, 1, replicas, resize=False)
    twins.same(AlterPartitionReassignmentsRequest(), version)
    for topics in (
        None,
        [],
        [ListPartitionReassignmentsTopics(name, [0, 1, 9]), ListPartitionReassignmentsTopics("never", [0])],
    ):
        twins.same(ListPartitionReassignmentsRequest(topics=topics), 0)


@pytest.mark.parametrize("version", range(3))
def test_describe_cluster(twins: Twins, version: int) -> None:
    twins.same(DescribeClusterRequest(), version)
    if version >= 1:
        for endpoint_type in (2, 0, 3):
            twins.same(DescribeClusterRequest(endpoint_type=endpoint_type), version)
    if version >= 2:
        twins.same(DescribeClusterRequest(include_fenced_brokers=True), version)


def test_unregister_a_broker_that_is_not_there(twins: Twins) -> None:
    twins.same(UnregisterBrokerRequest(broker_id=77), 0)
    twins.same(UnregisterBrokerRequest(broker_id=-1), 0)
