"""Kafka's own metadata directory read and written back, and Kafka 4.3.1 started on what we wrote."""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from barnabas.coordination.cluster.bootstrap import (
    BOOTSTRAP_CHECKPOINT,
    bootstrap_records,
    decode_bootstrap_checkpoint,
    encode_bootstrap_checkpoint,
    encode_first_snapshot,
    standalone_voters,
)
from barnabas.coordination.cluster.image import ClusterImage
from barnabas.coordination.cluster.log_batch import build_metadata_batch, read_metadata_batch
from barnabas.coordination.cluster.metadata_version import MetadataVersion
from barnabas.coordination.cluster.quorum_state import QUORUM_STATE, decode_quorum_state, encode_quorum_state
from barnabas.coordination.cluster.records import MetadataRecord
from barnabas.coordination.cluster.snapshot_file import BOOTSTRAP_SNAPSHOT, SnapshotId, decode_snapshot, encode_snapshot
from barnabas.coordination.cluster.snapshot_records import snapshot_records
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import ErrorCode
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
from barnabas.protocol.messages.create_acls import AclCreation, CreateAclsRequest, CreateAclsResponse
from barnabas.protocol.messages.create_topics import (
    CreatableTopic,
    CreatableTopicConfig,
    CreateTopicsRequest,
    CreateTopicsResponse,
)
from barnabas.protocol.messages.delete_topics import DeleteTopicsRequest, DeleteTopicsResponse
from barnabas.protocol.messages.incremental_alter_configs import (
    AlterableConfig,
    AlterConfigsResource,
    IncrementalAlterConfigsRequest,
    IncrementalAlterConfigsResponse,
)
from barnabas.protocol.messages.init_producer_id import InitProducerIdRequest, InitProducerIdResponse
from barnabas.protocol.messages.metadata import MetadataRequest, MetadataResponse
from barnabas.protocol.records.quorum_state import QuorumStateData, Voter
from barnabas.protocol.schema import Uuid
from barnabas.storage.meta_properties import META_PROPERTIES
from tests.coordination.cluster import samples
from tests.coordination.cluster.described import record_line
from tests.kafka.broker import KafkaBroker
from tests.kafka.client import RawClient
from tests.kafka.tool_runner import ToolRunner

pytestmark = [pytest.mark.java, pytest.mark.slow]

METADATA = "__cluster_metadata-0"
LOG = "00000000000000000000.log"
CONFIG = {
    "metadata.log.max.record.bytes.between.snapshots": "1",
    "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
    "super.users": "User:ANONYMOUS",
}


@pytest.fixture(scope="module")
def stopped(kafka_classpath: str, tmp_path_factory: pytest.TempPathFactory) -> KafkaBroker:
    """A Kafka that has seen some life, and ended well; its directory is left alone."""
    kafka = KafkaBroker(kafka_classpath, tmp_path_factory.mktemp("kafka"), config=CONFIG)
    with kafka, RawClient(kafka.host, kafka.port) as client:
        live(client)
    return kafka


def live(client: RawClient) -> None:
    topics = [
        CreatableTopic("castle", 3, 1, configs=[CreatableTopicConfig("retention.ms", "12345")]),
        CreatableTopic("village", 2, 1),
        CreatableTopic("inn", 1, 1, configs=[CreatableTopicConfig("cleanup.policy", "compact")]),
    ]
    assert not any(t.error_code for t in client.ask(CreateTopicsRequest(topics=topics), 7, CreateTopicsResponse).topics)
    client.ask(DeleteTopicsRequest(topic_names=["inn"], timeout_ms=30_000), 5, DeleteTopicsResponse)
    resources = [
        AlterConfigsResource(4, "", [AlterableConfig("log.retention.ms", 0, "777777")]),
        AlterConfigsResource(32, "group", [AlterableConfig("consumer.session.timeout.ms", 0, "50000")]),
        AlterConfigsResource(16, "metrics", [AlterableConfig("interval.ms", 0, "1000")]),
    ]
    altered = client.ask(IncrementalAlterConfigsRequest(resources=resources), 1, IncrementalAlterConfigsResponse)
    assert not any(response.error_code for response in altered.responses)
    quotas = [EntryData([EntityData("user", "k"), EntityData("client-id", None)], [OpData("producer_byte_rate", 5.0)])]
    client.ask(AlterClientQuotasRequest(entries=quotas), 1, AlterClientQuotasResponse)
    for _ in range(10_000):  # until the broker has got its first block of ids
        given = client.ask(InitProducerIdRequest(transactional_id=None), 5, InitProducerIdResponse)
        if given.error_code != ErrorCode.COORDINATOR_LOAD_IN_PROGRESS:
            break
    assert given.error_code == ErrorCode.NONE
    acl = AclCreation(2, "castle", 3, "User:k", "*", 3, 3)
    assert client.ask(CreateAclsRequest(creations=[acl]), 3, CreateAclsResponse).results[0].error_code == 0
    credential = ScramCredentialUpsertion("k", 1, 4096, b"salt", b"p" * 32)
    client.ask(AlterUserScramCredentialsRequest(upsertions=[credential]), 0, AlterUserScramCredentialsResponse)


