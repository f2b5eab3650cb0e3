"""A directory goes from a real Kafka to Barnabas and back, with one server.properties, and nothing in it is lost."""

from __future__ import annotations

import signal
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.messages.alter_client_quotas import (
    AlterClientQuotasRequest,
    AlterClientQuotasResponse,
    EntityData,
    EntryData,
    OpData,
)
from barnabas.protocol.messages.alter_user_scram_credentials import (
    AlterUserScramCredentialsRequest,
    AlterUserScramCredentialsResponse,
    ScramCredentialUpsertion,
)
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.describe_client_quotas import DescribeClientQuotasRequest, DescribeClientQuotasResponse
from barnabas.protocol.messages.describe_cluster import DescribeClusterRequest, DescribeClusterResponse
from barnabas.protocol.messages.describe_configs import (
    DescribeConfigsRequest,
    DescribeConfigsResource,
    DescribeConfigsResponse,
)
from barnabas.protocol.messages.describe_quorum import (
    DescribeQuorumRequest,
    DescribeQuorumResponse,
    PartitionData,
    TopicData,
)
from barnabas.protocol.messages.describe_user_scram_credentials import (
    DescribeUserScramCredentialsRequest,
    DescribeUserScramCredentialsResponse,
    UserName,
)
from barnabas.protocol.messages.fetch import FetchPartition, FetchRequest, FetchResponse, FetchTopic
from barnabas.protocol.messages.find_coordinator import FindCoordinatorRequest, FindCoordinatorResponse
from barnabas.protocol.messages.list_offsets import (
    ListOffsetsPartition,
    ListOffsetsPartitionResponse,
    ListOffsetsRequest,
    ListOffsetsResponse,
    ListOffsetsTopic,
)
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.messages.offset_commit import (
    OffsetCommitRequest,
    OffsetCommitRequestPartition,
    OffsetCommitRequestTopic,
    OffsetCommitResponse,
)
from barnabas.protocol.messages.offset_fetch import (
    OffsetFetchRequest,
    OffsetFetchRequestGroup,
    OffsetFetchRequestTopics,
    OffsetFetchResponse,
)
from barnabas.protocol.messages.produce import PartitionProduceData, ProduceRequest, ProduceResponse, TopicProduceData
from barnabas.protocol.record import Record, read_records
from tests.cli.starting import StartedBroker
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

GROUP = "readers"
TOPIC_RESOURCE = 2
NOT_YET = (3, 5, 6)
"""Errors of a Kafka whose controller has decided, and whose broker has not followed yet."""


def create(client: RawClient, name: str, partitions: int, configs: Mapping[str, str]) -> None:
    topic = CreatableTopic(
        name=name,
        num_partitions=partitions,
        replication_factor=1,
        configs=[CreatableTopicConfig(name=key, value=value) for key, value in configs.items()],
    )
    answer = client.ask(CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7, CreateTopicsResponse)
    assert [one.error_code for one in answer.topics] == [0], answer


def produce(client: RawClient, topic: str, partition: int, *values: str) -> None:
    records = build_batch([Record(value.encode(), value.encode(), timestamp=1_700_000_000_000) for value in values])
    data = TopicProduceData(name=topic, partition_data=[PartitionProduceData(index=partition, records=records)])
    while True:
        answer = client.ask(ProduceRequest(acks=-1, timeout_ms=10_000, topic_data=[data]), 12, ProduceResponse)
        code = answer.responses[0].partition_responses[0].error_code
        if code not in NOT_YET:
            assert code == 0
            return


def find_coordinator(client: RawClient) -> int:
    answer = client.ask(FindCoordinatorRequest(coordinator_keys=[GROUP]), 4, FindCoordinatorResponse)
    return answer.coordinators[0].error_code


def commit(client: RawClient, topic: str, offset: int) -> None:
    while find_coordinator(client):
        pass
    partition = OffsetCommitRequestPartition(partition_index=0, committed_offset=offset, committed_metadata="mine")
    topics = [OffsetCommitRequestTopic(name=topic, partitions=[partition])]
    request = OffsetCommitRequest(group_id=GROUP, generation_id_or_member_epoch=-1, topics=topics)
    while True:
        answer = client.ask(request, 8, OffsetCommitResponse)
        code = answer.topics[0].partitions[0].error_code
        if code not in (14, 15, 16):  # the group's partition is being loaded
            assert code == 0
            return


def committed(client: RawClient, topic: str) -> int:
    topics = [OffsetFetchRequestTopics(name=topic, partition_indexes=[0])]
    request = OffsetFetchRequest(groups=[OffsetFetchRequestGroup(group_id=GROUP, topics=topics)])
    while (answer := client.ask(request, 8, OffsetFetchResponse).groups[0]).error_code in (14, 15, 16):
        pass
    assert answer.error_code == 0
    assert answer.topics[0].partitions[0].metadata == "mine"
    return answer.topics[0].partitions[0].committed_offset


