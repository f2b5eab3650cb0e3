"""Records of Kafka's own logs with what stands around them: read by Kafka's DumpLogSegments, and read from its logs."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol.batch_builder import build_batch
from barnabas.protocol.batches import iterate_batches
from barnabas.protocol.errors import MalformedFrame
from barnabas.protocol.log_records import (
    CONSUMER_OFFSETS,
    SHARE_GROUP_STATE,
    TRANSACTION_STATE,
    CoordinatorLog,
    UnknownRecord,
    decode_metadata_record,
    decode_versioned,
    encode_coordinator_key,
    encode_metadata_record,
    encode_versioned,
)
from barnabas.protocol.record import Record, read_records
from barnabas.protocol.records.classic_group import OffsetCommitKey, OffsetCommitValue
from barnabas.protocol.records.cluster_metadata import TopicRecord
from barnabas.protocol.records.consumer_protocol import ConsumerProtocolSubscription
from barnabas.protocol.schema import Data, Uuid
from tests.kafka.broker import KafkaBroker
from tests.kafka.tool_runner import ToolRunner

from .generated import every_version, full_message
from .kafka_json import assert_same

COORDINATOR_LOGS = {
    "--offsets-decoder": CONSUMER_OFFSETS,
    "--transaction-log-decoder": TRANSACTION_STATE,
    "--share-group-state-decoder": SHARE_GROUP_STATE,
}


def module_name(cls: type[Data]) -> str:
    return cls.__module__.rpartition(".")[2]


METADATA_RECORDS = [case for case in every_version() if module_name(case[0]) == "cluster_metadata"]


def coordinator_records(log: CoordinatorLog) -> list[tuple[Data, Data, int]]:
    """A key and a value for every kind and version that the log has."""
    found = []
    for cls, version in every_version():
        if module_name(cls) in log.modules and cls.__name__.endswith("Value"):
            key_class = getattr(sys.modules[cls.__module__], cls.__name__.removesuffix("Value") + "Key")
            found.append((full_message(key_class, 0), full_message(cls, version), version))
    return found


def dump(tools: ToolRunner, log: Path, option: str) -> list[dict[str, Any]]:
    """What DumpLogSegments prints of each record's key and payload."""
    printed = tools.run("org.apache.kafka.tools.DumpLogSegments", option, "--files", str(log))
    records = []
    for line in printed.splitlines():
        if line.startswith("| offset:"):
            before, _, payload = line.partition(" payload: ")
            _, _, key = before.partition(" key: ")
            records.append({"key": json.loads(key or "null"), "payload": json.loads(payload)})
    return records


@pytest.mark.java
@pytest.mark.slow
def test_kafka_dumps_every_metadata_record(kafka_tools: ToolRunner, tmp_path: Path) -> None:
    ours = [(full_message(cls, version), version) for cls, version in METADATA_RECORDS]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(build_batch([Record(value=encode_metadata_record(*each), timestamp=1) for each in ours]))
    dumped = dump(kafka_tools, log, "--cluster-metadata-decoder")
    assert len(dumped) == len(ours) > 26
    for (message, version), theirs in zip(ours, dumped, strict=True):
        assert theirs["payload"]["version"] == version
        assert_same(message, theirs["payload"]["data"], version)


@pytest.mark.java
@pytest.mark.slow
@pytest.mark.parametrize("option", COORDINATOR_LOGS)
def test_kafka_dumps_every_record_of_coordinators(kafka_tools: ToolRunner, tmp_path: Path, option: str) -> None:
    ours = coordinator_records(COORDINATOR_LOGS[option])
    records = [
        Record(encode_coordinator_key(key), encode_versioned(value, version), timestamp=1)
        for key, value, version in ours
    ]
    log = tmp_path / "00000000000000000000.log"
    log.write_bytes(build_batch(records))
    dumped = dump(kafka_tools, log, option)
    assert len(dumped) == len(ours) > 0
    for (key, value, version), theirs in zip(ours, dumped, strict=True):
        assert theirs["key"]["type"] == str(key.__definition__.key)
        assert_same(key, theirs["key"]["data"], 0)
        assert theirs["payload"]["version"] == str(version)
        assert_same(value, theirs["payload"]["data"], version)