def directory_of(kafka: KafkaBroker) -> Path:
    return kafka.data_directory / METADATA


def snapshots(directory: Path) -> Iterator[SnapshotId]:
    found = (SnapshotId.parse(file.name) for file in directory.iterdir())
    return iter(sorted(each for each in found if each))


def replayed(directory: Path, end_offset: int) -> ClusterImage:
    """What the log says below this offset."""
    image = ClusterImage()
    for batch in iterate_batches((directory / LOG).read_bytes()):
        if batch.base_offset < end_offset:
            records = [*read_metadata_batch(batch)][: end_offset - batch.base_offset]
            image.apply_batch(
                records, batch.base_offset, epoch=batch.partition_leader_epoch, timestamp_ms=batch.max_timestamp
            )
            image.next_offset = batch.next_offset
    return image


def loaded(records: tuple[MetadataRecord, ...] | list[MetadataRecord], offset: int = 0) -> ClusterImage:
    image = ClusterImage()
    image.apply_batch(records, offset)
    return image


def test_the_log_and_every_snapshot_tell_the_same(stopped: KafkaBroker) -> None:
    directory = directory_of(stopped)
    compared = 0
    for snapshot_id in snapshots(directory):
        if snapshot_id == BOOTSTRAP_SNAPSHOT:
            continue
        snapshot = decode_snapshot((directory / snapshot_id.file_name).read_bytes())
        image = replayed(directory, snapshot_id.end_offset)
        assert loaded(snapshot.records) == image, snapshot_id
        assert sorted(map(record_line, by_name(snapshot_records(image)))) == sorted(
            map(record_line, by_name(snapshot.records))
        )
        kinds = [type(record.message) for record in snapshot.records]
        assert list(dict.fromkeys(kinds)) == list(dict.fromkeys(type(each.message) for each in snapshot_records(image)))
        assert image.epoch == snapshot_id.epoch
        compared += 1
    assert compared > 10


def by_name(records: object) -> Iterator[MetadataRecord]:
    """Kafka's hash tables put features of a node, and parts of an entity, in no order to speak of."""
    for record in records:  # type: ignore[attr-defined]
        for name in ("features", "entity"):
            if hasattr(record.message, name):
                getattr(record.message, name).sort(key=repr)
        yield record


def test_kafkas_batches_are_written_again_as_they_were(stopped: KafkaBroker) -> None:
    written = 0
    for batch in iterate_batches((directory_of(stopped) / LOG).read_bytes()):
        records = list(read_metadata_batch(batch))
        if records:
            again = build_metadata_batch(
                records,
                base_offset=batch.base_offset,
                leader_epoch=batch.partition_leader_epoch,
                now_ms=batch.max_timestamp,
            )
            assert again == bytes(batch.buffer[batch.position : batch.end])
            written += len(records)
    assert written > 25


def test_kafkas_snapshot_is_written_again_as_it_was(stopped: KafkaBroker) -> None:
    """But for the time of its last batch, which Kafka takes from the clock again."""
    directory = directory_of(stopped)
    for snapshot_id in snapshots(directory):
        data = (directory / snapshot_id.file_name).read_bytes()
        snapshot = decode_snapshot(data)
        batches = list(iterate_batches(data))
        again = encode_snapshot(
            snapshot.records,
            epoch=snapshot_id.epoch,
            last_log_timestamp_ms=snapshot.last_log_timestamp_ms,
            now_ms=batches[0].max_timestamp,
            kraft_version=snapshot.kraft_version,
            voters=snapshot.voters,
        )
        assert len(again) == len(data)
        for ours, theirs in zip(iterate_batches(again), batches, strict=True):
            assert bytes(ours.records) == bytes(theirs.records)
            assert (ours.base_offset, ours.attributes, ours.partition_leader_epoch, ours.record_count) == (
                theirs.base_offset,
                theirs.attributes,
                theirs.partition_leader_epoch,
                theirs.record_count,
            )