def set_what_only_kafka_uses(client: RawClient) -> None:
    entry = EntryData(
        entity=[EntityData(entity_type="user", entity_name="ann")], ops=[OpData(key="producer_byte_rate", value=1e6)]
    )
    quotas = client.ask(AlterClientQuotasRequest(entries=[entry]), 1, AlterClientQuotasResponse)
    assert [one.error_code for one in quotas.entries] == [0]
    for name, mechanism, iterations, hashed in (
        ("ann", 1, 4096, b"p" * 32),
        ("ann", 2, 8192, b"p" * 64),
        ("bob", 1, 5000, b"b" * 32),
    ):
        credential = ScramCredentialUpsertion(
            name=name, mechanism=mechanism, iterations=iterations, salt=b"salt", salted_password=hashed
        )
        request = AlterUserScramCredentialsRequest(upsertions=[credential])
        scram = client.ask(request, 0, AlterUserScramCredentialsResponse)
        assert [one.error_code for one in scram.results] == [0]
    while "bob" not in credentials_of(client, None):
        pass  # a broker of Kafka's learns of them later


def what_only_kafka_uses(client: RawClient) -> Any:
    quotas = client.ask(DescribeClientQuotasRequest(), 1, DescribeClientQuotasResponse)
    asked: list[list[str] | None] = [None, [], ["bob"], ["bob", "nobody", "ann"], ["ann", "bob", "ann"]]
    return quotas.entries, [credentials_of(client, users) for users in asked]


def credentials_of(client: RawClient, users: list[str] | None) -> dict[str, tuple[int, bool, set[tuple[int, int]]]]:
    """The error, whether it has words, and the mechanisms, in the order of a hash table."""
    names = None if users is None else [UserName(name=name) for name in users]
    request = DescribeUserScramCredentialsRequest(users=names)
    answer = client.ask(request, 0, DescribeUserScramCredentialsResponse)
    assert answer.error_code == 0
    found = {
        one.user: (
            one.error_code,
            bool(one.error_message),
            {(info.mechanism, info.iterations) for info in one.credential_infos},
        )
        for one in answer.results
    }
    assert len(found) == len(answer.results)
    return found


def topics_of(client: RawClient, at_least: int = 0) -> dict[str, tuple[str, int]]:
    """With their ids and partitions, once so many are known: a broker of Kafka's learns of them later."""
    while True:
        answer = client.ask(MetadataRequest(topics=None), 12, MetadataResponse)
        if len(answer.topics) >= at_least:
            return {topic.name or "": (str(topic.topic_id), len(topic.partitions)) for topic in answer.topics}


def ask_offset(client: RawClient, asked: ListOffsetsTopic) -> ListOffsetsPartitionResponse:
    return client.ask(ListOffsetsRequest(topics=[asked]), 7, ListOffsetsResponse).topics[0].partitions[0]


def end_offsets(client: RawClient, *partitions: tuple[str, int]) -> dict[tuple[str, int], int]:
    found = {}
    for topic, number in partitions:
        asked = ListOffsetsTopic(name=topic, partitions=[ListOffsetsPartition(partition_index=number, timestamp=-1)])
        while (answer := ask_offset(client, asked)).error_code in NOT_YET:
            pass
        assert answer.error_code == 0
        found[topic, number] = answer.offset
    return found


def values_in(client: RawClient, topic: str, topic_id_of: Mapping[str, tuple[str, int]]) -> list[str]:
    partition = FetchPartition(partition=0, fetch_offset=0, partition_max_bytes=1 << 20)
    request = FetchRequest(max_wait_ms=0, topics=[FetchTopic(topic=topic, partitions=[partition])], session_epoch=-1)
    (answer,) = client.ask(request, 12, FetchResponse).responses[0].partitions
    assert answer.error_code == 0
    batches = iterate_batches(answer.records or b"")  # type: ignore[arg-type] # it came over a socket
    return [(record.value or b"").decode() for batch in batches for record in read_records(batch)]


def topic_configs(client: RawClient, topic: str) -> dict[str, str | None]:
    resource = DescribeConfigsResource(resource_type=TOPIC_RESOURCE, resource_name=topic, configuration_keys=None)
    answer = client.ask(DescribeConfigsRequest(resources=[resource]), 4, DescribeConfigsResponse)
    return {one.name: one.value for one in answer.results[0].configs if one.config_source == 1}