@pytest.mark.java
def test_what_kafka_wrote_into_its_metadata_log_is_read_and_written_again(kafka_broker: KafkaBroker) -> None:
    data = (kafka_broker.data_directory / "__cluster_metadata-0" / "00000000000000000000.log").read_bytes()
    kinds = set()
    for batch in iterate_batches(data):
        batch.check()
        if not batch.control:
            for record in read_records(batch):
                assert record.value is not None
                message, version = decode_metadata_record(record.value)
                assert encode_metadata_record(message, version) == record.value
                kinds.add(type(message).__name__)
    assert kinds >= {"FeatureLevelRecord", "RegisterBrokerRecord", "RegisterControllerRecord"}


@pytest.mark.parametrize("log", COORDINATOR_LOGS.values(), ids=lambda log: log.topic)
def test_coordinator_records_come_back(log: CoordinatorLog) -> None:
    for key, value, version in coordinator_records(log):
        assert log.decode_key(encode_coordinator_key(key)) == key
        assert log.decode_value(key, encode_versioned(value, version)) == (value, version)


def test_metadata_records_come_back() -> None:
    for cls, version in METADATA_RECORDS:
        message = full_message(cls, version)
        assert decode_metadata_record(memoryview(encode_metadata_record(message, version))) == (message, version)


def test_the_bytes_around_a_record_are_kafkas() -> None:
    topic_id = Uuid(range(16))
    assert (
        encode_metadata_record(TopicRecord(name="t", topic_id=topic_id), 0) == b"\x01\x02\x00\x02t" + topic_id + b"\x00"
    )
    key = OffsetCommitKey(group="g", topic="t", partition=1)
    assert encode_coordinator_key(key) == b"\0\1\0\1g\0\1t\0\0\0\1"
    assert encode_versioned(OffsetCommitValue(offset=5, commit_timestamp=6), 3)[:10] == b"\0\3" + (5).to_bytes(8, "big")


def test_types_and_versions_of_the_future_are_told() -> None:
    with pytest.raises(UnknownRecord, match="type 99, version 0, in __cluster_metadata"):
        decode_metadata_record(b"\1\x63\0")
    with pytest.raises(UnknownRecord, match="type 2, version 9,"):
        decode_metadata_record(b"\1\2\x09")
    with pytest.raises(UnknownRecord, match="type 99 in __consumer_offsets"):
        CONSUMER_OFFSETS.decode_key(b"\0\x63")
    with pytest.raises(UnknownRecord, match="type 1, version 9, in __consumer_offsets"):
        CONSUMER_OFFSETS.decode_value(OffsetCommitKey(), b"\0\x09")


@pytest.mark.parametrize("data", [b"", b"\1", b"\1\2", b"\1\2\0", b"\0\2\0\2t", b"\xff\xff\xff\xff\xff\xff\2\0"])
def test_metadata_records_that_are_none(data: bytes) -> None:
    with pytest.raises(MalformedFrame):
        decode_metadata_record(data)


def test_bytes_behind_a_metadata_record_are_refused_and_behind_a_coordinators_ignored() -> None:
    with pytest.raises(MalformedFrame, match="1 bytes follow"):
        decode_metadata_record(encode_metadata_record(TopicRecord(name="t"), 0) + b"\0")
    key = OffsetCommitKey(group="g")
    assert CONSUMER_OFFSETS.decode_key(encode_coordinator_key(key) + b"\0") == key


def test_a_newer_subscription_is_read_as_the_newest_that_is_known() -> None:
    subscription = ConsumerProtocolSubscription(topics=["t"], rack_id="r")
    data = encode_versioned(subscription, 3)
    assert decode_versioned(ConsumerProtocolSubscription, b"\0\x09" + data[2:] + b"more") == (subscription, 9)
    with pytest.raises(MalformedFrame, match="version -1, below 0"):
        decode_versioned(ConsumerProtocolSubscription, b"\xff\xff" + data[2:])
    for length in range(2):
        with pytest.raises(MalformedFrame):
            decode_versioned(ConsumerProtocolSubscription, data[:length])