def test_quorum_state_is_written_again_as_it_was(stopped: KafkaBroker) -> None:
    data = (directory_of(stopped) / QUORUM_STATE).read_bytes()
    state, version = decode_quorum_state(data)
    assert version == 1
    assert encode_quorum_state(state, version) == data


def test_kafka_dumps_our_snapshot(stopped: KafkaBroker, kafka_tools: ToolRunner, tmp_path: Path) -> None:
    """Of every kind of record that a log can hold."""
    image = ClusterImage()
    image.apply_batch([r for r in samples.everything() if getattr(r.message, "resource_type", 0) != 99], 0)
    file = tmp_path / SnapshotId(60, 4).file_name
    records = list(snapshot_records(image))
    voters = standalone_voters(1, Uuid(range(16)), "CONTROLLER", "localhost", 9093)
    file.write_bytes(
        encode_snapshot(records, epoch=4, last_log_timestamp_ms=5, now_ms=6, kraft_version=1, voters=voters)
    )
    dump = "org.apache.kafka.tools.DumpLogSegments"
    code, out, err = kafka_tools.attempt(dump, "--cluster-metadata-decoder", "--files", str(file))
    said = out + err
    assert code == 0, said
    assert len([line for line in said.splitlines() if 'payload: {"type":"' in line]) == len(records)
    for control in ("SnapshotHeader", "KRaftVersion", "KRaftVoters", "SnapshotFooter"):
        assert control in said
    assert "rror" not in said


def test_kafka_starts_from_our_snapshot(stopped: KafkaBroker, kafka_classpath: str, tmp_path: Path) -> None:
    """Its own log and snapshots are gone; all that it knows of topics, quotas and itself stands in our file."""
    directory = directory_of(stopped)
    *_, newest = snapshots(directory)
    theirs = decode_snapshot((directory / newest.file_name).read_bytes())
    image = replayed(directory, newest.end_offset)
    subprocess.run(["cp", "-r", str(stopped.data_directory.parent), str(tmp_path / "copy")], check=True)
    copy = KafkaBroker(kafka_classpath, tmp_path / "copy", config=CONFIG)
    copy.controller_port = stopped.controller_port  # which the voters' record names
    metadata = directory_of(copy)
    for file in metadata.iterdir():
        if file.name not in ("partition.metadata", QUORUM_STATE):
            file.unlink()
    ours = encode_snapshot(
        snapshot_records(image),
        epoch=newest.epoch,
        last_log_timestamp_ms=image.timestamp_ms,
        now_ms=image.timestamp_ms,
        kraft_version=theirs.kraft_version,
        voters=theirs.voters,
    )
    (metadata / newest.file_name).write_bytes(ours)
    with copy, RawClient(copy.host, copy.port) as client:
        answer = client.ask(MetadataRequest(topics=None), 12, MetadataResponse)
        found = {topic.name: (topic.topic_id, len(topic.partitions)) for topic in answer.topics}
        assert found == {topic.name: (topic.id, len(topic.partitions)) for topic in image.topics}
        assert all(part.leader_id == 1 for topic in answer.topics for part in topic.partitions)
    # What Kafka makes of it afterwards is ours and what happened since.
    *_, last = snapshots(metadata)
    again = loaded(decode_snapshot((metadata / last.file_name).read_bytes()).records)
    assert last.end_offset > newest.end_offset
    assert (again.configs, again.quotas, again.features) == (image.configs, image.quotas, image.features)
    assert (again.security, again.controllers.keys()) == (image.security, image.controllers.keys())
    assert again.next_producer_id >= image.next_producer_id > 0


@pytest.mark.parametrize("release", ["4.3", "4.1-IV1", "3.9", "3.5", "3.3-IV3"])
def test_bootstrap_records_are_those_that_kafka_formats_with(
    kafka_classpath: str, kafka_tools: ToolRunner, tmp_path: Path, release: str
) -> None:
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    kafka.configure({"controller.quorum.voters": f"1@127.0.0.1:{kafka.controller_port}"})
    kafka._write_properties()
    properties = kafka._properties_file
    text = "".join(line for line in properties.read_text().splitlines(True) if "bootstrap.servers" not in line)
    properties.write_text(text)
    formatting = ["format", "--cluster-id", kafka.cluster_id, "--config", str(properties)]
    kafka_tools.run("kafka.tools.StorageTool", *formatting, "--release-version", release)
    data = (kafka.data_directory / BOOTSTRAP_CHECKPOINT).read_bytes()
    version = next(each for each in reversed(MetadataVersion) if each.stable and each.text.startswith(release))
    assert list(decode_bootstrap_checkpoint(data)) == bootstrap_records(version)