def quorum_of(client: RawClient, version: int, topic: str = "__cluster_metadata") -> DescribeQuorumResponse:
    """Without what differs from moment to moment, and from epoch to epoch."""
    request = DescribeQuorumRequest(topics=[TopicData(topic_name=topic, partitions=[PartitionData(partition_index=0)])])
    answer = client.ask(request, version, DescribeQuorumResponse)
    for partition in answer.topics[0].partitions:
        for voter in partition.current_voters:
            assert voter.log_end_offset >= partition.high_watermark > 0
            assert version == 0 or voter.last_fetch_timestamp == voter.last_caught_up_timestamp > 1_700_000_000_000
            voter.log_end_offset = voter.last_fetch_timestamp = voter.last_caught_up_timestamp = 0
        partition.high_watermark = partition.leader_epoch = 0
        # The words are our own.
        assert bool(partition.error_message) == (partition.error_code != 0 and version >= 2)
        partition.error_message = ""
    return answer


def quorum_everywhere(kafka: KafkaBroker) -> list[DescribeQuorumResponse]:
    answers = []
    for port in (kafka.port, kafka.controller_port):
        with RawClient(kafka.host, port) as client:
            answers += [quorum_of(client, version) for version in range(3)]
            answers.append(quorum_of(client, 2, "orders"))
    return answers


def barnabas(directory: Path) -> StartedBroker:
    return StartedBroker(directory, "--config", str(directory / "server.properties"), listen=None)


def connect(kafka: KafkaBroker) -> RawClient:
    return RawClient(kafka.host, kafka.port)


