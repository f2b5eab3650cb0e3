"""The administrative APIs of a running node beside those of a real Kafka: the same requests, at every version."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from itertools import count
from pathlib import Path

import pytest

from barnabas.protocol.messages import alter_configs as legacy
from barnabas.protocol.messages import describe_topic_partitions as described_topics
from barnabas.protocol.messages.alter_client_quotas import AlterClientQuotasRequest, EntityData, EntryData, OpData
from barnabas.protocol.messages.alter_partition_reassignments import (
    AlterPartitionReassignmentsRequest,
    ReassignablePartition,
    ReassignableTopic,
)
from barnabas.protocol.messages.alter_replica_log_dirs import (
    AlterReplicaLogDir,
    AlterReplicaLogDirsRequest,
    AlterReplicaLogDirTopic,
)
from barnabas.protocol.messages.api_versions import ApiVersionsRequest, ApiVersionsResponse
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
from barnabas.protocol.messages.delete_records import DeleteRecordsPartition, DeleteRecordsRequest, DeleteRecordsTopic
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicState
from barnabas.protocol.messages.describe_client_quotas import ComponentData, DescribeClientQuotasRequest
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest
from barnabas.protocol.messages.describe_configs import DescribeConfigsRequest, DescribeConfigsResource
from barnabas.protocol.messages.describe_log_dirs import DescribableLogDirTopic, DescribeLogDirsRequest
from barnabas.protocol.messages.describe_producers import DescribeProducersRequest, TopicRequest
from barnabas.protocol.messages.describe_quorum import DescribeQuorumRequest, PartitionData, TopicData
from barnabas.protocol.messages.elect_leaders import ElectLeadersRequest, TopicPartitions
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
)
from barnabas.protocol.messages.list_config_resources import ListConfigResourcesRequest
from barnabas.protocol.messages.list_partition_reassignments import (
    ListPartitionReassignmentsRequest,
    ListPartitionReassignmentsTopics,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataRequestTopic
from barnabas.protocol.messages.offset_for_leader_epoch import (
    OffsetForLeaderEpochRequest,
    OffsetForLeaderPartition,
    OffsetForLeaderTopic,
)
from barnabas.protocol.messages.unregister_broker import UnregisterBrokerRequest
from barnabas.protocol.messages.update_features import FeatureUpdateKey, UpdateFeaturesRequest
from barnabas.protocol.schema import Uuid
from tests.kafka.broker import SMALL, KafkaBroker

from .running import RunningNode
from .twins import PATIENCE_S, Side, Twins

pytestmark = [pytest.mark.java, pytest.mark.slow]

TOPIC, BROKER, LOGGER, METRICS, GROUP = 2, 4, 8, 16, 32
SET, DELETE, APPEND, SUBTRACT = 0, 1, 2, 3
NODE = "1"
NAMES = count()


@pytest.fixture(scope="module")
def twin(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Twins]:
    theirs, ours = tmp_path_factory.mktemp("kafka"), tmp_path_factory.mktemp("ours")

    def directories(parent: Path) -> str:
        return f"{parent / 'data'},{parent / 'other'}"

    alike = {"auto.create.topics.enable": "false"}
    running = RunningNode(ours)
    running.settings.update({**SMALL, **alike, "log.dirs": directories(ours)})
    config = {**alike, "log.dirs": directories(theirs)}
    with KafkaBroker(kafka_classpath, theirs, config=config) as kafka, running as node:
        asked = Twins(kafka, node, theirs)
        yield asked
        asked.close()


def fresh(prefix: str = "topic") -> str:
    return f"{prefix}{next(NAMES)}"


def creation(name: str, partitions: int = 1, replicas: int = 1, **configs: str) -> CreatableTopic:
    return CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=replicas,
        configs=[CreatableTopicConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


@pytest.fixture
def topic(twin: Twins) -> str:
    name = fresh()
    twin.same(CreateTopicsRequest(topics=[creation(name, 3)]), 7)
    return name


# Topics


def test_topics_are_created_and_refused(twin: Twins) -> None:
    def request(version: int) -> CreateTopicsRequest:
        twice = fresh()
        assigned = CreatableTopic(
            name=fresh(),
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=0, broker_ids=[1])],
        )
        odd = CreatableTopic(
            name=fresh(),
            num_partitions=-1,
            replication_factor=-1,
            assignments=[CreatableReplicaAssignment(partition_index=1, broker_ids=[1])],
        )
        return CreateTopicsRequest(
            topics=[
                creation(fresh(), 2, cleanup_policy="compact", retention_ms="5000"),
                creation(twice),
                creation(twice),
                creation("no good name!"),
                creation(""),
                creation("__cluster_metadata"),
                creation(fresh(), 0),
                creation(fresh(), 1, 0),
                creation(fresh(), 1, 5),
                creation(fresh(), retention_ms="soon"),
                creation(fresh(), nonsense="1"),
                creation(fresh(), -1, -1) if version >= 4 else creation(fresh()),
                assigned,
                odd,
            ]
        )

    twin.same_at_all(request)
    twin.same_at_all(lambda _: CreateTopicsRequest(topics=[creation(fresh())], validate_only=True))
    twin.same_at_all(CreateTopicsRequest(topics=[]))
    twin.same_at_all(lambda _: CreateTopicsRequest(topics=[creation(fresh()), creation("bad name")], timeout_ms=0))
    twin.same_at_all(lambda _: CreateTopicsRequest(topics=[creation(fresh())], timeout_ms=-1))


def test_a_topic_that_exists_is_not_created(twin: Twins, topic: str) -> None:
    twin.same_at_all(CreateTopicsRequest(topics=[creation(topic)]))
    twin.same_at_all(CreateTopicsRequest(topics=[creation(topic.replace("topic", "topic_")), creation(topic)]))


def test_topics_are_deleted_by_name_and_by_id(twin: Twins) -> None:
    for version in range(1, 7):
        one, other, third = fresh(), fresh(), fresh()
        twin.same(CreateTopicsRequest(topics=[creation(name) for name in (one, other, third)]), 7)

        def by_name(_: Side, one: str = one, version: int = version) -> DeleteTopicsRequest:
            names = [one, "missing", "twice", "twice", "bad name!"]
            if version >= 6:
                return DeleteTopicsRequest(topics=[DeleteTopicState(name=name) for name in names], timeout_ms=5_000)
            return DeleteTopicsRequest(topic_names=names, timeout_ms=5_000)

        twin.same(by_name, version)

    def by_id(side: Side) -> DeleteTopicsRequest:
        known, again = side.topic_id(other), side.topic_id(third)
        return DeleteTopicsRequest(
            topics=[
                DeleteTopicState(topic_id=known),
                DeleteTopicState(topic_id=again),
                DeleteTopicState(name=third),
                DeleteTopicState(topic_id=Uuid(bytes(15) + b"\x77")),
                DeleteTopicState(name="both", topic_id=Uuid(bytes(15) + b"\x78")),
                DeleteTopicState(),
            ],
            timeout_ms=5_000,
        )

    twin.same(by_id, 6)


def test_a_deletion_without_time_deletes_nothing(twin: Twins, topic: str) -> None:
    def request(version: int) -> DeleteTopicsRequest:
        if version >= 6:
            return DeleteTopicsRequest(topics=[DeleteTopicState(name=topic), DeleteTopicState(name="missing")])
        return DeleteTopicsRequest(topic_names=[topic, "missing"])

    twin.same_at_all(request)
    twin.same_at_all(MetadataRequest(topics=[MetadataRequestTopic(name=topic)]))


def test_partitions_are_added(twin: Twins) -> None:
    for version in range(4):
        name, other = fresh(), fresh()
        twin.same(CreateTopicsRequest(topics=[creation(name, 2), creation(other)]), 7)
        one = CreatePartitionsAssignment(broker_ids=[1])
        topics = [
            CreatePartitionsTopic(name=name, count=3, assignments=None),
            CreatePartitionsTopic(name=other, count=2, assignments=[one]),
            CreatePartitionsTopic(name="missing", count=2, assignments=None),
        ]
        twin.same(CreatePartitionsRequest(topics=topics, timeout_ms=5_000, validate_only=True), version)
        twin.same(CreatePartitionsRequest(topics=topics, timeout_ms=5_000), version)
        wrong = [
            CreatePartitionsTopic(name=name, count=3, assignments=None),
            CreatePartitionsTopic(name=other, count=4, assignments=[one]),
        ]
        twin.same(CreatePartitionsRequest(topics=wrong, timeout_ms=5_000), version)
        twice = [CreatePartitionsTopic(name=name, count=9, assignments=None)] * 2
        twin.same(CreatePartitionsRequest(topics=twice, timeout_ms=5_000), version)
        unknown = [CreatePartitionsTopic(name=name, count=4, assignments=[CreatePartitionsAssignment(broker_ids=[9])])]
        twin.same(CreatePartitionsRequest(topics=unknown, timeout_ms=5_000), version)
        twin.same(CreatePartitionsRequest(topics=wrong, timeout_ms=0), version)
    twin.same_at_all(CreatePartitionsRequest(topics=[]))


def test_metadata_tells_of_topics(twin: Twins, topic: str) -> None:
    def named(*names: str | None) -> list[MetadataRequestTopic]:
        return [MetadataRequestTopic(name=name) for name in names]

    every = MetadataRequest(
        topics=named(topic, "missing", topic, "no good name!", "__consumer_offsets"),
        allow_auto_topic_creation=False,
    )
    twin.same_at_all(every, settles=True)
    asking = MetadataRequest(
        topics=named(topic, "missing"),
        allow_auto_topic_creation=False,
        include_topic_authorized_operations=True,
        include_cluster_authorized_operations=True,
    )
    for version in range(8, 14):
        if version > 10:
            asking.include_cluster_authorized_operations = False
        twin.same(asking, version)
    for version in range(1, 14):
        twin.same(MetadataRequest(topics=[]), version)
    twin.same_at_all(lambda version: MetadataRequest(topics=None if version else []), settles=True)

    def by_id(side: Side) -> MetadataRequest:
        return MetadataRequest(
            topics=[
                MetadataRequestTopic(name=None, topic_id=side.topic_id(topic)),
                MetadataRequestTopic(name=None, topic_id=Uuid(bytes(15) + b"\x77")),
            ],
            include_topic_authorized_operations=True,
        )

    for version in range(10, 14):
        twin.same(by_id, version)
    for version in (10, 11):
        twin.same(MetadataRequest(topics=named(None)), version)


def test_topic_partitions_come_in_pages(twin: Twins) -> None:
    names = [f"{fresh('paged')}-{letter}" for letter in "abc"]
    twin.same(CreateTopicsRequest(topics=[creation(name, 3) for name in names]), 7)

    def request(
        *topics: str, limit: int = 2000, cursor: tuple[str, int] | None = None
    ) -> described_topics.DescribeTopicPartitionsRequest:
        return described_topics.DescribeTopicPartitionsRequest(
            topics=[described_topics.TopicRequest(name=name) for name in topics],
            response_partition_limit=limit,
            cursor=cursor and described_topics.Cursor(topic_name=cursor[0], partition_index=cursor[1]),
        )

    for asked in (
        request(),
        request(*names),
        request(*reversed(names), "missing", "bad name!"),
        request(*names, limit=4),
        request(*names, limit=3),
        request(*names, limit=0),
        request(*names, limit=-5),
        request(*names, cursor=(names[1], 1)),
        request(*names, cursor=(names[1], 3)),
        request(*names, cursor=(names[1], 2), limit=2),
        request(cursor=(names[1], 1)),
        request(cursor=("zzz", 0)),
        request(*names, cursor=("zzz", 0)),
        request(*names, cursor=(names[0], -1)),
        request(names[0], cursor=(names[1], 0)),
        request("missing", limit=1),
    ):
        twin.same(asked, 0, settles=True)


# Configurations


def describe(
    kind: int, name: str, *keys: str, everything: bool = True, synonyms: bool = True
) -> DescribeConfigsRequest:
    resource = DescribeConfigsResource(
        resource_type=kind, resource_name=name, configuration_keys=None if everything else list(keys)
    )
    return DescribeConfigsRequest(resources=[resource], include_synonyms=synonyms, include_documentation=True)


def change(kind: int, name: str, *operations: tuple[str, int, str | None]) -> AlterConfigsResource:
    configs = [AlterableConfig(name=key, config_operation=what, value=value) for key, what, value in operations]
    return AlterConfigsResource(resource_type=kind, resource_name=name, configs=configs)


def alter(twin: Twins, *resources: AlterConfigsResource) -> None:
    for validate_only in (True, False):
        for version in (0, 1):
            twin.same(
                IncrementalAlterConfigsRequest(resources=list(resources), validate_only=validate_only),
                version,
                settles=True,
            )


def set_all(kind: int, name: str, **configs: str | None) -> legacy.AlterConfigsResource:
    return legacy.AlterConfigsResource(
        resource_type=kind,
        resource_name=name,
        configs=[legacy.AlterableConfig(name=key.replace("_", "."), value=value) for key, value in configs.items()],
    )


def test_configurations_are_described(twin: Twins, topic: str) -> None:
    for kind, name in ((TOPIC, topic), (BROKER, NODE), (BROKER, ""), (GROUP, "nobody"), (METRICS, "nothing")):
        twin.same_at_all(describe(kind, name), settles=True)
        twin.same(describe(kind, name, synonyms=False), 4, settles=True)
    twin.same_at_all(describe(TOPIC, topic, "retention.ms", "nonsense", everything=False))
    twin.same_at_all(describe(TOPIC, topic, everything=False))
    for kind, name in (
        (TOPIC, "missing"),
        (TOPIC, "bad name!"),
        (TOPIC, ""),
        (BROKER, "9"),
        (BROKER, "one"),
        (LOGGER, ""),
        (LOGGER, "9"),
        (LOGGER, "one"),
        (GROUP, ""),
        (METRICS, ""),
        (0, "unknown"),
        (3, "unknown"),
    ):
        twin.same_at_all(describe(kind, name))
    both = DescribeConfigsRequest(
        resources=[
            DescribeConfigsResource(resource_type=TOPIC, resource_name=topic, configuration_keys=None),
            DescribeConfigsResource(resource_type=77, resource_name="x", configuration_keys=None),
        ]
    )
    twin.same_at_all(both)


def test_topic_configurations_are_altered(twin: Twins, topic: str) -> None:
    alter(twin, change(TOPIC, topic, ("retention.ms", SET, "1000"), ("cleanup.policy", APPEND, "compact")))
    twin.same_at_all(describe(TOPIC, topic), settles=True)
    alter(twin, change(TOPIC, topic, ("cleanup.policy", SUBTRACT, "delete"), ("retention.ms", DELETE, None)))
    twin.same_at_all(describe(TOPIC, topic), settles=True)
    for wrong in (
        [("nonsense", SET, "1")],
        [("retention.ms", SET, "soon")],
        [("retention.ms", SET, None)],
        [("retention.ms", APPEND, "1")],
        [("retention.ms", SET, "1"), ("retention.ms", SET, "2")],
        [("min.insync.replicas", SET, "0")],
    ):
        alter(twin, change(TOPIC, topic, *wrong))
    alter(twin, change(TOPIC, "missing", ("retention.ms", SET, "1")))
    alter(twin, change(TOPIC, "", ("retention.ms", SET, "1")))
    alter(twin, change(3, "x", ("retention.ms", SET, "1")), change(TOPIC, topic, ("retention.ms", SET, "7")))
    twice = change(TOPIC, topic, ("retention.ms", SET, "8"))
    alter(twin, twice, twice, change(GROUP, "g", ("consumer.session.timeout.ms", SET, "46000")))
    for version in range(3):
        for resources in (
            [set_all(TOPIC, topic, retention_bytes="12", retention_ms="13")],
            [set_all(TOPIC, topic, segment_ms="14")],
            [set_all(TOPIC, topic, segment_ms=None)],
            [set_all(TOPIC, topic, nonsense="1"), set_all(BROKER, "9", log_retention_ms="4")],
            [set_all(LOGGER, NODE, root="INFO"), set_all(0, "x", a="b")],
        ):
            # One that is there twice Kafka never answers: it fails while it puts the answer together.
            twin.same(legacy.AlterConfigsRequest(resources=resources, validate_only=True), version, settles=True)
            twin.same(legacy.AlterConfigsRequest(resources=resources), version, settles=True)
    twin.same_at_all(describe(TOPIC, topic), settles=True)


def test_broker_configurations_are_altered(twin: Twins, topic: str) -> None:
    alter(twin, change(BROKER, "", ("log.retention.ms", SET, "100000"), ("min.insync.replicas", SET, "1")))
    alter(twin, change(BROKER, NODE, ("log.segment.bytes", SET, "2000000"), ("log.cleaner.threads", SET, "2")))
    for kind, name in ((BROKER, ""), (BROKER, NODE), (TOPIC, topic)):
        twin.same_at_all(describe(kind, name), settles=True)
    twin.same_at_all(lambda version: CreateTopicsRequest(topics=[creation(fresh())], validate_only=True), settles=True)
    for wrong in (
        change(BROKER, "", ("nonsense", SET, "1")),
        change(BROKER, "", ("log.retention.ms", SET, "soon")),
        change(BROKER, NODE, ("broker.rack", SET, "here")),
        change(BROKER, "9", ("log.retention.ms", SET, "1")),
        change(BROKER, "one", ("log.retention.ms", SET, "1")),
        change(BROKER, NODE, ("log.cleaner.threads", SET, "99")),
        change(BROKER, "", ("log.retention.ms", APPEND, "1")),
        change(BROKER, "", ("what.is.this", APPEND, "1")),
        change(BROKER, "", ("log.retention.ms", 7, "1")),
    ):
        alter(twin, wrong)
    alter(twin, change(BROKER, "", ("log.retention.ms", DELETE, None), ("min.insync.replicas", DELETE, None)))
    alter(twin, change(BROKER, "", ("nonsense", DELETE, None)))
    alter(twin, change(BROKER, NODE, ("log.segment.bytes", DELETE, None), ("log.cleaner.threads", DELETE, None)))
    twin.same_at_all(describe(BROKER, NODE), settles=True)
    twin.same_at_all(describe(BROKER, ""), settles=True)


def test_group_configurations_are_altered(twin: Twins) -> None:
    group = fresh("group")
    alter(
        twin,
        change(
            GROUP,
            group,
            ("consumer.session.timeout.ms", SET, "50000"),
            ("share.auto.offset.reset", SET, "by_duration:PT1H"),
            ("share.renew.acknowledge.enable", SET, "false"),
            ("streams.num.standby.replicas", SET, "1"),
            ("consumer.assignment.interval.ms", SET, "2000"),
        ),
    )
    twin.same_at_all(describe(GROUP, group), settles=True)
    for name, value in (
        ("nonsense", "1"),
        ("consumer.session.timeout.ms", "1"),
        ("consumer.session.timeout.ms", "60001"),
        ("consumer.heartbeat.interval.ms", "four"),
        ("share.auto.offset.reset", "none"),
        ("share.auto.offset.reset", "by_duration:-PT1H"),
        ("share.auto.offset.reset", "by_duration:"),
        ("share.auto.offset.reset", "by_duration:PT"),
        ("share.auto.offset.reset", "by_duration:P1DT"),
        ("share.auto.offset.reset", "by_duration:pt1.5s"),
        ("share.isolation.level", "committed"),
        ("share.record.lock.duration.ms", "14999"),
        ("share.delivery.count.limit", "11"),
        ("share.partition.max.record.locks", "4001"),
        ("streams.num.standby.replicas", "3"),
        ("streams.initial.rebalance.delay.ms", "-1"),
        ("streams.assignment.interval.ms", "15001"),
        ("share.renew.acknowledge.enable", "maybe"),
    ):
        request = IncrementalAlterConfigsRequest(resources=[change(GROUP, group, (name, SET, value))])
        twin.same(request, 1)
    alter(twin, change(GROUP, "", ("consumer.session.timeout.ms", SET, "50000")))
    alter(twin, change(GROUP, group, ("consumer.session.timeout.ms", APPEND, "1")))
    alter(twin, change(GROUP, group, ("consumer.session.timeout.ms", DELETE, None), ("nonsense", DELETE, None)))
    twin.same_at_all(describe(GROUP, group, "consumer.session.timeout.ms", everything=False), settles=True)


def test_client_metrics_are_altered(twin: Twins) -> None:
    name = fresh("metrics")
    alter(
        twin,
        change(
            METRICS,
            name,
            ("metrics", SET, "org.apache.kafka.producer.,org.apache.kafka.consumer."),
            ("interval.ms", SET, "100"),
            ("match", SET, "client_id=.*,client_software_name = apache.*"),
        ),
    )
    twin.same_at_all(describe(METRICS, name), settles=True)
    for key, value in (
        ("nonsense", "1"),
        ("interval.ms", "99"),
        ("interval.ms", "3600001"),
        ("interval.ms", "soon"),
        ("match", "client_id"),
        ("match", "client=x"),
        ("match", "client_id=["),
        ("match", "client_id=a=b"),
        ("match", "client_id="),
        ("metrics", ""),
        ("metrics", "a,,b"),
        ("metrics", "a,a"),
        ("metrics", "*"),
    ):
        twin.same(IncrementalAlterConfigsRequest(resources=[change(METRICS, name, (key, SET, value))]), 1)
    alter(twin, change(METRICS, "", ("interval.ms", SET, "1000")))
    alter(twin, change(METRICS, name, ("metrics", APPEND, "c"), ("interval.ms", DELETE, None)))
    twin.same_at_all(describe(METRICS, name), settles=True)


def test_loggers_are_altered_or_refused(twin: Twins) -> None:
    alter(twin, change(LOGGER, NODE, ("root", SET, "WARN")))
    for wrong in (
        change(LOGGER, NODE, ("no.such.logger", SET, "INFO")),
        change(LOGGER, NODE, ("root", SET, "LOUD")),
        change(LOGGER, NODE, ("root", DELETE, None)),
        change(LOGGER, NODE, ("root", APPEND, "INFO")),
        change(LOGGER, NODE, ("root", 9, "INFO")),
        change(LOGGER, "9", ("root", SET, "INFO")),
        change(LOGGER, "", ("root", SET, "INFO")),
    ):
        alter(twin, wrong)
    twin.same_at_all(describe(LOGGER, NODE, "root", everything=False))


def test_resources_are_listed(twin: Twins, topic: str) -> None:
    for kinds in ([], [METRICS], [TOPIC], [GROUP], [BROKER], [LOGGER, BROKER], [3], [TOPIC, 0]):
        twin.same_at_all(ListConfigResourcesRequest(resource_types=kinds), settles=True)


# Records and logs


def test_records_are_deleted(twin: Twins, topic: str) -> None:
    compacted = fresh()
    twin.same(CreateTopicsRequest(topics=[creation(compacted, cleanup_policy="compact")]), 7)
    produce(twin, topic)
    for version in range(3):
        request = DeleteRecordsRequest(
            topics=[
                DeleteRecordsTopic(
                    name=topic,
                    partitions=[
                        DeleteRecordsPartition(partition_index=0, offset=version),
                        DeleteRecordsPartition(partition_index=1, offset=-1),
                        DeleteRecordsPartition(partition_index=2, offset=99),
                        DeleteRecordsPartition(partition_index=9, offset=0),
                    ],
                ),
                DeleteRecordsTopic(name="missing", partitions=[DeleteRecordsPartition(partition_index=0, offset=0)]),
                DeleteRecordsTopic(name=compacted, partitions=[DeleteRecordsPartition(partition_index=0, offset=0)]),
            ],
            timeout_ms=1_000,
        )
        twin.same(request, version, settles=True)
        twice = [DeleteRecordsPartition(partition_index=0, offset=-2), DeleteRecordsPartition(partition_index=0)]
        again = DeleteRecordsRequest(topics=[DeleteRecordsTopic(name=topic, partitions=twice)], timeout_ms=1_000)
        twin.same(again, version)
    twin.same_at_all(DeleteRecordsRequest(topics=[]))


def produce(twin: Twins, topic: str) -> None:
    """Three records into each of partitions 0 and 1, of producer 7."""
    from barnabas.protocol.batch_builder import build_batch
    from barnabas.protocol.messages.produce import (
        PartitionProduceData,
        ProduceRequest,
        ProduceResponse,
        TopicProduceData,
    )
    from barnabas.protocol.record import Record

    records = build_batch(
        [Record(value=b"%d" % number, timestamp=1_700_000_000_000) for number in range(3)],
        producer_id=7,
        producer_epoch=2,
        base_sequence=0,
    )
    data = [PartitionProduceData(index=number, records=records) for number in (0, 1)]
    request = ProduceRequest(acks=-1, timeout_ms=5_000, topic_data=[TopicProduceData(name=topic, partition_data=data)])
    for side in (twin.ours, twin.kafka):
        deadline = time.monotonic() + PATIENCE_S
        while True:
            answers = side.client.ask(request, 12, ProduceResponse).responses[0].partition_responses
            # A new topic's leader may not know of it yet. What was appended is a duplicate then, and no error.
            if not any(one.error_code for one in answers) or time.monotonic() > deadline:
                break
        assert [one.error_code for one in answers] == [0, 0]


def test_epochs_of_leaders_end_somewhere(twin: Twins, topic: str) -> None:
    produce(twin, topic)
    request = OffsetForLeaderEpochRequest(
        replica_id=-1,
        topics=[
            OffsetForLeaderTopic(
                topic=topic,
                partitions=[
                    OffsetForLeaderPartition(partition=number, current_leader_epoch=current, leader_epoch=epoch)
                    for number in (0, 2, 9)
                    for current in (-1, 0, 7)
                    for epoch in (-1, 0, 5)
                ],
            ),
            OffsetForLeaderTopic(topic="missing", partitions=[OffsetForLeaderPartition(partition=0)]),
        ],
    )
    twin.same_at_all(request)


def test_producers_are_described(twin: Twins, topic: str) -> None:
    produce(twin, topic)
    request = DescribeProducersRequest(
        topics=[
            TopicRequest(name=topic, partition_indexes=[0, 1, 2, 9]),
            TopicRequest(name="missing", partition_indexes=[0]),
            TopicRequest(name="bad name!", partition_indexes=[0, 1]),
            TopicRequest(name=topic, partition_indexes=[]),
        ]
    )
    twin.same(request, 0)


def log_dirs(*topics: str) -> DescribeLogDirsRequest:
    wanted = [DescribableLogDirTopic(topic=name, partitions=[0, 1, 2, 7]) for name in topics]
    return DescribeLogDirsRequest(topics=wanted)


def move(topic: str, where: str, *partitions: int) -> AlterReplicaLogDir:
    return AlterReplicaLogDir(path=where, topics=[AlterReplicaLogDirTopic(name=topic, partitions=list(partitions))])


def moving(topic: str, where: str) -> Callable[[Side], AlterReplicaLogDirsRequest]:
    return lambda side: AlterReplicaLogDirsRequest(dirs=[move(topic, side.path(where), 0, 1, 2)])


def test_logs_move_between_directories(twin: Twins, topic: str) -> None:
    produce(twin, topic)
    for version in (1, 2):
        for where in ("data", "other"):
            twin.same(
                moving(topic, where),
                version,
            )
            for described in range(1, 6):
                twin.same(log_dirs(topic), described, settles=True)
        twin.same(
            lambda side: AlterReplicaLogDirsRequest(
                dirs=[
                    move(topic, side.path("nowhere"), 0),
                    move(topic, side.path("data"), 9),
                    move("missing", side.path("data"), 0),
                    move("t" * 230, side.path("nowhere"), 0),
                ]
            ),
            version,
        )
        twin.same(AlterReplicaLogDirsRequest(dirs=[move(topic, "relative", 0)]), version)
    twin.same_at_all(AlterReplicaLogDirsRequest(dirs=[]))
    twin.same_at_all(log_dirs())
    twin.same_at_all(log_dirs("missing"))


def test_cordoned_directories_get_nothing_more(twin: Twins, topic: str) -> None:
    def cordoned(*names: str, every: bool = False) -> Callable[[Side], IncrementalAlterConfigsRequest]:
        def made(side: Side) -> IncrementalAlterConfigsRequest:
            value = "*" if every else ",".join(side.path(name) for name in names)
            operation = ("cordoned.log.dirs", SET if value else DELETE, value or None)
            return IncrementalAlterConfigsRequest(resources=[change(BROKER, NODE, operation)])

        return made

    names = [creation(fresh(), 3), creation(fresh(), 3)]
    try:
        twin.same(cordoned("other", "nowhere"), 1)
        twin.same(cordoned("other"), 1)
        twin.same(log_dirs("missing"), 5, settles=True)
        twin.same(moving(topic, "other"), 2, settles=True)
        twin.same(CreateTopicsRequest(topics=names), 7)
        twin.same(log_dirs(*(one.name for one in names)), 5, settles=True)
        twin.same(cordoned(every=True), 1)
        twin.same(log_dirs("missing"), 5, settles=True)
        validated = CreateTopicsRequest(topics=[creation(fresh(), 3)], validate_only=True)
        twin.same(validated, 7, settles=True)
    finally:
        twin.same(cordoned(), 1)
        twin.same(log_dirs("missing"), 5, settles=True)


# Leaders, replicas, brokers


def test_leaders_are_elected(twin: Twins, topic: str) -> None:
    def of(*partitions: int, name: str = topic) -> TopicPartitions:
        return TopicPartitions(topic=name, partitions=list(partitions))

    def request(version: int, kind: int, *topics: TopicPartitions, timeout_ms: int = 5_000) -> ElectLeadersRequest:
        return ElectLeadersRequest(
            election_type=kind if version else 0, topic_partitions=list(topics), timeout_ms=timeout_ms
        )

    def both(kind: int) -> Callable[[int], ElectLeadersRequest]:
        return lambda version: request(version, kind, of(0, 1, 9), of(0, name="missing"))

    for kind in (0, 1, 7):
        twin.same_at_all(both(kind))
    twin.same_at_all(lambda version: request(version, 0, of(0), timeout_ms=0))
    twin.same_at_all(ElectLeadersRequest(topic_partitions=[], timeout_ms=0))
    twin.same_at_all(ElectLeadersRequest(topic_partitions=None, timeout_ms=5_000))


def test_replicas_are_reassigned_or_not(twin: Twins, topic: str) -> None:
    def request(
        version: int, *wanted: tuple[int, list[int] | None], name: str = topic, may: bool = True
    ) -> AlterPartitionReassignmentsRequest:
        partitions = [ReassignablePartition(partition_index=number, replicas=replicas) for number, replicas in wanted]
        return AlterPartitionReassignmentsRequest(
            timeout_ms=5_000,
            allow_replication_factor_change=may or version == 0,
            topics=[ReassignableTopic(name=name, partitions=partitions)],
        )

    def with_replicas(
        wanted: Sequence[tuple[int, list[int] | None]],
    ) -> Callable[[int], AlterPartitionReassignmentsRequest]:
        return lambda version: request(version, *wanted)

    several: list[list[tuple[int, list[int] | None]]] = [
        [(0, [1])],
        [(0, None), (1, None)],
        [(0, [1, 1]), (1, [9]), (2, [])],
        [(7, [1])],
        [(0, [-1])],
    ]
    for wanted in several:
        twin.same_at_all(with_replicas(wanted))
    twin.same_at_all(lambda version: request(version, (0, [1]), name="missing"))
    twin.same_at_all(lambda version: request(version, (0, [1, 2]), may=False))
    twin.same_at_all(AlterPartitionReassignmentsRequest(topics=[]))
    twin.same_at_all(
        AlterPartitionReassignmentsRequest(
            timeout_ms=0,
            topics=[ReassignableTopic(name=topic, partitions=[ReassignablePartition(partition_index=0, replicas=[1])])],
        )
    )
    twin.same(ListPartitionReassignmentsRequest(topics=None), 0)
    some = [ListPartitionReassignmentsTopics(name=name, partition_indexes=[0, 9]) for name in (topic, "missing")]
    twin.same(ListPartitionReassignmentsRequest(topics=some), 0)
    twin.same(ListPartitionReassignmentsRequest(topics=[], timeout_ms=0), 0)


def test_a_broker_that_is_not_there_is_not_unregistered(twin: Twins) -> None:
    twin.same(UnregisterBrokerRequest(broker_id=99), 0)
    twin.same(UnregisterBrokerRequest(broker_id=-1), 0)


def test_the_cluster_is_described(twin: Twins) -> None:
    for operations in (False, True):
        twin.same_at_all(DescribeClusterRequest(include_cluster_authorized_operations=operations))
    for version, kind in ((1, 2), (1, 3), (2, 2), (2, 0)):
        twin.same(DescribeClusterRequest(endpoint_type=kind), version)
    twin.same(DescribeClusterRequest(include_fenced_brokers=True), 2)


def test_the_same_features_are_told(twin: Twins) -> None:
    request = ApiVersionsRequest(client_software_name="raw", client_software_version="1")
    told = [
        [
            sorted((one.name, one.min_version, one.max_version) for one in answer.supported_features),
            sorted((one.name, one.max_version_level, one.min_version_level) for one in answer.finalized_features),
        ]
        for side in (twin.ours, twin.kafka)
        for version in (3, 4)
        for answer in [side.client.ask(request, version, ApiVersionsResponse)]
    ]
    assert told[:2] == told[2:]


def test_the_quorum_is_described(twin: Twins) -> None:
    def request(*logs: tuple[str, list[int]]) -> DescribeQuorumRequest:
        return DescribeQuorumRequest(
            topics=[
                TopicData(topic_name=name, partitions=[PartitionData(partition_index=number) for number in numbers])
                for name, numbers in logs
            ]
        )

    twin.same_at_all(request(("__cluster_metadata", [0])))
    twin.same_at_all(request())
    twin.same_at_all(request(("__cluster_metadata", [0, 1])))
    twin.same_at_all(request(("__cluster_metadata", [])))
    twin.same_at_all(request(("other", [0]), ("__cluster_metadata", [0])))


def test_features_are_updated_or_not(twin: Twins) -> None:
    def request(version: int, *updates: FeatureUpdateKey, validate_only: bool = False) -> UpdateFeaturesRequest:
        return UpdateFeaturesRequest(feature_updates=list(updates), validate_only=validate_only and version > 0)

    def updating(update: FeatureUpdateKey, validate_only: bool) -> Callable[[int], UpdateFeaturesRequest]:
        return lambda version: request(version, update, validate_only=validate_only)

    for update in (
        FeatureUpdateKey(feature="metadata.version", max_version_level=7),
        FeatureUpdateKey(feature="metadata.version", max_version_level=99),
        FeatureUpdateKey(feature="nonsense", max_version_level=1),
        FeatureUpdateKey(feature="group.version", max_version_level=1),
        FeatureUpdateKey(feature="transaction.version", max_version_level=2),
        FeatureUpdateKey(feature="kraft.version", max_version_level=1),
    ):
        twin.same_at_all(updating(update, True))
        twin.same_at_all(updating(update, False))
    for version in (1, 2):
        for kind, level in ((2, 0), (3, 0), (1, 0), (9, 1), (2, 5)):
            update = FeatureUpdateKey(feature="share.version", max_version_level=level, upgrade_type=kind)
            twin.same(request(version, update, validate_only=True), version)
    twin.same(request(0, FeatureUpdateKey(feature="metadata.version", max_version_level=1, allow_downgrade=True)), 0)
    twin.same_at_all(UpdateFeaturesRequest())


# Quotas


def quota(*operations: tuple[str, float | None], **entity: str | None) -> EntryData:
    return EntryData(
        entity=[EntityData(entity_type=kind.replace("_", "-"), entity_name=name) for kind, name in entity.items()],
        ops=[OpData(key=key, value=value or 0.0, remove=value is None) for key, value in operations],
    )


def test_quotas_are_altered_and_described(twin: Twins) -> None:
    for version in (0, 1):
        user = fresh("user")
        entries = [
            quota(("producer_byte_rate", 1000.0), ("consumer_byte_rate", 2000.0), user=user),
            quota(("request_percentage", 12.5), user=user, client_id="c"),
            quota(("controller_mutation_rate", 3.0), client_id=None),
            quota(("connection_creation_rate", 5.0), ip="127.0.0.1"),
            quota(("connection_creation_rate", 5.0), ip="localhost"),
            quota(("connection_creation_rate", 5.0), ip="no.such.host.invalid"),
            quota(("producer_byte_rate", 0.0), user="zero"),
            quota(("producer_byte_rate", 1.5), user="broken"),
            quota(("nonsense", 1.0), user="odd"),
            quota(("producer_byte_rate", 1.0), ip="127.0.0.2"),
            quota(("producer_byte_rate", 1.0), nothing="x"),
            quota(("producer_byte_rate", 1.0), user=""),
            quota(("producer_byte_rate", 1.0)),
            quota(("producer_byte_rate", 1.0), ("producer_byte_rate", 2.0), user="twice"),
        ]
        twin.same(AlterClientQuotasRequest(entries=entries, validate_only=True), version)
        twin.same(AlterClientQuotasRequest(entries=entries), version)
        for components, strict in (
            ([], False),
            ([], True),
            ([ComponentData(entity_type="user", match_type=0, match=user)], False),
            ([ComponentData(entity_type="user", match_type=0, match=user)], True),
            ([ComponentData(entity_type="user", match_type=2, match=None)], True),
            ([ComponentData(entity_type="client-id", match_type=1, match=None)], False),
            ([ComponentData(entity_type="ip", match_type=2, match=None)], False),
            ([ComponentData(entity_type="nothing", match_type=2, match=None)], False),
            ([ComponentData(entity_type="", match_type=2, match=None)], False),
            ([ComponentData(entity_type="user", match_type=7, match=None)], False),
            ([ComponentData(entity_type="user", match_type=0, match=None)], False),
        ):
            twin.same(DescribeClientQuotasRequest(components=components, strict=strict), version, settles=True)
        removal = quota(("producer_byte_rate", None), ("consumer_byte_rate", None), user=user)
        twin.same(AlterClientQuotasRequest(entries=[removal]), version)
        component = ComponentData(entity_type="user", match_type=0, match=user)
        twin.same(DescribeClientQuotasRequest(components=[component], strict=True), version, settles=True)