def test_the_default_format(stopped: KafkaBroker) -> None:
    """Standalone, at the latest metadata.version: bootstrap.checkpoint, and who votes."""
    data = (stopped.data_directory / BOOTSTRAP_CHECKPOINT).read_bytes()
    assert list(decode_bootstrap_checkpoint(data)) == bootstrap_records()
    first = decode_snapshot((directory_of(stopped) / BOOTSTRAP_SNAPSHOT.file_name).read_bytes())
    meta = (stopped.data_directory / META_PROPERTIES).read_text()
    directory_id = next(line.partition("=")[2] for line in meta.splitlines() if line.startswith("directory.id"))
    voters = standalone_voters(1, Uuid.parse(directory_id), "CONTROLLER", "127.0.0.1", stopped.controller_port)
    assert (first.kraft_version, first.voters, first.records) == (1, voters, ())


def test_kafka_starts_on_a_directory_that_we_formatted(kafka_classpath: str, tmp_path: Path) -> None:
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    directory_id = Uuid(range(60, 76))
    directory = directory_of(kafka)
    directory.mkdir(parents=True)
    (kafka.data_directory / META_PROPERTIES).write_text(
        f"version=1\ncluster.id={kafka.cluster_id}\nnode.id=1\ndirectory.id={directory_id}\n"
    )
    bootstrap = encode_bootstrap_checkpoint(bootstrap_records(), now_ms=1)
    (kafka.data_directory / BOOTSTRAP_CHECKPOINT).write_bytes(bootstrap)
    voters = standalone_voters(1, directory_id, "CONTROLLER", "127.0.0.1", kafka.controller_port)
    (directory / BOOTSTRAP_SNAPSHOT.file_name).write_bytes(encode_first_snapshot(voters, now_ms=1))
    state = QuorumStateData(leader_id=-1, leader_epoch=41, voted_id=1, voted_directory_id=directory_id)
    (directory / QUORUM_STATE).write_bytes(encode_quorum_state(state, 1))
    with kafka, RawClient(kafka.host, kafka.port) as client:
        answer = client.ask(MetadataRequest(topics=None), 12, MetadataResponse)
        assert (answer.cluster_id, [broker.node_id for broker in answer.brokers]) == (kafka.cluster_id, [1])
    image = replayed(directory, 1 << 60)
    assert image.brokers[1].directories == (directory_id,)
    assert image.epoch == 41, "it goes on with the vote that it finds"


def test_kafka_reads_our_quorum_state_of_version_0(
    kafka_classpath: str, java_oracle: Callable[[Path], object], tmp_path: Path
) -> None:
    """With voters in its configuration a quorum has kraft.version 0, and keeps the older file."""
    kafka = KafkaBroker(kafka_classpath, tmp_path)
    kafka.configure({"controller.quorum.voters": f"1@127.0.0.1:{kafka.controller_port}"})
    directory = directory_of(kafka)
    directory.mkdir(parents=True)
    (kafka.data_directory / META_PROPERTIES).write_text(
        f"version=1\ncluster.id={kafka.cluster_id}\nnode.id=1\ndirectory.id={Uuid(range(60, 76))}\n"
    )
    (kafka.data_directory / BOOTSTRAP_CHECKPOINT).write_bytes(
        encode_bootstrap_checkpoint(bootstrap_records(), now_ms=1)
    )
    state = QuorumStateData(leader_id=-1, leader_epoch=17, voted_id=-1, current_voters=[Voter(1)])
    (directory / QUORUM_STATE).write_bytes(encode_quorum_state(state, 0))
    write = kafka._write_properties

    def without_bootstrap_servers() -> None:
        write()
        lines = kafka._properties_file.read_text().splitlines(keepends=True)
        kafka._properties_file.write_text("".join(line for line in lines if "bootstrap.servers" not in line))

    kafka._write_properties = without_bootstrap_servers  # type: ignore[method-assign]
    with kafka:
        pass
    written = (directory / QUORUM_STATE).read_bytes()
    after, version = decode_quorum_state(written)
    assert (version, encode_quorum_state(after, version)) == (0, written)
    assert after.leader_epoch > 17