def test_from_kafka_to_barnabas_and_back(kafka_classpath: str, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    with KafkaBroker(kafka_classpath, tmp_path) as kafka:
        with connect(kafka) as client:
            create(client, "orders", 3, {"retention.ms": "-1", "compression.type": "producer"})
            create(client, "compacted", 1, {"cleanup.policy": "compact", "retention.ms": "-1"})
            for number in range(20):
                produce(client, "orders", number % 3, f"kafka {number}")
            produce(client, "compacted", 0, "a", "b", "c")
            commit(client, "orders", 5)
            set_what_only_kafka_uses(client)
            before, kept = topics_of(client), what_only_kafka_uses(client)
            assert kept[1][0] == {"ann": (0, False, {(1, 4096), (2, 8192)}), "bob": (0, False, {(1, 5000)})}
            partitions = [("orders", 0), ("orders", 1), ("orders", 2), ("compacted", 0), ("__consumer_offsets", 0)]
            ends = end_offsets(client, *partitions)
            values = values_in(client, "orders", before)
        quorum = quorum_everywhere(kafka)
        kafka.stop()

        with barnabas(tmp_path) as broker:
            broker.wait_ready()
            assert broker.banner["cluster_id"] == kafka.cluster_id
            assert broker.banner["listeners"] == [
                f"PLAINTEXT 127.0.0.1:{kafka.port}",
                f"CONTROLLER 127.0.0.1:{kafka.controller_port}",
            ]
            with connect(kafka) as client:
                assert topics_of(client) == before
                assert end_offsets(client, *partitions) == ends
                assert values_in(client, "orders", before) == values
                assert committed(client, "orders") == 5
                assert what_only_kafka_uses(client) == kept
                commit(client, "orders", 7)
                produce(client, "orders", 0, "barnabas 1", "barnabas 2")
                create(client, "added", 2, {"retention.bytes": "1000000"})
                produce(client, "added", 1, "new")
                after, ends = topics_of(client), end_offsets(client, *partitions, ("added", 1))
            assert quorum_everywhere(kafka) == quorum
            with RawClient(kafka.host, kafka.controller_port) as controller:
                described = controller.ask(DescribeClusterRequest(endpoint_type=2), 1, DescribeClusterResponse)
                assert [(one.broker_id, one.port) for one in described.brokers] == [(1, kafka.controller_port)]
            broker.signal()
            assert broker.wait() == 0, broker.errors

        kafka.start()
        with connect(kafka) as client:
            assert topics_of(client) == after
            assert after.keys() == before.keys() | {"added"}
            assert end_offsets(client, *ends) == ends
            assert values_in(client, "orders", after) == [*values, "barnabas 1", "barnabas 2"]
            assert what_only_kafka_uses(client) == kept
            assert topic_configs(client, "orders") == {"retention.ms": "-1", "compression.type": "producer"}
            assert topic_configs(client, "compacted") == {"cleanup.policy": "compact", "retention.ms": "-1"}
            assert topic_configs(client, "added") == {"retention.bytes": "1000000"}
        bootstrap = ("--bootstrap-server", kafka.bootstrap)
        groups = kafka_tools.run(
            "org.apache.kafka.tools.consumer.group.ConsumerGroupCommand",
            *bootstrap,
            *("--describe", "--group", GROUP),
        )
        row = next(line.split() for line in groups.splitlines() if line.startswith(GROUP))
        assert row[:5] == [GROUP, "orders", "0", "7", str(ends["orders", 0])]


def test_from_barnabas_to_kafka_and_back_with_a_static_quorum_and_snapshots(
    kafka_classpath: str, tmp_path: Path
) -> None:
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    kafka.configure(
        {
            "controller.quorum.voters": f"1@127.0.0.1:{kafka.controller_port}",
            "metadata.log.max.record.bytes.between.snapshots": "2000",
        }
    )
    kafka.write_properties()
    metadata = kafka.data_directory / "__cluster_metadata-0"
    with barnabas(tmp_path) as broker:
        broker.wait_ready()
        assert not (metadata / f"{0:020d}-{0:010d}.checkpoint").exists()
        with connect(kafka) as client:
            for number in range(20):
                create(client, f"topic-{number}", 2, {"max.message.bytes": str(60_000 + number)})
            produce(client, "topic-7", 1, "seven")
            before = topics_of(client)
        broker.signal()
        assert broker.wait() == 0, broker.errors
    snapshots = {path.name for path in metadata.glob("*.checkpoint")}
    assert snapshots
    with kafka:
        with connect(kafka) as client:
            assert topics_of(client) == before
            assert end_offsets(client, ("topic-7", 1)) == {("topic-7", 1): 1}
            assert topic_configs(client, "topic-19") == {"max.message.bytes": "60019"}
            for number in range(20, 40):
                create(client, f"topic-{number}", 2, {"max.message.bytes": str(60_000 + number)})
            before = topics_of(client, at_least=40)
        kafka.stop()
        assert {path.name for path in metadata.glob("*.checkpoint")} > snapshots
        with barnabas(tmp_path) as broker:
            broker.wait_ready()
            with connect(kafka) as client:
                assert topics_of(client) == before
                assert end_offsets(client, ("topic-7", 1)) == {("topic-7", 1): 1}


def test_kafka_starts_on_what_a_killed_barnabas_began_without_any_configuration(
    kafka_classpath: str, kafka_tools: ToolRunner, tmp_path: Path
) -> None:
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    with StartedBroker(tmp_path, "--data", str(kafka.data_directory)) as broker:
        broker.wait_ready()
        with broker.client() as client:
            create(client, "orders", 2, {})
            produce(client, "orders", 1, "one", "two")
            before = topics_of(client)
        broker.signal(signal.SIGKILL)
        broker.wait()
    epochs = kafka.data_directory / "orders-1" / "leader-epoch-checkpoint"
    assert not epochs.exists()  # nothing has been synced: Kafka has to learn them from the records
    with kafka, connect(kafka) as client:
        assert topics_of(client, at_least=1) == before
        assert end_offsets(client, ("orders", 1)) == {("orders", 1): 2}
        assert epochs.read_text().splitlines()[2] == "0 0"
        status = kafka_tools.run(
            "org.apache.kafka.tools.MetadataQuorumCommand",
            *("--bootstrap-server", kafka.bootstrap, "describe", "--status"),
        )
        assert f'"endpoints": ["CONTROLLER://127.0.0.1:{kafka.controller_port}"]' in status


def test_kafka_finds_nothing_to_mend_in_topics_that_nobody_has_written_to(kafka_classpath: str, tmp_path: Path) -> None:
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    names = [f"empty-{number}" for number in range(3)]
    with StartedBroker(tmp_path, "--data", str(kafka.data_directory)) as broker:
        broker.wait_ready()
        with broker.client() as client:
            create(client, "empty", 3, {})
            create(client, "written", 1, {})
            produce(client, "written", 0, "one")
            before = topics_of(client)
        broker.signal()
        assert broker.wait() == 0, broker.errors
    for name in names:
        files = {path.name for path in (kafka.data_directory / name).iterdir()}
        assert files == {f"{0:020d}.log", f"{0:020d}.index", "partition.metadata"}
    with kafka:
        with connect(kafka) as client:
            assert topics_of(client, at_least=2) == before
            ends = end_offsets(client, ("empty", 0), ("empty", 1), ("empty", 2), ("written", 0))
            assert list(ends.values()) == [0, 0, 0, 1]
            produce(client, "empty", 0, "kafka")
            ends["empty", 0] = 1
        kafka.stop()
        said = kafka.log_file.read_text()
        assert " ERROR " not in said
        assert not [name for name in names if name in said]
    with StartedBroker(tmp_path, "--data", str(kafka.data_directory)) as broker:
        broker.wait_ready()
        with broker.client() as client:
            assert end_offsets(client, *ends) == ends
            assert values_in(client, "empty", before) == ["kafka"]
